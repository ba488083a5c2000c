import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { test, after } from 'node:test';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import type { Network } from '../../../src/settings/config.ts';
import { createSender, type SenderOptions } from '../../../src/webhooks/sending/attempt.ts';
import { isAllowedAddress } from '../../../src/webhooks/sending/is-allowed-address.ts';
import { okAnswer, startByteReceiver } from '../../support/byte-receiver.ts';
import { startDnsServer, type DnsScript } from '../../support/dns-server.ts';

const loopback: Network[] = [ipaddr.parseCIDR('127.0.0.0/8')];
/** Never reached by what ends by itself. */
const longMs = 60_000;
const server = createServer((_, response) => response.end('reached'));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
after(() => server.close());
const { port } = server.address() as AddressInfo;
/** The behaviour of a full backlog depends on the system. */
const notLinux = process.platform !== 'linux';
const post = { headers: {}, body: Buffer.from('{}') };

type Given = { allowed?: Network[]; timeoutMs?: number; options?: SenderOptions };

async function openSender(script: DnsScript, given: Given = {}) {
  const dns = await startDnsServer(script);
  const { allowed: allowedNetworks = loopback, timeoutMs = longMs } = given;
  const sender = createSender(
    { allowedNetworks, timeoutMs },
    { nameServers: [dns.address], ...given.options },
  );
  after(() => sender.close());
  return { dns, sender };
}

/** The status or the error of one attempt to a host. */
async function send(host: string, script: DnsScript, given: Given = {}) {
  const { sender } = await openSender(script, given);
  const { statusCode, error } = await sender.attempt({ ...post, url: `http://${host}:${port}/` });
  return statusCode ?? error;
}

const unasked: DnsScript = () => assert.fail('nothing to resolve');

test('private, reserved and translated addresses are rejected, public ones are not', () => {
  const refused = [
    '127.0.0.1',
    '10.1.2.3',
    '172.31.255.255',
    '192.168.0.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '192.0.2.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '240.0.0.1',
    '192.88.99.1',
    '::',
    '::1',
    'fe80::1%eth0',
    'fc00::1',
    'fd00:ec2::254',
    'ff02::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '64:ff9b::a00:1',
    '64:ff9b:1::1',
    '::ffff:10.0.0.1',
    '::ffff:8.8.8.8',
    '2001::1',
    '2001:2::1',
    '100::1',
    'fec0::1',
    '::7f00:1',
    '4000::1',
    '5f00::1',
    '168.63.129.16',
    'nonsense',
    '',
  ];
  for (const address of refused) assert.equal(isAllowedAddress(address, []), false, address);
  for (const address of ['1.1.1.1', '8.8.8.8', '93.184.216.34', '2606:4700::1111'])
    assert.equal(isAllowedAddress(address, []), true, address);
  assert.equal(isAllowedAddress('127.0.0.1', loopback), true);
  assert.equal(isAllowedAddress('::ffff:127.0.0.1', loopback), true);
  assert.equal(isAllowedAddress('10.0.0.1', loopback), false);
});

test('no spelling of a private IPv4 address is accepted', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('10', '127', '169.254', '192.168', '100.64', '0'),
      fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255)),
      (start, rest) => {
        const parts = [...start.split('.').map(Number), ...rest].slice(0, 4);
        const plain = parts.join('.');
        const mapped = ipaddr.IPv4.parse(plain).toIPv4MappedAddress().toString();
        assert.equal(isAllowedAddress(plain, []), false);
        assert.equal(isAllowedAddress(mapped, []), false);
      },
    ),
  );
});

test('a name with a private address is blocked, even if it also has a public one', async () => {
  const to =
    (...addresses: string[]) =>
    () =>
      addresses;
  assert.equal(await send('a.test', to('127.0.0.1'), { allowed: [] }), 'blocked');
  assert.equal(await send('a.test', to('93.184.216.34', '127.0.0.1'), { allowed: [] }), 'blocked');
  assert.equal(await send('a.test', to('93.184.216.34', 'fd00::1'), { allowed: [] }), 'blocked');
  for (const other of ['10.0.0.1', '::1', 'fd00::1'])
    assert.equal(await send('a.test', to('127.0.0.1', other)), 'blocked', other);
  assert.equal(
    await send('a.test', () => ({ alias: 'b.test', addresses: ['10.0.0.1'] })),
    'blocked',
  );
  assert.equal(await send('a.test', to('127.0.0.1')), 200);
});

test('one private address among a thousand blocks', async () => {
  const allowed = Array.from({ length: 999 }, (_, index) => `127.1.${index >> 8}.${index & 255}`);
  assert.equal(await send('a.test', () => [...allowed, '10.0.0.1']), 'blocked');
});

test('an IP address as host is checked too', async () => {
  assert.equal(await send('127.0.0.1', unasked, { allowed: [] }), 'blocked');
  assert.equal(await send('[::1]', unasked, { allowed: [] }), 'blocked');
  assert.equal(await send('[::ffff:127.0.0.1]', unasked, { allowed: [] }), 'blocked');
  assert.equal(await send('127.0.0.1', unasked), 200);
});

test('localhost is this machine, whatever a name server returns', async () => {
  assert.equal(await send('localhost', unasked, { allowed: [] }), 'blocked');
  assert.equal(await send('localhost', unasked), 200);
  assert.equal(await send('localhost.', unasked), 200);
  assert.equal(await send('hook.localhost', unasked), 200);
});

