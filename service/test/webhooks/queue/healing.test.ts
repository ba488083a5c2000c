/** Self-healing with a clock that the tests move, and once over HTTP with the real worker. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { pino } from 'pino';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { createApp } from '../../../src/access/apps.ts';
import { sql, type Transaction } from '../../../src/database/database.ts';
import { createMetrics } from '../../../src/runtime/metrics.ts';
import { createSecretBox } from '../../../src/runtime/secret-box.ts';
import {
  createWebhook,
  deleteWebhook,
  readWebhook,
} from '../../../src/webhooks/management/webhooks.ts';
import {
  updateWebhook,
  type WebhookChanges,
} from '../../../src/webhooks/management/update-webhook.ts';
import { firstProbeJitter, probeHours } from '../../../src/webhooks/queue/health/healing.ts';
import { loadDeliveries } from '../../../src/webhooks/queue/dispatch/load-deliveries.ts';
import { recordAttempts } from '../../../src/webhooks/queue/record/record.ts';
import { listHealed, replayHealed } from '../../../src/webhooks/replay/replay.ts';
import {
  restoreWebhooks,
  suspendWebhooks,
} from '../../../src/webhooks/management/suspend-webhooks.ts';
import { recoverLeases } from '../../../src/webhooks/queue/record/recover-leases.ts';
import { updateWebhookHealth } from '../../../src/webhooks/queue/health/update-webhook-health.ts';
import { deliver } from '../../../src/webhooks/sending/deliver.ts';
import type { Deliverable } from '../../../src/webhooks/sending/deliverable.ts';
import { createSigningKeys } from '../../../src/webhooks/sending/signing-keys.ts';
import { openStage } from '../../histories/stage.ts';
import { testActor } from '../../support/actor.ts';
import { eventually, within } from '../../support/eventually.ts';
import { attemptOf, claimWith, failed, recordNew, succeeded } from '../../support/queue-steps.ts';
import { loopbackAllowed, startReceiver } from '../../support/receiver.ts';
import { startTestService } from '../../support/service.ts';

const stage = await openStage();
const { database } = stage;
const guard = { allowedNetworks: [], allowHttp: false };
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
let now = Date.parse('2026-11-20T12:00:00Z');

async function makeWebhook(): Promise<{ id: string; appId: string }> {
  return database.transaction().execute(async (tx) => {
    const owner = `${randomUUID()}@example.org`;
    const appId = await createApp(tx, testActor, { name: 'Herald', owner });
    const input = { url: 'https://example.org/' };
    const { id } = await createWebhook(tx, testActor, appId, input, guard, stage);
    return { id, appId };
  });
}

const update = ({ id, appId }: { id: string; appId: string }, changes: WebhookChanges) =>
  database
    .transaction()
    .execute((tx) => updateWebhook(tx, testActor, appId, id, changes, guard, stage));

/** Makes a webhook that fails until it is deactivated. */
async function makeFailing() {
  const webhook = await makeWebhook();
  await fail(webhook.id);
  return webhook;
}

async function fail(webhookId: string): Promise<void> {
  await stage.setClock(now);
  await recordNew(database, { webhookId, ...failed }, { webhookId, ...failed });
  const { deactivated } = await updateWebhookHealth(database, 2);
  assert.deepEqual(
    deactivated.map((one) => [one.webhookId, one.reason]),
    [[webhookId, 'failing']],
  );
}

async function nextProbeAt(webhookId: string): Promise<number | null> {
  const { rows } = await sql<{ at: Date }>`
    select due_at as at from pending_deliveries where webhook_id = ${webhookId} and trigger = 'probe'
  `.execute(database);
  assert.ok(rows.length <= 1, 'two probes wait');
  return rows[0]?.at.getTime() ?? null;
}

/** Lets time pass until the next probe is due, and leases it. Returns the probe and the wait. */
async function takeProbe(webhookId: string): Promise<{ probe: Deliverable; waitMs: number }> {
  const at = await nextProbeAt(webhookId);
  assert.ok(at !== null, 'no probe waits');
  await stage.setClock(at - 1);
  assert.equal((await claimWith(database)).leased.length, 0, 'a probe came early');
  const waitMs = at - now;
  now = at;
  await stage.setClock(now);
  const { leased } = await claimWith(database);
  const { deliverable, refused } = await loadDeliveries(database, leased);
  assert.deepEqual([deliverable.length, refused.length], [1, 0]);
  return { probe: deliverable[0] as Deliverable, waitMs };
}

/** Returns the webhooks that were activated. */
async function respond(probe: Deliverable, outcome: object): Promise<string[]> {
  await recordAttempts(database, [attemptOf(probe, outcome)]);
  return (await updateWebhookHealth(database, 2)).healed;
}

