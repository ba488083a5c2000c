/** Tests how recorded attempts change the health of their webhook and cancel its deliveries, however many there are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listAudit } from '../../../src/access/audit-log.ts';
import { openDatabase, sql, type Database } from '../../../src/database/database.ts';
import { claimParked } from '../../../src/webhooks/queue/dispatch/claim.ts';
import { loadDeliveries } from '../../../src/webhooks/queue/dispatch/load-deliveries.ts';
import { recordAttempts } from '../../../src/webhooks/queue/record/record.ts';
import { updateWebhookHealth } from '../../../src/webhooks/queue/health/update-webhook-health.ts';
import type { RecordedAttempt } from '../../../src/webhooks/sending/deliver.ts';
import { countRows } from '../../support/count-rows.ts';
import { openTestDatabase } from '../../support/database.ts';
import {
  attemptOf,
  claimWith,
  failed,
  insertLeased,
  newLease,
  recordNew,
  succeeded,
} from '../../support/queue-steps.ts';
import { makeKey, startTestService } from '../../support/service.ts';

// No worker: waiting deliveries and outcomes stay where they are.
const service = await startTestService();
const { database } = service;

async function makeWebhook(): Promise<{ id: string; key: string }> {
  const { key } = await makeKey(service);
  const json = { url: 'https://example.org/' };
  const { body } = await service.call('/webhooks', { method: 'POST', key, json });
  return { id: body.data.id, key };
}

type Outcome = Parameters<typeof recordNew>[1];
const retry = (webhookId: string, more: Partial<RecordedAttempt> = {}): Outcome => ({
  webhookId,
  ...more,
});
const success = (webhookId: string): Outcome => ({ webhookId, ...succeeded });
const exhausted = (webhookId: string, statusCode = 500): Outcome => ({
  webhookId,
  statusCode,
  ...failed,
});

/** Records these attempts in one batch and updates the health of their webhooks. */
async function updateHealth(...outcomes: Outcome[]) {
  await recordNew(database, ...outcomes);
  return (await updateWebhookHealth(database, 5)).deactivated;
}

/** Adds outcomes in the order of the array, without attempts. */
async function note(...outcomes: { webhookId: string; verdict: string }[]): Promise<void> {
  await sql`
    insert into webhook_outcomes (webhook_id, verdict, status_code, gone)
    select webhook_id, verdict, case verdict when 'succeeded' then 200 else 500 end, false
    from unnest(${outcomes.map((one) => one.webhookId)}::uuid[], ${outcomes.map((one) => one.verdict)}::text[])
      with ordinality as o(webhook_id, verdict, place)
    order by place
  `.execute(database);
}

async function healthOf(webhookId: string): Promise<{ failing: boolean; exhausted: number }> {
  const { rows } = await sql<{ failing: boolean; exhausted: number }>`
    select is_failing(last_success_at, last_failure_at) as failing, exhausted_in_a_row as exhausted
    from webhook_health where webhook_id = ${webhookId}
  `.execute(database);
  return rows[0] ?? { failing: false, exhausted: 0 };
}

const outcomesLeft = () => countRows(database, sql`webhook_outcomes`);

async function countDeliveries(
  webhook: { id: string; key: string },
  status: string,
): Promise<number> {
  const { body } = await service.call(`/webhooks/${webhook.id}/deliveries?status=${status}`, {
    key: webhook.key,
  });
  return body.pagination.total;
}

