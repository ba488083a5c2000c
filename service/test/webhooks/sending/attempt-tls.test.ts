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
  const { statusCode, error, errorCause } = await sender.attempt({
    url: `https://${host}:${receiver.port}/`,
    headers: {},
    body: Buffer.from('{}'),
  });
  return error === 'tls'
    ? [error, errorCause, receiver.requests()]
    : [statusCode ?? error, receiver.requests()];
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

test('a certificate that is not valid gets no request, and the cause is told', async () => {
  const cert = read('valid.pem');
  const [issued, issuer] = [read('providers.pem'), read('provider-authority.pem')];
  const causes = [
    [await attempt({ cert: read('self-signed.pem') }), 'certificate_untrusted'],
    [await attempt({ cert: `${issued}\n${issuer}` }), 'certificate_untrusted'],
    [await attempt({ cert: issued }), 'certificate_incomplete'],
    [await attempt({ cert: read('expired.pem') }), 'certificate_expired'],
    [await attempt({ cert }, 'another.test'), 'certificate_wrong_host'],
    [await attempt({ cert }, '127.0.0.2', '127.0.0.2'), 'certificate_wrong_host'],
  ] as const;
  for (const [outcome, cause] of causes) assert.deepEqual(outcome, ['tls', cause, 0]);
});

test('a receiver that speaks an old version of TLS gets no request', async () => {
  const old = {
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT@SECLEVEL=0',
  } as const;
  assert.deepEqual(await attempt({ cert: read('valid.pem'), ...old }), ['tls', 'tls_version', 0]);
});

test('a receiver that requires a client certificate gets no request', async () => {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const [outcome, ...rest] = await attempt({
      cert: read('valid.pem'),
      requestCert: true,
      rejectUnauthorized: true,
      maxVersion,
    });
    // Under TLS 1.3 the handshake is over before the receiver refuses, and a reset may overtake its word.
    assert.ok(outcome === 'tls' || (maxVersion === 'TLSv1.3' && outcome === 'reset'), `${outcome}`);
    assert.equal(rest.at(-1), 0);
    // Under TLS 1.2 the receiver does not say why.
    const cause = maxVersion === 'TLSv1.3' ? 'client_certificate_required' : null;
    if (outcome === 'tls') assert.equal(rest[0], cause);
  }
});

test('plain HTTP where TLS should be, and a connection that closes in the handshake, are TLS errors', async () => {
  const refuse = (socket: Socket) =>
    void socket.once('data', () => socket.end(head('400 Bad Request')));
  const close = (socket: Socket) => void socket.once('data', () => socket.end());
  for (const [onConnection, cause] of [
    [refuse, 'not_tls'],
    [close, null],
  ] as const) {
    const receiver = await startByteReceiver(ok, { onConnection });
    const url = `https://127.0.0.1:${receiver.port}/`;
    const { error, errorCause } = await sender.attempt({
      url,
      headers: {},
      body: Buffer.from('{}'),
    });
    assert.deepEqual([error, errorCause], ['tls', cause]);
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