test('the checked addresses are the ones that are connected to', async () => {
  const answers = ['127.0.0.1', '127.0.0.2'];
  const honest = await startByteReceiver((socket) => socket.end(okAnswer));
  const trap = await startByteReceiver((socket) => socket.end(okAnswer), {
    host: '127.0.0.2',
    port: honest.port,
  });
  const { dns, sender } = await openSender(
    ({ type }) => (type === 'A' ? [answers.shift() ?? '127.0.0.2'] : []),
    { allowed: [ipaddr.parseCIDR('127.0.0.1/32')] },
  );
  const url = `http://changing.test:${honest.port}/`;
  assert.equal((await sender.attempt({ ...post, url })).statusCode, 200);
  assert.deepEqual(dns.queries.map(({ type }) => type).sort(), ['A', 'AAAA']);
  assert.equal((await sender.attempt({ ...post, url })).error, 'blocked');
  assert.equal(dns.queries.length, 4);
  assert.deepEqual([honest.connections(), trap.connections()], [1, 0]);
});

test('the peer is checked before a byte is sent', async () => {
  // The system takes this address for 127.0.0.1, which is not allowed.
  const unspecified = [ipaddr.parseCIDR('0.0.0.0/32')];
  const receiver = await startByteReceiver((socket) => socket.end(okAnswer));
  const { sender } = await openSender(() => ['0.0.0.0'], { allowed: unspecified });
  const url = `http://a.test:${receiver.port}/`;
  assert.equal((await sender.attempt({ ...post, url })).error, 'blocked');
  assert.equal(receiver.requests(), 0);
});

test('if one address refuses, the next one is tried', async () => {
  assert.equal(await send('a.test', () => ['127.0.0.3', '127.0.0.1']), 200);
  assert.equal(await send('a.test', () => ['127.0.0.3', '127.0.0.4']), 'connect');
});

test('if one address is silent, the next one is tried', { skip: notLinux }, async () => {
  const deaf = fork(join(import.meta.dirname, '../../support/deaf-listener.ts'));
  const waiting: Socket[] = [];
  after(() => {
    deaf.kill('SIGKILL');
    for (const socket of waiting) socket.destroy();
  });
  deaf.send({ host: '127.0.0.5', port });
  await once(deaf, 'message');
  // The backlog holds two, and more than that are waiting behind them.
  for (let count = 0; count < 8; count += 1) waiting.push(connect(port, '127.0.0.5'));
  for (const socket of waiting) socket.on('error', () => {});
  await Promise.all(waiting.slice(0, 2).map((socket) => once(socket, 'connect')));
  assert.equal(await send('a.test', () => ['127.0.0.5', '127.0.0.1']), 200);
});

test('a name without an address, and a name server that fails, are DNS errors', async () => {
  assert.equal(await send('a.test', () => []), 'dns');
  assert.equal(await send('a.test', () => 'NXDOMAIN'), 'dns');
  assert.equal(await send('a.test', () => 'SERVFAIL'), 'dns');
});

test('a silent name server is a timeout at the deadline', async () => {
  assert.equal(await send('a.test', () => 'silence', { timeoutMs: 150 }), 'timeout');
});

test('fifty names without a response delay no other', async () => {
  const { dns, sender } = await openSender(({ name }) =>
    name === 'quick.test' ? ['127.0.0.1'] : 'silence',
  );
  let ended = 0;
  const dead = Array.from({ length: 50 }, async (_, index) => {
    const { error } = await sender.attempt({ ...post, url: `http://dead-${index}.test:${port}/` });
    ended += 1;
    return error;
  });
  for (let index = 0; index < 50; index += 1) await dns.asked(`dead-${index}.test`, 2);
  const { statusCode } = await sender.attempt({ ...post, url: `http://quick.test:${port}/` });
  assert.deepEqual([statusCode, ended], [200, 0]);
  await sender.close();
  assert.equal((await Promise.all(dead)).includes(null), false);
});

const keptOpen = (socket: { write(text: string): void }) => socket.write(okAnswer);

test('a connection is reused within its lifetime without another resolution', async () => {
  const receiver = await startByteReceiver(keptOpen);
  const { dns, sender } = await openSender(() => ['127.0.0.1'], { timeoutMs: longMs / 2 });
  const url = `http://a.test:${receiver.port}/`;
  for (const _ of [1, 2, 3]) {
    assert.equal((await sender.attempt({ ...post, url })).statusCode, 200);
  }
  assert.deepEqual([receiver.connections(), dns.queries.length], [1, 2]);
});

test('after its lifetime a connection is not reused, and the name is resolved again', async () => {
  const receiver = await startByteReceiver(keptOpen);
  const addresses = ['127.0.0.1'];
  const { dns, sender } = await openSender(({ type }) => (type === 'A' ? addresses : []), {
    // So that nothing of it is left for a second attempt.
    options: { connectionLifeMs: longMs },
  });
  const url = `http://a.test:${receiver.port}/`;
  assert.equal((await sender.attempt({ ...post, url })).statusCode, 200);
  const openedAt = Date.now();
  while (Date.now() - openedAt < 5) await turn();
  addresses[0] = '10.0.0.1';
  assert.equal((await sender.attempt({ ...post, url })).error, 'blocked');
  assert.deepEqual([receiver.connections(), receiver.requests(), dns.queries.length], [1, 1, 4]);
});

test('at the end of its lifetime a connection closes, even if it is in use', async () => {
  const receiver = await startByteReceiver(() => {});
  const { sender } = await openSender(unasked, { options: { connectionLifeMs: 200 } });
  assert.equal((await sender.attempt({ ...post, url: receiver.url })).error, 'reset');
  await receiver.allClosed();
});
