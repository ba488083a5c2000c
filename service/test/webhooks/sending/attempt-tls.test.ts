import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { TlsOptions } from 'node:tls';
import ipaddr from 'ipaddr.js';
import { createSender } from '../../../src/webhooks/sending/attempt.ts';
import { head, okAnswer, startByteReceiver, type Speak } from '../../support/byte-receiver.ts';
import { startDnsServer } from '../../support/dns-server.ts';

const allowedNetworks = [ipaddr.parseCIDR('127.0.0.0/8')];
const read = (name: string) =>
  readFileSync(join(import.meta.dirname, '../../support/tls', name), 'utf8');
const ca = read('authority.pem');
const key = read('server-key.pem');
const dns = await startDnsServer(({ name }) =>
  name.endsWith('.test') ? ['127.0.0.1'] : 'NXDOMAIN',
);
const ok: Speak = (socket) => socket.write(okAnswer);

function openSender(timeoutMs = 30_000) {
  const sender = createSender({ allowedNetworks, timeoutMs }, { ca, nameServers: [dns.address] });
  after(() => sender.close());
  return sender;
}
const sender = openSender();

async function attempt(tls: TlsOptions, host = 'receiver.test', listenOn = '127.0.0.1') {
  const receiver = await startByteReceiver(ok, { tls: { key, ...tls }, host: listenOn });
  const { statusCode, error } = await sender.attempt({
    url: `https://${host}:${receiver.port}/`,
    headers: {},
    body: Buffer.from('{}'),
  });
  return [statusCode ?? error, receiver.requests()];
}

test('a receiver with a valid certificate is called, by name and by address', async () => {
  const cert = read('valid.pem');
  assert.deepEqual(await attempt({ cert }), [200, 1]);
  assert.deepEqual(await attempt({ cert }, 'receiver.test.'), [200, 1]);
  assert.deepEqual(await attempt({ cert }, '127.0.0.1'), [200, 1]);
});

test('SNI is sent if the host has a name', async () => {
  const names: (string | null)[] = [];
  for (const host of ['receiver.test', 'receiver.test.', '127.0.0.1']) {
    const cert = read('valid.pem');
    const receiver = await startByteReceiver(
      (socket) => {
        names.push((socket as { servername?: string | false }).servername || null);
        socket.write(okAnswer);
      },
      { tls: { key, cert } },
    );
    const url = `https://${host}:${receiver.port}/`;
    await sender.attempt({ url, headers: {}, body: Buffer.from('{}') });
  }
  assert.deepEqual(names, ['receiver.test', 'receiver.test', null]);
});

test('a self-signed, expired or foreign certificate gets no request', async () => {
  assert.deepEqual(await attempt({ cert: read('self-signed.pem') }), ['tls', 0]);
  assert.deepEqual(await attempt({ cert: read('expired.pem') }), ['tls', 0]);
  assert.deepEqual(await attempt({ cert: read('valid.pem') }, 'another.test'), ['tls', 0]);
  const cert = read('valid.pem');
  assert.deepEqual(await attempt({ cert }, '127.0.0.2', '127.0.0.2'), ['tls', 0]);
});

test('a receiver that requires a client certificate gets no request', async () => {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const [outcome, requests] = await attempt({
      cert: read('valid.pem'),
      requestCert: true,
      rejectUnauthorized: true,
      maxVersion,
    });
    // Under TLS 1.3 the handshake is over before the receiver refuses, and a reset may overtake its word.
    assert.ok(outcome === 'tls' || (maxVersion === 'TLSv1.3' && outcome === 'reset'), `${outcome}`);
    assert.equal(requests, 0);
  }
});

test('plain HTTP where TLS should be, and a connection that closes in the handshake, are TLS errors', async () => {
  for (const onConnection of [
    (socket: Socket) => void socket.once('data', () => socket.end(head('400 Bad Request'))),
    (socket: Socket) => void socket.once('data', () => socket.end()),
  ]) {
    const receiver = await startByteReceiver(ok, { onConnection });
    const url = `https://127.0.0.1:${receiver.port}/`;
    assert.equal(
      (await sender.attempt({ url, headers: {}, body: Buffer.from('{}') })).error,
      'tls',
    );
    await receiver.allClosed();
  }
});

test('a hanging handshake is a timeout, and its connection closes', async () => {
  const receiver = await startByteReceiver(ok, { onConnection: (socket) => socket.resume() });
  const url = `https://127.0.0.1:${receiver.port}/`;
  const outcome = await openSender(300).attempt({ url, headers: {}, body: Buffer.from('{}') });
  assert.equal(outcome.error, 'timeout');
  await receiver.allClosed();
});
