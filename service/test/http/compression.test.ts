/** Public content is compressed from its second request on, and nothing else ever is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import {
  compressedFromBytes,
  createCodings,
  findCompressed,
} from '../../src/http/responses/codings.ts';
import { bytesMax, createResponseCache, entryOf } from '../../src/http/responses/response-cache.ts';
import { version } from '../../src/runtime/version.ts';
import { announce, put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { startInternalApi } from '../support/internal-api.ts';
import { signUp } from '../support/portal.ts';
import { fanOutParked } from '../support/queue.ts';
import { rawRequest } from '../support/raw-request.ts';
import { makeKey, startTestService } from '../support/service.ts';

const decoders = { br: brotliDecompressSync, gzip: gunzipSync };
const codings = ['br', 'gzip'] as const;

const service = await startTestService();
const internal = await startInternalApi(service);
const description = 'Makers of fine things. '.repeat(80);
const orgs = Array.from({ length: 30 }, (_, index) => ({
  slug: `acme-${index}`,
  name: `Acme ${'of the long road '.repeat(4)}${index}`,
  description,
}));
await put(service.database, 'orgs', [...orgs, { slug: 'small', name: 'Small' }]);
await service.settled();

const authorization = `Bearer ${service.key}`;
const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  rawRequest(service.url, { method, path, headers: { authorization, ...headers } });
const getCompressed = (path: string, accepted: string = 'gzip') =>
  eventually(async () => {
    const answer = await get(path, { 'accept-encoding': accepted });
    return answer.headers['content-encoding'] !== undefined && answer;
  });

const publicPaths = [
  '/api/v1/orgs',
  '/api/v1/orgs?search=acme',
  '/api/v1/orgs/acme-1',
  '/api/v1/openapi.json',
  '/',
  '/status',
  '/client',
  `/client/orgdir-client-${version}.js`,
  `/client/orgdir-client-${version}.d.ts`,
];

/** A browser gets something else there. */
const varyOf = (path: string) =>
  path === '/client' ? 'Accept, Accept-Encoding' : 'Accept-Encoding';

test('public content is sent as it is once, and then compressed, with a tag for each coding', async () => {
  for (const path of publicPaths) {
    const accepted = { 'accept-encoding': 'br' };
    const first = await get(path, accepted);
    const etag = String(first.headers.etag);
    assert.equal(first.status, 200, path);
    assert.equal(first.headers['content-encoding'], undefined, path);
    assert.equal(first.headers.vary, varyOf(path), path);
    for (const coding of codings) {
      const { headers, bytes } = await getCompressed(path, coding);
      assert.equal(headers['content-encoding'], coding, path);
      assert.equal(headers.vary, varyOf(path), path);
      assert.equal(headers.etag, `${etag.slice(0, -1)}-${coding}"`, path);
      assert.equal(headers['content-type'], first.headers['content-type'], path);
      assert.equal(headers['cache-control'], first.headers['cache-control'], path);
      assert.equal(Number(headers['content-length']), bytes.length, path);
      assert.ok(bytes.length < first.bytes.length, path);
      assert.ok(decoders[coding](bytes).equals(first.bytes), path);
    }
    assert.ok((await get(path)).bytes.equals(first.bytes), path);
  }
});