test('more than 10,000 pending deliveries do not delay a deactivation; claims cancel the rest', async () => {
  const webhook = await makeWebhook();
  await sql`
    with event as (
      insert into events (id, name, audience, data, position) values (uuid_v7(), 'org.created', 'global', '{}', 1) returning id
    )
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at)
    select uuid_v7(), event.id, 'org.created', ${webhook.id}, 'event', queue_now() from event, generate_series(1, 10004)
  `.execute(database);
  assert.deepEqual(await updateHealth(exhausted(webhook.id, 410)), [
    { webhookId: webhook.id, reason: 'gone', cancelled: 10_000, more: true },
  ]);
  const { rows } = await sql<{ cancelled: number | null }>`
    select cancelled from operational_events where webhook_id = ${webhook.id}
  `.execute(database);
  assert.deepEqual(rows, [{ cancelled: null }], 'what nobody has counted is not told');
  assert.deepEqual(
    [await countDeliveries(webhook, 'pending'), await countDeliveries(webhook, 'cancelled')],
    [4, 10_000],
  );

  const { refused, deliverable } = await loadDeliveries(
    database,
    (await claimWith(database)).leased,
  );
  assert.deepEqual([refused.length, deliverable.length], [4, 0]);
  await recordAttempts(
    database,
    refused.map(({ delivery, cancelledBy: by }) =>
      attemptOf(delivery, { verdict: { kind: 'cancelled', by } }),
    ),
  );
  assert.equal(await countDeliveries(webhook, 'cancelled'), 10_004);
  const { id, key } = webhook;
  await service.call(`/webhooks/${id}`, { method: 'PATCH', key, json: { active: true } });
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const recover = async () =>
    (await service.call(`/webhooks/${id}/recover`, { method: 'POST', key, json: { since } })).body
      .data.count;
  assert.deepEqual([await recover(), await recover(), await recover()], [10_000, 4, 0]);

  await service.call(`/webhooks/${id}`, { method: 'PATCH', key, json: { active: false } });
  assert.deepEqual(
    [await countDeliveries(webhook, 'pending'), await countDeliveries(webhook, 'cancelled')],
    [4, 10_000],
  );
  const deleted = await service.call(`/webhooks/${id}`, { method: 'DELETE', key });
  assert.equal(deleted.status, 200);
});

test('the attempt that is recorded later decides, also in one batch, and whatever its clock says', async () => {
  const { id } = await makeWebhook();
  const ahead = { startedAt: new Date(Date.now() + 60_000) };
  const behind = { startedAt: new Date(Date.now() - 60_000) };
  for (const [outcomes, failing] of [
    [[retry(id, ahead)], true],
    [[{ ...success(id), ...behind }], false],
    [[retry(id, behind)], true],
    [[retry(id), success(id)], false],
    [[success(id), retry(id)], true],
    [[retry(id), success(id)], false],
  ] as const) {
    await updateHealth(...outcomes);
    assert.equal((await healthOf(id)).failing, failing);
  }
});

test('outcomes of several batches are added once, in the order in which they were recorded', async () => {
  const [sick, healed] = [await makeWebhook(), await makeWebhook()];
  await recordNew(database, success(sick.id), exhausted(healed.id));
  await recordNew(database, exhausted(sick.id), exhausted(healed.id));
  await recordNew(database, exhausted(sick.id), success(healed.id));
  const updates = await Promise.all([1, 2, 3, 4].map(() => updateWebhookHealth(database, 5)));
  assert.deepEqual(
    updates.flatMap(({ deactivated }) => deactivated),
    [],
  );
  await updateWebhookHealth(database, 5);
  assert.deepEqual(await healthOf(sick.id), { failing: true, exhausted: 2 });
  assert.deepEqual(await healthOf(healed.id), { failing: false, exhausted: 0 });
  assert.equal(await outcomesLeft(), 0);
});

test('an update begins where an earlier one ended, and misses no outcome that was locked or not committed', async () => {
  const [locked, late, free] = [await makeWebhook(), await makeWebhook(), await makeWebhook()];
  const floor = await database.transaction().execute(async (tx) => {
    await sql`select from webhooks where id = ${locked.id} for no key update`.execute(tx);
    await recordNew(tx, exhausted(late.id));
    await recordNew(database, exhausted(locked.id), exhausted(free.id));
    return (await updateWebhookHealth(database, 5)).floor;
  });
  assert.deepEqual(await healthOf(free.id), { failing: true, exhausted: 1 });
  assert.equal(await outcomesLeft(), 2);
  await updateWebhookHealth(database, 5, floor ?? assert.fail());
  assert.deepEqual(await healthOf(locked.id), { failing: true, exhausted: 1 });
  assert.deepEqual(await healthOf(late.id), { failing: true, exhausted: 1 });
});