async function stateOf(webhookId: string) {
  const { rows } = await sql<{
    active: boolean;
    healthy: boolean;
    kinds: string[] | null;
    actions: string[] | null;
  }>`
    select active, exists (select from webhook_health where webhook_id = w.id and last_success_at is not null) as healthy,
      (select array_agg(kind order by id) from operational_events where webhook_id = w.id) as kinds,
      (select array_agg(action order by id) from audit_log where subject_id = w.id::text) as actions
    from webhooks w where id = ${webhookId}
  `.execute(database);
  const [row] = rows;
  assert.ok(row);
  return row;
}

const remove = ({ id, appId }: { id: string; appId: string }) =>
  database.transaction().execute((tx) => deleteWebhook(tx, testActor, appId, id));

test('probes follow 1, 4, 12 and 24 hours after the last one, then daily for 14 days', async () => {
  const webhook = await makeFailing();
  const shownNextProbeAt = async () =>
    (await readWebhook(database, webhook.appId, webhook.id)).nextProbeAt;
  const firstWaitMs = Date.parse((await shownNextProbeAt()) ?? '') - now;
  assert.ok(firstWaitMs >= hourMs && firstWaitMs <= hourMs * (1 + firstProbeJitter));
  const waits: number[] = [];
  while ((await nextProbeAt(webhook.id)) !== null) {
    const { probe, waitMs } = await takeProbe(webhook.id);
    waits.push(Math.floor(waitMs / hourMs));
    assert.deepEqual([probe.event, probe.data], ['webhook.probe', '{}']);
    assert.deepEqual(await respond(probe, failed), []);
  }
  assert.deepEqual(waits, [1, 4, 12, 24, ...Array.from({ length: 14 }, () => 24)]);
  assert.deepEqual(waits, probeHours);
  assert.equal(await shownNextProbeAt(), null, 'after the last one');
  const { active, kinds, actions } = await stateOf(webhook.id);
  assert.equal(active, false);
  assert.deepEqual(kinds?.slice(-2), ['webhook.deactivated', 'webhook.not_healed']);
  assert.equal(actions?.filter((one) => one === 'webhook.probed').length, waits.length);
});

test('two successes in a row activate the webhook, and count as no success of its deliveries', async () => {
  const { id } = await makeFailing();
  assert.deepEqual(await respond((await takeProbe(id)).probe, succeeded), []);
  const second = await takeProbe(id);
  assert.ok(second.waitMs <= 5 * 60_000, `${second.waitMs}`);
  assert.deepEqual(await respond(second.probe, failed), []);
  const third = await takeProbe(id);
  assert.equal(third.waitMs, 4 * hourMs);
  assert.deepEqual(await respond(third.probe, succeeded), []);
  assert.deepEqual(await respond((await takeProbe(id)).probe, succeeded), [id]);
  const { active, healthy, kinds, actions } = await stateOf(id);
  assert.deepEqual([active, healthy], [true, false]);
  assert.equal(kinds?.at(-1), 'webhook.healed');
  assert.equal(actions?.at(-1), 'webhook.reactivated');
  assert.equal(await nextProbeAt(id), null);
});

test('a receiver that comes back for one probe at a time is never activated', async () => {
  const { id } = await makeFailing();
  const outages: number[] = [];
  while ((await nextProbeAt(id)) !== null) {
    const { probe, waitMs } = await takeProbe(id);
    outages.push(Math.floor(waitMs / hourMs));
    assert.deepEqual(await respond(probe, succeeded), []);
    const next = await takeProbe(id);
    assert.ok(next.waitMs <= 5 * 60_000, `${next.waitMs}`);
    assert.deepEqual(await respond(next.probe, failed), []);
  }
  // A success does not bring the schedule back to its beginning.
  assert.deepEqual(outages, probeHours);
  const { active, kinds } = await stateOf(id);
  assert.equal(active, false);
  assert.deepEqual(kinds, ['webhook.deactivated', 'webhook.not_healed']);
});

test('a response of 410 to a probe is a failed probe', async () => {
  const webhook = await makeFailing();
  const { probe } = await takeProbe(webhook.id);
  assert.deepEqual(await respond(probe, { ...failed, statusCode: 410 }), []);
  assert.notEqual(await nextProbeAt(webhook.id), null);
  await remove(webhook);
});

test('a receiver that only accepts probes is activated at most three times in any week', async () => {
  const webhook = await makeWebhook();
  const heals: number[] = [];
  while (heals.length < 8) {
    await fail(webhook.id);
    while ((await respond((await takeProbe(webhook.id)).probe, succeeded)).length === 0);
    heals.push(now);
  }
  for (const [index, at] of heals.entries()) {
    const later = heals[index + 3];
    assert.ok(later === undefined || later - at >= 7 * dayMs, `${index}`);
  }
  assert.ok((heals[2] ?? 0) - (heals[0] ?? 0) < dayMs);
});

