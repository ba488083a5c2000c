/** Checks when a new connection to a receiver resumes a TLS session, and when it must not. */
import assert from 'node:assert/strict';
import { X509Certificate, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createServer, type TLSSocket, type TlsOptions } from 'node:tls';
import ipaddr from 'ipaddr.js';
import { createSender, type SenderOptions } from '../../../src/webhooks/sending/attempt.ts';
import { head, startByteReceiver, type ByteReceiver } from '../../support/byte-receiver.ts';
import { startDnsServer } from '../../support/dns-server.ts';

const read = (name: string) =>
  readFileSync(join(import.meta.dirname, '../../support/tls', name), 'utf8');
const ca = read('authority.pem');
const cert = read('valid.pem');
/** All receivers accept each other's sessions, so that only the sender keeps them apart. */
const tls = { key: read('server-key.pem'), cert, ticketKeys: randomBytes(48) };
const hourMs = 60 * 60_000;
const longMs = 30_000;
const allowedNetworks = [ipaddr.parseCIDR('127.0.0.0/8')];
const closing = `${head('200 OK', 'Content-Length: 2', 'Connection: close')}ok`;

let addresses = ['127.0.0.1'];
const dns = await startDnsServer(({ type }) => (type === 'A' ? addresses : []));

function openSender(options: SenderOptions = {}) {
  const sender = createSender(
    { allowedNetworks, timeoutMs: longMs },
    { ca, nameServers: [dns.address], ...options },
  );
  after(() => sender.close());
  return sender;
}

/** A receiver that closes every connection after its response and notes whether it was resumed. */
async function startReceiver(options: TlsOptions = {}, { host = '127.0.0.1', port = 0 } = {}) {
  const resumed: boolean[] = [];
  const receiver = await startByteReceiver(
    (socket) => {
      resumed.push((socket as TLSSocket).isSessionReused());
      socket.end(closing);
    },
    { tls: { ...tls, ...options }, host, port },
  );
  return { ...receiver, resumed };
}

function post(sender: ReturnType<typeof openSender>, { port }: Pick<ByteReceiver, 'port'>) {
  const url = `https://receiver.test:${port}/`;
  return sender.attempt({ url, headers: {}, body: Buffer.from('{}') });
}

test('a new connection to the same receiver resumes the session of the last one', async () => {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const receiver = await startReceiver({ maxVersion });
    const sender = openSender();
    for (const _ of [1, 2, 3]) assert.equal((await post(sender, receiver)).statusCode, 200);
    assert.deepEqual(receiver.resumed, [false, true, true], maxVersion);
  }
});

test('concurrent connections resume the same session', async () => {
  const receiver = await startReceiver();
  const sender = openSender();
  await post(sender, receiver);
  await Promise.all([post(sender, receiver), post(sender, receiver)]);
  assert.deepEqual(receiver.resumed, [false, true, true]);
});

test('a session is not offered again after a handshake with it failed', async () => {
  let fails = false;
  const receiver = await startReceiver({
    ALPNCallback: () => (fails ? undefined : 'http/1.1'),
  });
  const sender = openSender();
  await post(sender, receiver);
  fails = true;
  assert.equal((await post(sender, receiver)).error, 'tls');
  fails = false;
  for (const _ of [1, 2]) assert.equal((await post(sender, receiver)).statusCode, 200);
  assert.deepEqual(receiver.resumed, [false, false, true]);
});

test('a session does not serve another origin', async () => {
  const [one, other] = [await startReceiver(), await startReceiver()];
  const sender = openSender();
  await post(sender, one);
  await post(sender, other);
  const byAddress = `https://127.0.0.1:${one.port}/`;
  await sender.attempt({ url: byAddress, headers: {}, body: Buffer.from('{}') });
  assert.deepEqual([one.resumed, other.resumed], [[false, false], [false]]);
});

test('a session does not serve another address, and a forbidden one stays blocked', async () => {
  after(() => (addresses = ['127.0.0.1']));
  const here = await startReceiver();
  const there = await startReceiver({}, { host: '127.0.0.2', port: here.port });
  const sender = openSender();
  assert.equal((await post(sender, here)).statusCode, 200);
  addresses = ['127.0.0.2'];
  assert.equal((await post(sender, here)).statusCode, 200);
  addresses = ['10.0.0.1'];
  assert.equal((await post(sender, here)).error, 'blocked');
  addresses = ['127.0.0.1'];
  assert.equal((await post(sender, here)).statusCode, 200);
  assert.deepEqual([here.resumed, there.resumed], [[false, true], [false]]);
});

test('a session does not serve another set of certificate authorities', async () => {
  const receiver = await startReceiver();
  assert.equal((await post(openSender(), receiver)).statusCode, 200);
  const distrusting = openSender({ ca: read('self-signed.pem') });
  assert.equal((await post(distrusting, receiver)).error, 'tls');
  assert.deepEqual(receiver.resumed, [false]);
});

test('a rejected certificate leaves no session', async () => {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const receiver = await startReceiver({ cert: read('expired.pem'), maxVersion });
    const sender = openSender();
    for (const _ of [1, 2]) assert.equal((await post(sender, receiver)).error, 'tls');
    assert.deepEqual(receiver.resumed, []);
  }
});

test('an hour after the certificate was checked it is checked again, however often it was resumed', async () => {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const receiver = await startReceiver({ maxVersion });
    let now = Date.now();
    const sender = openSender({ now: () => now });
    await post(sender, receiver);
    now += hourMs / 2;
    await post(sender, receiver);
    now += hourMs / 2 - 1;
    await post(sender, receiver);
    now += 1;
    await post(sender, receiver);
    await post(sender, receiver);
    assert.deepEqual(receiver.resumed, [false, true, true, false, true], maxVersion);
  }
});

test('a session ends with the certificate', async () => {
  const receiver = await startReceiver();
  let now = new X509Certificate(cert).validToDate.getTime() - 1;
  const sender = openSender({ now: () => now });
  await post(sender, receiver);
  await post(sender, receiver);
  now += 1;
  await post(sender, receiver);
  assert.deepEqual(receiver.resumed, [false, true, false]);
});

test('a receiver that no longer accepts its sessions is checked like a new one', async () => {
  const server = createServer(tls, (socket) =>
    socket.on('error', () => {}).once('data', () => socket.end(closing)),
  );
  server.on('tlsClientError', () => {}).listen(0, '127.0.0.1');
  after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sender = openSender();
  assert.equal((await post(sender, { port })).statusCode, 200);
  server.setSecureContext({ ...tls, cert: read('expired.pem'), ticketKeys: randomBytes(48) });
  assert.equal((await post(sender, { port })).error, 'tls');
});
