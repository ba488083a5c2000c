import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test, after } from 'node:test';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import type { Network } from '../src/config.ts';
import { createSender } from '../src/webhooks/attempt.ts';
import { isAllowedAddress, type Resolve } from '../src/webhooks/guard.ts';

const loopback: Network[] = [ipaddr.parseCIDR('127.0.0.0/8')];
const server = createServer((_, response) => response.end('reached'));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
after(() => server.close());
const { port } = server.address() as AddressInfo;
async function send(resolve: Resolve, allowedNetworks: Network[], host = 'receiver.example') {
  const sender = createSender({ allowedNetworks, timeoutMs: 2_000 }, resolve);
  try {
    return await sender.attempt({
      url: `http://${host}:${port}/`,
      headers: {},
      body: Buffer.from('{}'),
    });
  } finally {
    await sender.close();
  }
}
const answers =
  (...addresses: string[]): Resolve =>
  (_, callback) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );

test('private, reserved and translated addresses are refused, public ones are not', () => {
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
    '2001::1',
    '100::1',
    'fec0::1',
    '::7f00:1',
    '4000::1',
    '168.63.129.16',
    'nonsense',
    '',
  ];
  for (const address of refused) assert.equal(isAllowedAddress(address, []), false, address);
  for (const address of [
    '1.1.1.1',
    '8.8.8.8',
    '93.184.216.34',
    '2606:4700::1111',
    '::ffff:8.8.8.8',
  ]) {
    assert.equal(isAllowedAddress(address, []), true, address);
  }
  assert.equal(isAllowedAddress('127.0.0.1', loopback), true);
  assert.equal(isAllowedAddress('::ffff:127.0.0.1', loopback), true);
  assert.equal(isAllowedAddress('10.0.0.1', loopback), false);
});

test('no spelling of a private IPv4 address passes', () => {
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

test('a name that resolves to a private address is blocked, also when it has a public one beside it', async () => {
  assert.equal((await send(answers('127.0.0.1'), [])).error, 'blocked');
  assert.equal((await send(answers('93.184.216.34', '127.0.0.1'), [])).error, 'blocked');
  assert.equal((await send(answers('127.0.0.1', '10.0.0.1'), loopback)).error, 'blocked');
  assert.equal((await send(answers('127.0.0.1'), loopback)).statusCode, 200);
});

test('an address that needs no resolving is checked as well', async () => {
  const never: Resolve = () => assert.fail('nothing to resolve');
  assert.equal((await send(never, [], '127.0.0.1')).error, 'blocked');
  assert.equal((await send(never, [], '[::1]')).error, 'blocked');
  assert.equal((await send(never, loopback, '127.0.0.1')).statusCode, 200);
});

test('each new connection is checked again: a name that changes its address gains nothing', async () => {
  const sequence = ['127.0.0.1', '10.0.0.1'];
  const changing: Resolve = (hostname, callback) =>
    answers(sequence.shift() ?? '10.0.0.1')(hostname, callback);
  const results = [await send(changing, loopback), await send(changing, loopback)];
  assert.deepEqual(
    results.map(({ statusCode, error }) => statusCode ?? error),
    [200, 'blocked'],
  );
});

test('a name without an address, and a resolver that fails, are DNS errors', async () => {
  assert.equal((await send(answers(), [])).error, 'dns');
  const failing: Resolve = (_, callback) =>
    callback(Object.assign(new Error('no'), { code: 'EAI_AGAIN' }), []);
  assert.equal((await send(failing, [])).error, 'dns');
});

test('a resolver that never answers is a timeout at the deadline', async () => {
  const sender = createSender({ allowedNetworks: loopback, timeoutMs: 150 }, () => {});
  const outcome = await sender.attempt({
    url: 'http://slow.example/',
    headers: {},
    body: Buffer.from('{}'),
  });
  assert.equal(outcome.error, 'timeout');
  await sender.close();
});