test('an owner decides instead of the probes', async () => {
  for (const changes of [
    { selfHealing: false },
    { active: false },
    { active: false, selfHealing: true },
    { active: true },
  ]) {
    const webhook = await makeFailing();
    await update(webhook, changes);
    assert.equal(await nextProbeAt(webhook.id), null, JSON.stringify(changes));
  }
  const webhook = await makeFailing();
  const { probe } = await takeProbe(webhook.id);
  await update(webhook, { selfHealing: false });
  assert.deepEqual(await respond(probe, succeeded), []);
  assert.equal(await nextProbeAt(webhook.id), null);
  await update(webhook, { selfHealing: true });
  assert.notEqual(await nextProbeAt(webhook.id), null);
  await update(webhook, { selfHealing: true });
  await remove(webhook);
});

test('a probe that ends while the owner changes the webhook keeps the schedule', async () => {
  const moved = await makeFailing();
  const { probe } = await takeProbe(moved.id);
  await recordAttempts(database, [attemptOf(probe, failed)]);
  await update(moved, { url: 'https://example.com/' });
  await updateWebhookHealth(database, 2);
  assert.notEqual(await nextProbeAt(moved.id), null, 'after a new URL');
  await remove(moved);
  const toggled = await makeFailing();
  const { probe: inFlight } = await takeProbe(toggled.id);
  await update(toggled, { selfHealing: false });
  await update(toggled, { selfHealing: true });
  assert.deepEqual(await respond(inFlight, failed), []);
  assert.notEqual(await nextProbeAt(toggled.id), null, 'after a switch off and on');
  await remove(toggled);
});

test('two successes at different URLs do not activate a webhook', async () => {
  const webhook = await makeFailing();
  assert.deepEqual(await respond((await takeProbe(webhook.id)).probe, succeeded), []);
  await update(webhook, { url: 'https://example.com/' });
  assert.deepEqual(await respond((await takeProbe(webhook.id)).probe, succeeded), []);
  assert.deepEqual(await respond((await takeProbe(webhook.id)).probe, succeeded), [webhook.id]);
});

test('a probe that was put back after its series ended keeps back no later series', async () => {
  const webhook = await makeFailing();
  await takeProbe(webhook.id);
  await update(webhook, { active: true });
  await sql`
    update pending_deliveries set lease_token = null, leased_at = null, parked = true where webhook_id = ${webhook.id}
  `.execute(database);
  await fail(webhook.id);
  const { rows } = await sql<{ parked: boolean }>`
    select parked from pending_deliveries where webhook_id = ${webhook.id} and trigger = 'probe' order by id
  `.execute(database);
  assert.deepEqual(
    rows.map(({ parked }) => parked),
    [true, false],
  );
  await remove(webhook);
});

test('a probe that was put back while its webhook was suspended is not sent', async () => {
  const webhook = await makeFailing();
  const { probe } = await takeProbe(webhook.id);
  const target = { kind: 'webhook', id: webhook.id } as const;
  const inTransaction = (work: (tx: Transaction) => Promise<unknown>) =>
    database.transaction().execute(work);
  await inTransaction((tx) => suspendWebhooks(tx, testActor, target, 'Spam.'));
  const putBack = { kind: 'postponed', waitMs: 0, park: false } as const;
  await recordAttempts(database, [attemptOf(probe, { statusCode: null, verdict: putBack })]);
  const { leased } = await claimWith(database);
  const { deliverable, refused } = await loadDeliveries(database, leased);
  assert.deepEqual([deliverable.length, refused.length], [0, 1]);
  await recordAttempts(
    database,
    refused.map(({ delivery, cancelledBy: by }) =>
      attemptOf(delivery, { statusCode: null, verdict: { kind: 'cancelled', by } }),
    ),
  );
  assert.equal(await nextProbeAt(webhook.id), null);
  await inTransaction((tx) => restoreWebhooks(tx, testActor, target, false));
  assert.notEqual(await nextProbeAt(webhook.id), null, 'the restoration begins with the first');
  await remove(webhook);
});

test('a replay after healing begins before the deactivation, and only a deactivation ends it', async () => {
  const webhook = await makeWebhook();
  await update(webhook, { replayAfterHealing: true });
  const deactivatedAt = Date.now();
  now = Math.max(now, deactivatedAt + hourMs);
  await fail(webhook.id);
  // An attempt was in flight.
  await recordNew(database, { webhookId: webhook.id, ...succeeded });
  await updateWebhookHealth(database, 2);
  while ((await respond((await takeProbe(webhook.id)).probe, succeeded)).length === 0);
  const { rows } = await sql<{ since: Date }>`
    select replay_since as since from webhook_healing where webhook_id = ${webhook.id}
  `.execute(database);
  assert.ok(rows[0] && rows[0].since.getTime() < deactivatedAt);
  await update(webhook, { active: true });
  await update(webhook, { selfHealing: false });
  assert.deepEqual(await listHealed(database), [webhook.id]);
  const target = { kind: 'webhook', id: webhook.id } as const;
  const inTransaction = (work: (tx: Transaction) => Promise<unknown>) =>
    database.transaction().execute(work);
  await inTransaction((tx) => suspendWebhooks(tx, testActor, target, 'Spam.'));
  await replayHealed(database, webhook.id);
  await inTransaction((tx) => restoreWebhooks(tx, testActor, target, false));
  assert.deepEqual(await listHealed(database), [webhook.id], 'a suspension puts it off');
  await update(webhook, { active: false });
  assert.deepEqual(await listHealed(database), []);
});

