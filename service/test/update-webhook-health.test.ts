/** What recorded attempts do to their webhook and to what waits for it, however much that is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listAudit } from '../src/access/audit-log.ts';
import { sql } from '../src/database/database.ts';
import { claim } from '../src/webhooks/queue/claim.ts';
import type { RecordedAttempt } from '../src/webhooks/sending/deliver.ts';
import { updateWebhookHealth } from '../src/webhooks/queue/update-webhook-health.ts';
import { makeKey, startTestService } from './support/service.ts';

// No worker: what waits stays where it is.
const service = await startTestService();
const { database } = service;

async function makeWebhook(): Promise<{ id: string; key: string }> {
  const { key } = await makeKey(service);
  const json = { url: 'https://example.org/' };
  const { body } = await service.call('/webhooks', { method: 'POST', key, json });
  return { id: body.data.id, key };
}

/** Each falls due after the one before it. */
async function queue(webhookId: string, count: number): Promise<void> {
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at)
    select uuid_v7(), uuid_v7(), 'org.created', ${webhookId}, 'event', queue_now() + n * interval '1 minute'
    from generate_series(1, ${count}) as n
  `.execute(database);
}

function attempt(webhookId: string, more: Partial<RecordedAttempt> = {}): RecordedAttempt {
  return {
    startedAt: new Date(),
    durationMs: 1,
    statusCode: 500,
    error: null,
    responseHeaders: null,
    responseBody: null,
    deliveryId: webhookId,
    leaseToken: webhookId,
    webhookId,
    number: 1,
    cycleAttempt: 1,
    trigger: 'event',
    verdict: { kind: 'retry', waitMs: 1 },
    ...more,
  };
}
const success = { statusCode: 200, verdict: { kind: 'succeeded' } } as const;
const final = { number: 6, cycleAttempt: 6, verdict: { kind: 'failed' } } as const;

const updateHealth = (...attempts: RecordedAttempt[]) =>
  database.transaction().execute((tx) => updateWebhookHealth(tx, attempts, 5));

async function isFailing(webhookId: string): Promise<boolean | undefined> {
  const { rows } = await sql<{ failing: boolean }>`
    select is_failing(last_success_at, last_failure_at) as failing from webhooks where id = ${webhookId}
  `.execute(database);
  return rows[0]?.failing;
}

async function inLines(webhookId: string): Promise<{ ordinary: number; failing: number }> {
  const { rows } = await sql<{ ordinary: number; failing: number }>`
    select count(*) filter (where not failing) as ordinary, count(*) filter (where failing) as failing
    from pending_deliveries where webhook_id = ${webhookId}
  `.execute(database);
  return rows[0] ?? { ordinary: -1, failing: -1 };
}

async function total(webhook: { id: string; key: string }, status: string): Promise<number> {
  const { body } = await service.call(`/webhooks/${webhook.id}/deliveries?status=${status}`, {
    key: webhook.key,
  });
  return body.pagination.total;
}

test('more than 10,000 pending deliveries do not delay a deactivation; claims cancel the rest', async () => {
  const webhook = await makeWebhook();
  await sql`
    with event as (
      insert into events (id, name, audience, data) values (uuid_v7(), 'org.created', 'global', '{}') returning id
    )
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at)
    select uuid_v7(), event.id, 'org.created', ${webhook.id}, 'event', queue_now() from event, generate_series(1, 10004)
  `.execute(database);
  const gone = attempt(webhook.id, { ...final, statusCode: 410 });
  assert.deepEqual(await updateHealth(gone), [
    { webhookId: webhook.id, reason: 'gone', cancelled: 10_000, more: true },
  ]);
  const { rows } = await sql<{ cancelled: number | null }>`
    select cancelled from operational_events where webhook_id = ${webhook.id}
  `.execute(database);
  assert.deepEqual(rows, [{ cancelled: null }], 'what nobody has counted is not told');
  assert.deepEqual(
    [await total(webhook, 'pending'), await total(webhook, 'cancelled')],
    [4, 10_000],
  );

  const room = { total: 100, failing: 100, perWebhook: 8 };
  const { cancelled } = await claim(database, {
    room,
    inFlight: new Map(),
    leaseMs: 60_000,
    cursor: null,
    phase: 0,
  });
  assert.equal(cancelled, 4);
  assert.equal(await total(webhook, 'cancelled'), 10_004);
  const { id, key } = webhook;
  await service.call(`/webhooks/${id}`, { method: 'PATCH', key, json: { active: true } });
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const recover = async () =>
    (await service.call(`/webhooks/${id}/recover`, { method: 'POST', key, json: { since } })).body
      .data.count;
  assert.deepEqual([await recover(), await recover(), await recover()], [10_000, 4, 0]);

  await service.call(`/webhooks/${id}`, { method: 'PATCH', key, json: { active: false } });
  assert.deepEqual(
    [await total(webhook, 'pending'), await total(webhook, 'cancelled')],
    [4, 10_000],
  );
  const deleted = await service.call(`/webhooks/${id}`, { method: 'DELETE', key });
  assert.equal(deleted.status, 200);
});

test('a wrong clock of a process makes no healthy webhook fail', async () => {
  const { id } = await makeWebhook();
  const ahead = new Date(Date.now() + 60_000);
  const behind = new Date(Date.now() - 60_000);
  await updateHealth(attempt(id, { startedAt: ahead }));
  assert.equal(await isFailing(id), true);
  await updateHealth(attempt(id, { ...success, startedAt: behind }));
  assert.equal(await isFailing(id), false);
  await updateHealth(attempt(id, { startedAt: behind }));
  assert.equal(await isFailing(id), true);
});

test('in a batch with a success and a failure, the later one decides', async () => {
  const { id } = await makeWebhook();
  const at = (ms: number) => ({ startedAt: new Date(1_800_000_000_000 + ms) });
  await updateHealth(attempt(id, { ...success, ...at(9) }), attempt(id, at(0)));
  assert.equal(await isFailing(id), false);
  await updateHealth(attempt(id, at(9)), attempt(id, { ...success, ...at(0) }));
  assert.equal(await isFailing(id), true);
  await updateHealth(attempt(id, at(0)), attempt(id, { ...success, ...at(9) }));
  assert.equal(await isFailing(id), false);
});

test("pending deliveries change lanes with the outcome of the webhook's last attempt", async () => {
  const { id } = await makeWebhook();
  const other = await makeWebhook();
  await queue(id, 3);
  await queue(other.id, 2);
  await updateHealth(attempt(id));
  assert.deepEqual(await inLines(id), { ordinary: 0, failing: 3 });
  await sql`
    update pending_deliveries set lease_token = uuid_v7(), leased_at = queue_now()
    where id = (select id from pending_deliveries where webhook_id = ${id} limit 1)
  `.execute(database);
  await updateHealth(attempt(id, success));
  assert.deepEqual(await inLines(id), { ordinary: 2, failing: 1 }, 'what is under way stays');
  assert.deepEqual(await inLines(other.id), { ordinary: 2, failing: 0 });
});

test('a change of lanes updates at most 10,000 rows, and none that is in its lane already', async () => {
  const { id } = await makeWebhook();
  await queue(id, 10_002);
  await updateHealth(attempt(id));
  assert.deepEqual(await inLines(id), { ordinary: 2, failing: 10_000 });
  await updateHealth(attempt(id, success));
  assert.deepEqual(await inLines(id), { ordinary: 10_002, failing: 0 });
  const versions = async () =>
    (
      await sql<{ xmin: string }>`
        select distinct xmin::text from pending_deliveries where webhook_id = ${id} order by 1
      `.execute(database)
    ).rows;
  const before = await versions();
  await updateHealth(attempt(id, success));
  assert.deepEqual(await versions(), before);
});

for (const [name, earlier, last, expected] of [
  ['a time-out after a 410', [500, 410], { statusCode: null, error: 'timeout' }, 'gone'],
  ['an interruption after a 410', [410], { statusCode: null, error: 'interrupted' }, 'gone'],
  ['a time-out after another answer', [410, 500], { statusCode: null, error: 'timeout' }, null],
  ['another answer after a 410', [410], { statusCode: 500, error: null }, null],
  ['a time-out alone', [], { statusCode: null, error: 'timeout' }, null],
] as const) {
  test(`a cycle that ends with ${name} is ${expected === 'gone' ? '' : 'not '}answered 410 at last`, async () => {
    const webhook = await makeWebhook();
    const [{ id: deliveryId } = { id: '' }] = (
      await sql<{ id: string }>`select uuid_v7() as id`.execute(database)
    ).rows;
    // The first belongs to an earlier cycle.
    for (const [index, status] of [410, ...earlier].entries()) {
      await sql`
        insert into attempts (delivery_id, number, trigger, started_at, duration_ms, status_code)
        values (${deliveryId}, ${index + 1}, 'redelivery', now(), 1, ${status})
      `.execute(database);
    }
    const number = earlier.length + 2;
    await updateHealth(
      attempt(webhook.id, {
        ...final,
        ...last,
        deliveryId,
        number,
        cycleAttempt: earlier.length + 1,
      }),
    );
    const { body } = await service.call(`/webhooks/${webhook.id}`, { key: webhook.key });
    assert.equal(body.data.deactivatedReason, expected);
    const { rows } = await sql<{ reason: string; status_code: number; error: string | null }>`
      select reason, status_code, error from operational_events
      where webhook_id = ${webhook.id} and kind = 'webhook.deactivated'
    `.execute(database);
    assert.deepEqual(rows, expected ? [{ reason: expected, status_code: 410, error: null }] : []);
  });
}

test('concurrent workers audit each deactivation once, in its transaction', async () => {
  const webhooks = await Promise.all(Array.from({ length: 6 }, makeWebhook));
  const paused = await makeWebhook();
  const json = { active: false };
  await service.call(`/webhooks/${paused.id}`, { method: 'PATCH', key: paused.key, json });
  const ids = webhooks.map(({ id }) => id).sort();
  const gone = (id: string) => attempt(id, { ...final, statusCode: 410 });
  const failed = (id: string) => attempt(id, final);
  const entries = async () => {
    const filter = { actor: 'system', action: 'webhook.deactivated', appId: null, since: null };
    const found = await listAudit(database, { ...filter, subjectId: null, limit: 1_000 });
    return found
      .filter(({ subject }) => [...ids, paused.id].includes(subject.id ?? ''))
      .map(({ actor, subject, details }) => ({ actor, id: subject.id, details }))
      .toSorted((a, b) => Number(a.id! > b.id!) - Number(a.id! < b.id!));
  };

  const rolledBack = database.transaction().execute(async (tx) => {
    await updateWebhookHealth(tx, ids.map(gone), 5);
    throw new Error('rolled back');
  });
  await assert.rejects(rolledBack, /rolled back/);
  assert.deepEqual(await entries(), []);

  const batch = [...ids.slice(0, 3).map(gone), ...ids.slice(3).map(failed), gone(paused.id)];
  await Promise.all(Array.from({ length: 10 }, () => updateHealth(...batch)));
  assert.deepEqual(
    await entries(),
    ids.map((id, index) => ({
      actor: { kind: 'system', id: null, name: 'delivery worker' },
      id,
      details: { reason: index < 3 ? 'gone' : 'failing', host: 'example.org' },
    })),
  );
});