test('the tag of any coding is a 304, which repeats it', async () => {
  for (const path of publicPaths) {
    const { etag: ofGzip = '' } = (await getCompressed(path)).headers;
    const etag = ofGzip.replace('-gzip', '');
    for (const seen of [etag, ofGzip, ofGzip.replace('gzip', 'br')])
      for (const accepted of ['identity', 'gzip'])
        for (const sent of [seen, `W/${seen}`, `"other", ${seen}`]) {
          const headers = { 'if-none-match': sent, 'accept-encoding': accepted };
          const again = await get(path, headers);
          assert.equal(again.status, 304, `${path} ${sent}`);
          assert.equal(again.headers.etag, seen);
          assert.equal(again.headers.vary, varyOf(path));
          assert.equal(again.headers['content-encoding'], undefined);
          assert.equal(again.text, '');
        }
    for (const other of [
      etag.replace(/"$/, '-zstd"'),
      etag.replace(/"$/, '-gzip-gzip"'),
      '"-gzip"',
    ])
      assert.equal((await get(path, { 'if-none-match': other })).status, 200, `${path} ${other}`);
  }
});

test('HEAD responds like GET, compressed too', async () => {
  const { headers } = await getCompressed('/api/v1/orgs');
  const head = await get('/api/v1/orgs', { 'accept-encoding': 'gzip' }, 'HEAD');
  for (const name of ['content-encoding', 'content-length', 'etag', 'vary'])
    assert.equal(head.headers[name], headers[name], name);
  assert.equal(head.bytes.length, 0);
});

const choices: [accepted: string, coding: 'br' | 'gzip' | undefined][] = [
  ['gzip', 'gzip'],
  ['GZIP', 'gzip'],
  ['br', 'br'],
  ['gzip, deflate', 'gzip'],
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip;q=1.0, br;q=0.9', 'gzip'],
  ['gzip;q=0.8 , br; q=0.900', 'br'],
  ['br;q=0, gzip', 'gzip'],
  ['*', 'br'],
  ['br;q=0.0, *', 'gzip'],
  ['*;q=0.1, gzip;q=0.2', 'gzip'],
  ['gzip;q=0.1', 'gzip'],
  ['gzip;q=0.5, identity;q=0.5', 'gzip'],
  ['gzip, identity;q=0', 'gzip'],
  ['gzip;q=0.4, identity;q=0.5', undefined],
  ['identity, *;q=0.5', undefined],
  ['', undefined],
  ['identity', undefined],
  ['identity;q=0', undefined],
  ['*;q=0', undefined],
  ['gzip;q=0, br;q=0', undefined],
  ['deflate, zstd, x-br, gzipped', undefined],
  ['gzip;q=2', undefined],
  ['gzip;q=-1', undefined],
  ['gzip;q=', undefined],
  ['gzip;level=9', undefined],
  [`${'a,'.repeat(5_000)}gzip`, undefined],
];

test('Accept-Encoding decides', async () => {
  const path = '/api/v1/orgs';
  for (const coding of codings) await getCompressed(path, coding);
  for (const [accepted, coding] of choices) {
    const { status, headers } = coding
      ? await getCompressed(path, accepted)
      : await get(path, { 'accept-encoding': accepted });
    assert.equal(status, 200, accepted);
    assert.equal(headers['content-encoding'], coding, accepted.slice(0, 60));
  }
});

test('responses with data of the caller, or made for one caller, are never compressed', async () => {
  const person = await signUp(service, 'keeper@example.org');
  const { appId, key } = await makeKey(service, { owner: person.email });
  for (const number of [1, 2, 3, 4, 5]) {
    const json = { url: `https://example.org/hook-${number}`, description: 'A hook. '.repeat(12) };
    assert.equal((await service.call('/webhooks', { method: 'POST', key, json })).status, 201);
  }
  await announce(service.database, 'acme-1');
  await fanOutParked(service.database);
  const keyed = { authorization: `Bearer ${key}` };
  const platform = { authorization: `Bearer ${internal.key}` };
  const never: [path: string, headers: Record<string, string>, base?: string][] = [
    ['/api/v1/webhooks', keyed],
    ['/api/v1/events', keyed],
    ['/api/v1/suggest?q=acme', keyed],
    ['/?q=acme', {}],
    ['/profile/developer', person.credentials],
    [`/portal/api/apps/${appId}/webhooks`, person.credentials],
    ['/internal/v1/orgs', platform, internal.url],
  ];
  for (const [index, [path, headers, base = service.url]] of never.entries()) {
    const ask = () =>
      rawRequest(base, {
        path,
        headers: { ...headers, 'accept-encoding': 'gzip, br' },
      });
    const answers = [await ask(), await ask()];
    // By the time that something else is compressed, these would be.
    await getCompressed(`/api/v1/orgs?limit=${index + 1}`);
    for (const answer of [...answers, await ask()]) {
      assert.equal(answer.status, 200, path);
      assert.equal(answer.headers['content-encoding'], undefined, path);
      assert.ok(answer.bytes.length >= compressedFromBytes, `${path}: ${answer.bytes.length}`);
      assert.equal(answer.headers.vary, undefined, path);
    }
  }
});

test('content that fits into a packet is not compressed', async () => {
  const path = '/api/v1/orgs/small';
  const ask = () => get(path, { 'accept-encoding': 'gzip' });
  const answers = [await ask(), await ask()];
  await getCompressed('/api/v1/orgs?limit=11');
  for (const { headers, bytes } of [...answers, await ask()]) {
    assert.ok(bytes.length > 0 && bytes.length < compressedFromBytes);
    assert.equal(headers['content-encoding'], undefined);
    assert.equal(headers.vary, 'Accept-Encoding');
  }
});

test('what was compressed is kept while the bytes stay the same', async () => {
  const path = '/api/v1/orgs/acme-2';
  await getCompressed(path);
  await put(service.database, 'orgs', [{ ...orgs[3], name: 'Another' }]);
  await service.settled();
  const kept = await get(path, { 'accept-encoding': 'gzip' });
  assert.equal(kept.headers['content-encoding'], 'gzip');
  await put(service.database, 'orgs', [{ ...orgs[2], name: 'Renamed' }]);
  await service.settled();
  const changed = await get(path, { 'accept-encoding': 'gzip' });
  assert.equal(changed.headers['content-encoding'], undefined);
  assert.match(changed.text, /"Renamed"/);
  const { headers, bytes } = await getCompressed(path);
  assert.notEqual(headers.etag, kept.headers.etag);
  assert.match(gunzipSync(bytes).toString(), /"Renamed"/);
});

test('one content is compressed at a time, and others are tried again at their next request', async () => {
  const contents = ['a', 'b'].map((letter) => {
    const entry = entryOf(0, Buffer.from(letter.repeat(100_000)));
    const forms = createCodings();
    void findCompressed(entry, forms, undefined);
    return { forms, find: () => findCompressed(entry, forms, 'gzip') };
  });
  const [one, other] = contents;
  const [pending, refused] = [one?.find(), other?.find()];
  assert.equal(refused, null);
  assert.equal(await pending, one?.find());
  assert.equal(other?.forms.compressed.gzip, undefined);
  assert.equal((await other?.find())?.coding, 'gzip');
});

test('what is compressed counts in the bytes that the cache may hold', async () => {
  const cache = createResponseCache(service.revisions);
  const load = (name: string, content: string) => {
    const location = { scope: 'directory', key: name, address: name } as const;
    const revision = service.revisions.current('directory') ?? 0;
    return cache.get(location, async () => ({ revision, content }));
  };
  /** Entries are there while the revision is confirmed. */
  const names = () =>
    eventually(async () => {
      const found = ['small', 'large'].filter((name) => cache.peek(name));
      return found.includes('large') && found;
    });
  // Together they fit, but not with the large one's compressed form, which is a thousandth of it.
  await load('small', 'a'.repeat(100_000));
  const { codings: forms, ...large } = await load('large', 'a'.repeat(bytesMax - 102_000));
  assert.deepEqual(await names(), ['small', 'large']);
  assert.ok(forms);
  for (let request = 0; request < 2; request += 1) await findCompressed(large, forms, 'gzip');
  assert.deepEqual(await names(), ['large']);
});