test('an update that leaves the outcomes to another process does not know where they begin', async () => {
  const { id } = await makeWebhook();
  await recordNew(database, exhausted(id));
  await database.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(70420014)`.execute(tx);
    assert.equal((await updateWebhookHealth(database, 5)).floor, null);
  });
  assert.equal(await outcomesLeft(), 1);
  await updateWebhookHealth(database, 5);
  assert.equal(await outcomesLeft(), 0);
});

test('a webhook whose owner cannot be notified, because its app is locked, keeps back no others', async () => {
  const [stuck, free] = [await makeWebhook(), await makeWebhook()];
  await recordNew(database, exhausted(stuck.id), exhausted(free.id));
  await database.transaction().execute(async (tx) => {
    await sql`
      select from apps where id = (select app_id from webhooks where id = ${stuck.id}) for update
    `.execute(tx);
    const { failures } = await updateWebhookHealth(database, 5);
    assert.deepEqual(
      failures.map(({ webhookId, code }) => [webhookId, code]),
      [[stuck.id, '55P03']],
    );
    assert.deepEqual(await healthOf(free.id), { failing: true, exhausted: 1 });
    assert.deepEqual(await healthOf(stuck.id), { failing: false, exhausted: 0 });
  });
  assert.deepEqual((await updateWebhookHealth(database, 5)).failures, []);
  assert.deepEqual(await healthOf(stuck.id), { failing: true, exhausted: 1 });
});

test('a webhook whose update takes too long keeps back no others', async (t) => {
  const [large, small] = [await makeWebhook(), await makeWebhook()];
  await sql
    .raw(`
      create function wait_long() returns trigger language plpgsql as $$ begin perform pg_sleep(10); return new; end $$;
      create trigger wait_long before insert on webhook_health for each row
      when (new.webhook_id = '${large.id}') execute function wait_long();
    `)
    .execute(database);
  t.after(() => sql`drop function wait_long cascade`.execute(database));
  const impatient = openDatabase(service.connection, {
    applicationName: 'test',
    statementTimeoutMs: 3_000,
  });
  t.after(() => impatient.destroy());
  await recordNew(database, retry(large.id), retry(small.id));
  const { failures } = await updateWebhookHealth(impatient, 5);
  assert.deepEqual(
    failures.map(({ webhookId, code }) => [webhookId, code]),
    [[large.id, '57014']],
  );
  assert.equal((await healthOf(small.id)).failing, true);
  await sql`delete from webhook_outcomes`.execute(database);
});

test('what happened before a webhook was activated or moved does not count against it', async () => {
  for (const change of [{ active: true }, { url: 'https://example.org/new' }]) {
    const { id, key } = await makeWebhook();
    await recordNew(database, exhausted(id, 410));
    await service.call(`/webhooks/${id}`, { method: 'PATCH', key, json: change });
    assert.deepEqual((await updateWebhookHealth(database, 5)).deactivated, []);
  }
});

test("a locked webhook's outcomes keep back no others, however many there are", async () => {
  const [locked, free] = [await makeWebhook(), await makeWebhook()];
  const backlog = Array.from({ length: 1_200 }, () => ({ webhookId: locked.id, verdict: 'retry' }));
  await note(...backlog, { webhookId: free.id, verdict: 'failed' });
  await database.transaction().execute(async (tx) => {
    await sql`select from webhooks where id = ${locked.id} for no key update`.execute(tx);
    await updateWebhookHealth(database, 5);
    assert.deepEqual(await healthOf(free.id), { failing: true, exhausted: 1 });
    assert.equal(await outcomesLeft(), 1_200);
  });
  while ((await updateWebhookHealth(database, 5)).more);
  assert.deepEqual(
    [await outcomesLeft(), await healthOf(locked.id)],
    [0, { failing: true, exhausted: 0 }],
  );
});

test('more outcomes than one call takes are left for the next, and the order holds', async () => {
  const { id } = await makeWebhook();
  const outcomes = Array.from({ length: 600 }, () => ({ webhookId: id, verdict: 'retry' }));
  await note(...outcomes, { webhookId: id, verdict: 'succeeded' });
  assert.equal((await updateWebhookHealth(database, 5)).more, true);
  assert.equal((await healthOf(id)).failing, true);
  assert.equal((await updateWebhookHealth(database, 5)).more, false);
  assert.equal((await healthOf(id)).failing, false);
});

test('the outcomes of a deleted webhook are dropped', async () => {
  const { id } = await makeWebhook();
  await recordNew(database, exhausted(id));
  await sql`delete from webhooks where id = ${id}`.execute(database);
  const { floor, ...updated } = await updateWebhookHealth(database, 1);
  assert.deepEqual(updated, {
    deactivated: [],
    healed: [],
    more: false,
    failures: [],
  });
  assert.notEqual(floor, null);
  assert.equal(await outcomesLeft(), 0);
});

/** Row changes so far, of all sessions whose statistics have arrived; so let there be no other. */
async function countChanges(session: Database): Promise<number> {
  await sql`select pg_stat_force_next_flush()`.execute(session);
  const { rows } = await sql<{ changes: number }>`
    select sum(n_tup_ins + n_tup_upd + n_tup_del)::int as changes from pg_stat_user_tables
    where relname in ('pending_deliveries', 'webhook_outcomes', 'webhook_health', 'webhooks')
  `.execute(session);
  return rows[0]?.changes ?? 0;
}

test('each attempt of a webhook that fails every other time changes few rows, however many of its deliveries wait', async (t) => {
  const { connection } = await openTestDatabase();
  const session = openDatabase(connection, { applicationName: 'test', poolSize: 1 });
  t.after(() => session.destroy());
  const { appId } = await makeKey({ database: session });
  const { rows } = await sql<{ id: string }>`
    insert into webhooks (id, app_id, url, secret) values (uuid_v7(), ${appId}, 'https://example.org/', '') returning id
  `.execute(session);
  const id = rows[0]?.id ?? '';
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at, parked)
    select uuid_v7(), uuid_v7(), 'org.created', ${id}, 'event', queue_now(), true from generate_series(1, 9500)
  `.execute(session);
  const before = await countChanges(session);
  for (let turn = 0; turn < 5; turn += 1) {
    const { leased } = await claimParked(session, newLease(), new Map([[id, 8]]));
    assert.equal(leased.length, 8);
    const attempts = leased.map((one, index) =>
      attemptOf(one, index % 2 ? succeeded : { verdict: { kind: 'retry', waitMs: 3_600_000 } }),
    );
    assert.equal((await recordAttempts(session, attempts)).recorded.length, 8);
    await updateWebhookHealth(session, 5);
  }
  const changes = (await countChanges(session)) - before;
  assert.ok(changes > 0 && changes <= 5 * 40, `${changes} changes for 40 attempts`);
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
    const delivery = await insertLeased(database, webhook.id, {
      id: deliveryId,
      number,
      cycleAttempt: earlier.length + 1,
    });
    await recordAttempts(database, [attemptOf(delivery, { ...failed, ...last })]);
    await updateWebhookHealth(database, 5);
    const { body } = await service.call(`/webhooks/${webhook.id}`, { key: webhook.key });
    assert.equal(body.data.deactivatedReason, expected);
    const { rows } = await sql<{ reason: string; status_code: number; error: string | null }>`
      select reason, status_code, error from operational_events
      where webhook_id = ${webhook.id} and kind = 'webhook.deactivated'
    `.execute(database);
    assert.deepEqual(rows, expected ? [{ reason: expected, status_code: 410, error: null }] : []);
  });
}

