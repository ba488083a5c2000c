import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../src/config.ts';
import { sql } from '../src/database/database.ts';
import { createLogger } from '../src/log.ts';
import { createMetrics } from '../src/metrics.ts';
import { createSender } from '../src/webhooks/sending/attempt.ts';
import { systemClock } from '../src/webhooks/sending/clock.ts';
import { createDispatcher } from '../src/webhooks/queue/dispatcher.ts';
import { fanOut } from '../src/webhooks/queue/fan-out.ts';
import { createInFlight } from '../src/webhooks/queue/in-flight.ts';
import { createSigningKeys } from '../src/webhooks/sending/signing-keys.ts';
import { announce, put } from './support/directory.ts';
import { eventually } from './support/eventually.ts';
import { loopbackAllowed, startReceiver } from './support/receiver.ts';
import { startTestService } from './support/service.ts';

const service = await startTestService({ env: loopbackAllowed });
const { database } = service;
const { webhooks } = loadConfig(loopbackAllowed);
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);

function startDispatcher() {
  const inFlight = createInFlight();
  const sender = createSender(webhooks);
  const dispatcher = createDispatcher({
    database,
    sender,
    webhooks,
    inFlight,
    signingKeys: createSigningKeys(service.secretBox),
    clock: systemClock,
    metrics: createMetrics(),
    serviceName: 'Service',
    version: '0',
    log: createLogger('silent'),
    attemptLog: createLogger('silent'),
  });
  return { inFlight, dispatcher, close: () => sender.close() };
}

async function publish(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await announce(database);
  await fanOut(database);
}

async function register(url: string): Promise<string> {
  return (await service.call('/webhooks', { method: 'POST', json: { url } })).body.data.id;
}

test("deliveries are postponed, uncounted, if tests used up the webhook's share during the claim", async () => {
  const receiver = await startReceiver();
  const webhook = await register(receiver.url);
  await publish(8);
  const { dispatcher, inFlight, close } = startDispatcher();
  const claiming = dispatcher.claimAll();
  const slots = Array.from({ length: 8 }, () => inFlight.tryAdd(webhook));
  assert.equal(inFlight.tryAdd(webhook), null);
  await claiming;
  const waiting = () =>
    eventually(async () => {
      const { rows } = await sql<{ count: number; attempts: number }>`
        select count(*) as count, sum(attempt_count)::int as attempts from pending_deliveries
        where webhook_id = ${webhook} and lease_token is null
      `.execute(database);
      return rows[0]?.count === 8 && rows[0];
    });
  assert.deepEqual(await waiting(), { count: 8, attempts: 0 });
  assert.equal(receiver.received.length, 0);
  for (const slot of slots) slot?.release();
  await sql`update pending_deliveries set due_at = now()`.execute(database);
  await dispatcher.claimAll();
  await receiver.waitFor(8);
  await dispatcher.stop();
  await close();
});

test('a stop waits for deliveries of a running claim and records them', async () => {
  const receiver = await startReceiver();
  const webhook = await register(receiver.url);
  await publish(5);
  const { dispatcher, close } = startDispatcher();
  const claiming = dispatcher.claimAll();
  dispatcher.stopClaiming();
  await claiming;
  await dispatcher.stop();
  await close();
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from deliveries where webhook_id = ${webhook} and status = 'succeeded'
  `.execute(database);
  assert.deepEqual(rows, [{ count: 5 }]);
  assert.equal(receiver.received.length, 5);
});