test('an interrupted probe is sent again soon and says nothing about the receiver', async () => {
  const { id } = await makeFailing();
  assert.deepEqual(await respond((await takeProbe(id)).probe, succeeded), []);
  await takeProbe(id);
  now += dayMs;
  await stage.setClock(now);
  assert.equal(
    (await recoverLeases(database, { backoff: { baseMs: 1, factor: 1 } })).recorded.length,
    1,
  );
  assert.deepEqual((await updateWebhookHealth(database, 2)).healed, []);
  const { probe, waitMs } = await takeProbe(id);
  assert.ok(waitMs <= 5 * 60_000, `${waitMs}`);
  assert.deepEqual(await respond(probe, succeeded), [id]);
});

test('a probe whose secret cannot be read waits until it can, and is no failed one', async () => {
  const webhook = await makeFailing();
  const { probe } = await takeProbe(webhook.id);
  const log = pino({ level: 'silent' });
  const deliverAfter = (ms: number) =>
    deliver(
      {
        sender: { attempt: () => assert.fail('it was sent'), close: async () => {} },
        webhooks: { retryBaseMs: 1, retryFactor: 1 },
        signingKeys: createSigningKeys(createSecretBox([randomBytes(32)])),
        clock: { now: () => new Date(now + ms), random: () => 0 },
        metrics: createMetrics(),
        serviceName: stage.serviceName,
        version: '0',
        log,
        attemptLog: log,
      },
      // The column has the time of day, which the tests do not move.
      { ...probe, createdAtMs: now - dayMs },
    );
  await deliverAfter(0);
  const { verdict, statusCode, error } = await deliverAfter(2 * dayMs);
  assert.deepEqual(await respond(probe, { verdict, statusCode, error }), []);
  assert.equal(await nextProbeAt(webhook.id), now, 'it is due, and its webhook is left alone');
  assert.ok(!(await stateOf(webhook.id)).actions?.includes('webhook.probed'));
  await remove(webhook);
});

test('the worker signs and sends probes, and events follow', async () => {
  const service = await startTestService({ worker: true, env: loopbackAllowed });
  const receiver = await startReceiver();
  const { body } = await service.call('/webhooks', {
    method: 'POST',
    json: { url: receiver.url, headers: { Authorization: 'Bearer 7f3c9a' } },
  });
  const { id, secret } = body.data;
  await recordNew(
    service.database,
    ...Array.from({ length: 5 }, () => ({ webhookId: id, ...failed })),
  );
  const read = async () => (await service.call(`/webhooks/${id}`)).body.data;
  // While the worker is at it, a call does nothing.
  const deactivated = await eventually(async () => {
    await updateWebhookHealth(service.database, 5);
    const webhook = await read();
    return !webhook.active && webhook;
  });
  assert.equal(deactivated.selfHealing, true);
  await eventually(async () => {
    await sql`
      update pending_deliveries set due_at = queue_now()
      where trigger = 'probe' and lease_token is null and due_at > queue_now()
    `.execute(service.database);
    return (await read()).active;
  });
  // Sooner than replays are looked for.
  await within(30_000, async () => {
    const { rows } = await sql`
      select from webhook_healing where webhook_id = ${id} and replay_since is null
    `.execute(service.database);
    return rows.length > 0;
  });
  assert.equal(receiver.received.length, 2);
  for (const { headers, body: bytes } of receiver.received) {
    assert.equal(headers['x-service-event'], 'webhook.probe');
    // A receiver that wants it would respond with 401 to a probe without it.
    assert.equal(headers['authorization'], 'Bearer 7f3c9a');
    assert.deepEqual(JSON.parse(bytes.toString()).data, {});
    assert.doesNotThrow(() => new StandardWebhook(secret).verify(bytes.toString(), headers));
  }
  const { data } = (await service.call(`/webhooks/${id}/deliveries?event=webhook.probe`)).body;
  const redelivered = await service.call(`/webhooks/${id}/deliveries/${data[0].id}/redeliver`, {
    method: 'POST',
  });
  assert.equal(redelivered.status, 409);
});