test('a 410 from before a webhook was activated or moved does not make a later time-out gone', async () => {
  for (const change of [{ active: true }, { url: 'https://example.org/new' }]) {
    const { id, key } = await makeWebhook();
    const delivery = await insertLeased(database, id, { number: 2, cycleAttempt: 2 });
    await sql`
      insert into attempts (delivery_id, number, trigger, started_at, duration_ms, status_code)
      values (${delivery.id}, 1, 'event', now(), 1, 410)
    `.execute(database);
    await service.call(`/webhooks/${id}`, { method: 'PATCH', key, json: change });
    const timedOut = { ...failed, statusCode: null, error: 'timeout' } as const;
    await recordAttempts(database, [attemptOf(delivery, timedOut)]);
    await updateWebhookHealth(database, 5);
    const { body } = await service.call(`/webhooks/${id}`, { key });
    assert.equal(body.data.active, true, JSON.stringify(change));
    assert.equal(body.data.exhaustedInARow, 1, 'it failed, as after any other response');
  }
});

test('concurrent processes audit each deactivation once, and tell owners of it and of the failure before once', async () => {
  const webhooks = await Promise.all(Array.from({ length: 6 }, makeWebhook));
  const paused = await makeWebhook();
  const json = { active: false };
  await service.call(`/webhooks/${paused.id}`, { method: 'PATCH', key: paused.key, json });
  const ids = webhooks.map(({ id }) => id).sort();
  const entries = async () => {
    const filter = { actor: 'system', action: 'webhook.deactivated', appId: null, since: null };
    const found = await listAudit(database, { ...filter, subjectId: null, limit: 1_000 });
    return found
      .filter(({ subject }) => [...ids, paused.id].includes(subject.id ?? ''))
      .map(({ actor, subject, details }) => ({ actor, id: subject.id, details }))
      .toSorted((a, b) => Number(a.id! > b.id!) - Number(a.id! < b.id!));
  };

  // One batch with both would tell only of the deactivation.
  await updateHealth(...ids.map((id) => exhausted(id)));
  const batch = [
    ...ids.slice(0, 3).map((id) => exhausted(id, 410)),
    ...ids.slice(3).map((id) => exhausted(id)),
    exhausted(paused.id, 410),
  ];
  await Promise.all(Array.from({ length: 10 }, () => updateHealth(...batch)));
  while ((await updateWebhookHealth(database, 5)).more);
  assert.deepEqual(
    await entries(),
    ids.map((id, index) => ({
      actor: { kind: 'system', id: null, name: 'delivery worker' },
      id,
      details: { reason: index < 3 ? 'gone' : 'failing', host: 'example.org' },
    })),
  );
  const { rows } = await sql<{ id: string; kinds: string[] }>`
    select webhook_id as id, array_agg(kind order by id) as kinds from operational_events
    where webhook_id = any(${[...ids, paused.id]}::uuid[]) group by webhook_id order by webhook_id
  `.execute(database);
  assert.deepEqual(
    rows,
    ids.map((id) => ({ id, kinds: ['webhook.failing', 'webhook.deactivated'] })),
  );
});

test('health keeps how long the last attempt took, and an interrupted one says nothing about it', async () => {
  const { id } = await makeWebhook();
  const latency = async () => {
    const { rows } = await sql<{ latencyMs: number | null }>`
      select latency_ms as "latencyMs" from webhook_health where webhook_id = ${id}
    `.execute(database);
    return rows[0]?.latencyMs;
  };
  await updateHealth({ webhookId: id, ...succeeded, durationMs: 1_200 });
  assert.equal(await latency(), 1_200);
  await updateHealth(retry(id, { durationMs: 70 }), retry(id, { durationMs: 30 }));
  assert.equal(await latency(), 30);
  await note({ webhookId: id, verdict: 'retry' });
  await updateWebhookHealth(database, 5);
  assert.equal(await latency(), 30);
});
