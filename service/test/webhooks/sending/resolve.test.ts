import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createResolve } from '../../../src/webhooks/sending/resolve.ts';
import { startDnsServer, type DnsReply, type DnsScript } from '../../support/dns-server.ts';

const many = Array.from({ length: 1_000 }, (_, index) => `127.1.${index >> 8}.${index & 255}`);
const both = ['192.0.2.1', '192.0.2.2', '2001:db8::1'];

/** By name; the others keep silent. */
const answers: Record<string, DnsReply | DnsScript> = {
  'both.test': both,
  'ipv4.test': ['192.0.2.1'],
  'ipv6.test': ['2001:db8::1'],
  'alias.test': { alias: 'elsewhere.test', addresses: ['192.0.2.3'] },
  'many.test': many,
  'missing.test': 'NXDOMAIN',
  'broken.test': 'SERVFAIL',
  'refused.test': 'REFUSED',
  'empty.test': [],
  'garbage.test': Buffer.from('this is no DNS'),
  'half-broken.test': ({ type }) => (type === 'A' ? ['192.0.2.4'] : 'SERVFAIL'),
  'half-silent.test': ({ type }) => (type === 'AAAA' ? ['2001:db8::4'] : 'silence'),
  single: ['192.0.2.5'],
};
const server = await startDnsServer((query) => {
  const answer = answers[query.name] ?? 'silence';
  return typeof answer === 'function' ? answer(query) : answer;
});
const folder = await mkdtemp(join(tmpdir(), 'orgdir-hosts-'));
after(() => rm(folder, { recursive: true }));
const hostsPath = join(folder, 'hosts');
await writeFile(hostsPath, '');
const resolve = createResolve({ servers: [server.address], hostsPath, familyWaitMs: 20 });
const never = new AbortController().signal;

async function addressesOf(host: string) {
  const resolution = await resolve(host, never);
  return resolution.kind === 'addresses' ? resolution.addresses : resolution.kind;
}

test('a name resolves to its addresses of one or both families', async () => {
  assert.deepEqual(await addressesOf('both.test'), both);
  assert.deepEqual(await addressesOf('ipv4.test'), ['192.0.2.1']);
  assert.deepEqual(await addressesOf('ipv6.test'), ['2001:db8::1']);
  assert.deepEqual(await addressesOf('BOTH.test'), both);
});

test('an alias is followed', async () => {
  assert.deepEqual(await addressesOf('alias.test'), ['192.0.2.3']);
});

test('a truncated response is fetched over TCP', async () => {
  assert.deepEqual(new Set(await addressesOf('many.test')), new Set(many));
});

test('a failing or silent family does not hide the other', async () => {
  assert.deepEqual(await addressesOf('half-broken.test'), ['192.0.2.4']);
  assert.deepEqual(await addressesOf('half-silent.test'), ['2001:db8::4']);
});

test('DNS errors are distinguished from silence', async () => {
  for (const name of ['missing', 'broken', 'refused', 'empty', 'garbage'])
    assert.equal(await addressesOf(`${name}.test`), 'dns', name);
  for (const impossible of ['a..b', `${'x'.repeat(64)}.test`])
    assert.equal(await addressesOf(impossible), 'dns', impossible);
  const nobodyThere = createResolve({ servers: ['127.0.0.1:1'], hostsPath, familyWaitMs: 20 });
  assert.equal((await nobodyThere('both.test', never)).kind, 'dns');
});

test('aborting cancels the queries', async () => {
  const controller = new AbortController();
  const resolution = resolve('silent.test', controller.signal);
  await server.asked('silent.test', 2);
  controller.abort();
  assert.equal((await resolution).kind, 'timeout');
});

test('nothing is cached between resolutions', async () => {
  await addressesOf('ipv4.test');
  const before = server.queries.length;
  await addressesOf('ipv4.test');
  assert.equal(server.queries.length - before, 2);
});

test('no search domain is appended to a name', async () => {
  assert.deepEqual(await addressesOf('single'), ['192.0.2.5']);
  assert.equal(await addressesOf('missing.test'), 'dns');
  const asked = new Set(server.queries.map(({ name }) => name));
  assert.deepEqual(
    [...asked].filter((name) => name.startsWith('single') || name.startsWith('missing')).sort(),
    ['missing.test', 'single'],
  );
});

test('the hosts file goes before the name servers, and is read again when it changes', async () => {
  await writeFile(hostsPath, '# none\n192.0.2.7 Container.test other.test # the machine\n');
  assert.deepEqual(await addressesOf('container.test'), ['192.0.2.7']);
  await writeFile(hostsPath, '192.0.2.8 container.test\n2001:db8::8\tcontainer.test\nbad line\n');
  assert.deepEqual(await addressesOf('container.test'), ['192.0.2.8', '2001:db8::8']);
  assert.equal(
    server.queries.some(({ name }) => name === 'container.test'),
    false,
  );
  await rm(hostsPath);
  assert.deepEqual(await addressesOf('ipv4.test'), ['192.0.2.1']);
});
