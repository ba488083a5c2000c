/**
 * Attacks on deliveries by whoever controls a webhook's name: its addresses change between registration, attempts and
 * queries, or its certificate is for another name. A real service with its worker, a name server and receivers.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { sql } from '../../../src/database/database.ts';
import { okAnswer, startByteReceiver, type ByteReceiver } from '../../support/byte-receiver.ts';
import { put } from '../../support/directory.ts';
import { startDnsServer, type DnsQuery } from '../../support/dns-server.ts';
import { eventually } from '../../support/eventually.ts';
import { startTestService } from '../../support/service.ts';

const read = (name: string) =>
  readFileSync(join(import.meta.dirname, '../../support/tls', name), 'utf8');
/** The only address that may be called. */
const open = '127.0.0.1';
/** Neighbours of the service, which no delivery may reach. */
const forbidden = '127.0.0.2';

/** The addresses of a name at each query. */
const scripts = new Map<string, (query: DnsQuery, count: number) => string[]>();
const counts = new Map<string, number>();
const dns = await startDnsServer((query) => {
  const count = counts.get(query.name) ?? 0;
  counts.set(query.name, count + 1);
  return scripts.get(query.name)?.(query, count) ?? 'NXDOMAIN';
});
const service = await startTestService({
  worker: true,
  env: {
    WEBHOOK_ALLOWED_NETWORKS: `${open}/32`,
    WEBHOOK_ALLOW_HTTP: 'true',
    WEBHOOK_RETRY_BASE_MS: '1',
    WEBHOOK_RETRY_FACTOR: '1',
  },
  senderOptions: { nameServers: [dns.address], ca: read('authority.pem') },
});
const { database } = service;

const closing = okAnswer.replace('\r\n', '\r\nConnection: close\r\n');

/** A receiver, and on the same port of the forbidden address a trap that records whoever connects. */
async function startPair(): Promise<{ receiver: ByteReceiver; trap: ByteReceiver }> {
  // Closed each time, so that every attempt looks the name up.
  const receiver = await startByteReceiver((socket) => socket.end(closing), { host: open });
  const trap = await startByteReceiver((socket) => socket.end(closing), {
    host: forbidden,
    port: receiver.port,
  });
  return { receiver, trap };
}

async function register(url: string): Promise<string> {
  const { status, body } = await service.call('/webhooks', {
    method: 'POST',
    json: { url, events: ['alliance.created'] },
  });
  assert.equal(status, 201);
  return body.data.id as string;
}

/** Publishes one event to the webhooks so far, and returns how the attempts to this one ended. */
let published = 0;
async function deliver(webhookId: string): Promise<(number | string)[]> {
  const name = `Alliance ${(published += 1)}`;
  await put(database, 'alliances', [{ name }], { emitEvents: true });
  const delivery = await eventually(async () => {
    const { rows } = await sql<{ id: string }>`
      select d.id from deliveries d join events e on e.id = d.event_id
      where d.webhook_id = ${webhookId} and e.data::jsonb ->> 'name' = ${name}
    `.execute(database);
    return rows[0];
  });
  const { body } = await service.call(`/webhooks/${webhookId}/deliveries/${delivery.id}`);
  await service.call(`/webhooks/${webhookId}`, { method: 'PATCH', json: { active: true } });
  return body.data.attempts.map(
    ({ statusCode, error }: { statusCode: number | null; error: string | null }) =>
      statusCode ?? error,
  );
}

const remove = (id: string) => service.call(`/webhooks/${id}`, { method: 'DELETE' });

test('a name that moves to a forbidden address after an attempt is blocked at the next', async () => {
  const { receiver, trap } = await startPair();
  let address = open;
  scripts.set('moving.test', () => [address]);
  const id = await register(`http://moving.test:${receiver.port}/`);
  assert.deepEqual(await deliver(id), [200]);
  address = forbidden;
  assert.deepEqual([...new Set(await deliver(id))], ['blocked']);
  address = open;
  assert.deepEqual(await deliver(id), [200]);
  assert.deepEqual([receiver.requests(), trap.connections()], [2, 0]);
  await remove(id);
});

test('a receiver whose certificate is for another name gets no delivery', async () => {
  const tls = { key: read('server-key.pem'), cert: read('valid.pem') };
  const receiver = await startByteReceiver((socket) => socket.end(closing), { tls, host: open });
  for (const name of ['receiver.test', 'another.test']) scripts.set(name, () => [open]);
  const right = await register(`https://receiver.test:${receiver.port}/`);
  assert.deepEqual(await deliver(right), [200]);
  await remove(right);
  // The session of the right name must not be resumed for the wrong one.
  const wrong = await register(`https://another.test:${receiver.port}/`);
  assert.deepEqual([...new Set(await deliver(wrong))], ['tls']);
  assert.equal(receiver.requests(), 1);
  await remove(wrong);
});

test('a name that moves to a server with a certificate of another name gets no delivery', async () => {
  const key = read('server-key.pem');
  const rightful = await startByteReceiver((socket) => socket.end(closing), {
    tls: { key, cert: read('valid.pem') },
    host: open,
  });
  const id = await register(`https://receiver.test:${rightful.port}/`);
  assert.deepEqual(await deliver(id), [200]);
  // Same name, same port, another machine.
  const other = await startByteReceiver((socket) => socket.end(closing), {
    tls: { key, cert: read('self-signed.pem') },
    host: open,
  });
  await service.call(`/webhooks/${id}`, {
    method: 'PATCH',
    json: { url: `https://receiver.test:${other.port}/` },
  });
  assert.deepEqual([...new Set(await deliver(id))], ['tls']);
  assert.equal(other.requests(), 0);
  await remove(id);
});
