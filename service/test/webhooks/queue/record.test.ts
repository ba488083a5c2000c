/** Tests how attempts are recorded: once, by the holder of the lease only, and without locking a webhook. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { v7 as uuidv7 } from 'uuid';
import { sql } from '../../../src/database/database.ts';
import { loadDeliveries } from '../../../src/webhooks/queue/dispatch/load-deliveries.ts';
import { recordAttempts } from '../../../src/webhooks/queue/record/record.ts';
import { recoverLeases } from '../../../src/webhooks/queue/record/recover-leases.ts';
import { updateWebhookHealth } from '../../../src/webhooks/queue/health/update-webhook-health.ts';
import type { RecordedAttempt } from '../../../src/webhooks/sending/deliver.ts';
import { countRows } from '../../support/count-rows.ts';
import { announce, put } from '../../support/directory.ts';
import {
  attemptOf,
  attemptsMade,
  claimWith,
  endLeases,
  failed,
  fanOutToQueue,
  fanOutWith,
  insertLeased,
  newLease,
  succeeded,
} from '../../support/queue-steps.ts';
import { startTestService } from '../../support/service.ts';

// No worker runs: the tests call each step themselves.
const service = await startTestService();
const { database } = service;
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
const backoff = { baseMs: 1, factor: 1 };
const record = async (...attempts: RecordedAttempt[]) =>
  (await recordAttempts(database, attempts)).recorded;

async function register(): Promise<string> {
  const json = { url: 'https://example.org/' };
  return (await service.call('/webhooks', { method: 'POST', json })).body.data.id;
}

async function clear(): Promise<void> {
  await sql`delete from pending_deliveries`.execute(database);
  await sql`delete from webhooks`.execute(database);
  await sql`delete from webhook_outcomes`.execute(database);
}

async function setDue(): Promise<void> {
  await sql`update pending_deliveries set due_at = now() - interval '1 hour'`.execute(database);
}

const ids = (attempts: RecordedAttempt[]) => attempts.map(({ delivery }) => delivery.id);

type Row = Record<string, unknown>;

async function pendingOf(id: string): Promise<Row[]> {
  const { rows } = await sql<Row>`
    select trigger, attempt_count as attempts, cycle_attempts as cycle, parked, lease_token as token,
      (extract(epoch from created_at) * 1000)::float8 as "createdAtMs", due_at > queue_now() + interval '50 minutes' as later
    from pending_deliveries where id = ${id}
  `.execute(database);
  return rows;
}

async function endedOf(id: string): Promise<Row[]> {
  const { rows } = await sql<Row>`
    select status, cancelled_by as by, attempt_count as attempts,
      (extract(epoch from created_at) * 1000)::float8 as "createdAtMs"
    from deliveries where id = ${id}
  `.execute(database);
  return rows;
}

async function notedOf(webhookId: string): Promise<Row[]> {
  const { rows } = await sql<Row>`
    select verdict, status_code as status, error, gone from webhook_outcomes where webhook_id = ${webhookId} order by seq
  `.execute(database);
  return rows;
}

test('a process that wakes after its lease was taken back records nothing', async () => {
  await clear();
  await register();
  await announce(database);
  const [frozen] = (await fanOutWith(database)).leased;
  assert.ok(frozen);
  await endLeases(database);
  const { recorded } = await recoverLeases(database, { backoff });
  assert.deepEqual(ids(recorded), [frozen.id]);
  assert.deepEqual(await record(attemptOf(frozen, succeeded)), []);
  assert.deepEqual(await attemptsMade(database, frozen.id), [{ number: 1, error: 'interrupted' }]);
  assert.equal((await pendingOf(frozen.id)).length, 1, 'the delivery goes on');
  assert.deepEqual(await notedOf(frozen.webhookId), []);
});

test('a late attempt is told from the one that replaced it, also in one batch', async () => {
  await clear();
  await register();
  await announce(database);
  const [late] = (await fanOutWith(database)).leased;
  assert.ok(late);
  await endLeases(database);
  await recoverLeases(database, { backoff });
  await setDue();
  const [fresh] = (await claimWith(database)).leased;
  assert.ok(fresh);
  const lateAttempt = attemptOf(late);
  assert.deepEqual(await record(lateAttempt), []);
  assert.deepEqual(
    (await record(lateAttempt, attemptOf(fresh, succeeded))).map(({ delivery }) => delivery.number),
    [2],
  );
  assert.deepEqual(await attemptsMade(database, fresh.id), [
    { number: 1, error: 'interrupted' },
    { number: 2, error: null },
  ]);
});

test('an attempt that is recorded twice counts once', async () => {
  const attempt = attemptOf(await insertLeased(database, uuidv7()), succeeded);
  const both = await Promise.all([record(attempt), record(attempt)]);
  assert.equal(both.flat().length, 1);
  assert.equal((await attemptsMade(database, attempt.delivery.id)).length, 1);
});

test('crashes never cause a seventh attempt, and do not affect health', async () => {
  await clear();
  const webhook = await register();
  await announce(database);
  await fanOutToQueue(database);
  let id = '';
  for (let crash = 1; crash <= 6; crash += 1) {
    await setDue();
    const [delivery] = (await claimWith(database)).leased;
    assert.equal(delivery?.number, crash);
    id = delivery?.id ?? '';
    await endLeases(database);
    await recoverLeases(database, { backoff });
  }
  assert.equal((await claimWith(database)).leased.length, 0);
  assert.equal((await endedOf(id))[0]?.['status'], 'failed');
  assert.equal((await attemptsMade(database, id)).length, 6);
  assert.deepEqual(await notedOf(webhook), []);
});

const createdAtMs = Date.now() - 60_000;
const insertOld = () =>
  insertLeased(database, uuidv7(), {
    number: 9,
    cycleAttempt: 3,
    trigger: 'redelivery',
    createdAtMs,
  });

test('a retry goes back to waiting, with its attempts, its trigger and its age', async () => {
  const delivery = await insertOld();
  await record(attemptOf(delivery, { verdict: { kind: 'retry', waitMs: 3_600_000 } }));
  assert.deepEqual(await pendingOf(delivery.id), [
    {
      trigger: 'redelivery',
      attempts: 9,
      cycle: 3,
      parked: false,
      token: null,
      createdAtMs,
      later: true,
    },
  ]);
  assert.deepEqual(await attemptsMade(database, delivery.id), [{ number: 9, error: null }]);
  assert.deepEqual(await endedOf(delivery.id), []);
});

for (const park of [false, true]) {
  test(`a delivery that is postponed${park ? ' and parked' : ''} counts no attempt`, async () => {
    const delivery = await insertOld();
    const verdict = { kind: 'postponed', waitMs: 3_600_000, park } as const;
    await record(attemptOf(delivery, { statusCode: null, verdict }));
    assert.deepEqual(await pendingOf(delivery.id), [
      {
        trigger: 'redelivery',
        attempts: 8,
        cycle: 2,
        parked: park,
        token: null,
        createdAtMs,
        later: true,
      },
    ]);
    assert.deepEqual(await attemptsMade(database, delivery.id), []);
    assert.deepEqual(await notedOf(delivery.webhookId), []);
  });
}

for (const [verdict, expected, attempts] of [
  [{ kind: 'succeeded' }, { status: 'succeeded', by: null, attempts: 9 }, 1],
  [{ kind: 'failed' }, { status: 'failed', by: null, attempts: 9 }, 1],
  [{ kind: 'given_up' }, { status: 'failed', by: null, attempts: 8 }, 0],
  [
    { kind: 'cancelled', by: 'deactivation' },
    { status: 'cancelled', by: 'deactivation', attempts: 8 },
    0,
  ],
  [
    { kind: 'cancelled', by: 'permission' },
    { status: 'cancelled', by: 'permission', attempts: 8 },
    0,
  ],
  [{ kind: 'cancelled', by: 'deletion' }, { status: 'cancelled', by: 'deletion', attempts: 8 }, 0],
] as const) {
  const cause = 'by' in verdict ? ` by ${verdict.by}` : '';
  test(`a delivery that is ${verdict.kind}${cause} ends with ${attempts} more attempts`, async () => {
    const delivery = await insertOld();
    await record(attemptOf(delivery, { verdict }));
    assert.deepEqual(await endedOf(delivery.id), [{ ...expected, createdAtMs }]);
    assert.deepEqual(await pendingOf(delivery.id), []);
    assert.equal((await attemptsMade(database, delivery.id)).length, attempts);
    assert.equal((await notedOf(delivery.webhookId)).length, attempts);
  });
}

test('a batch stores each response and cause with its own attempt', async () => {
  const leaseToken = randomUUID();
  const webhookId = uuidv7();
  const responses = [
    {
      errorCause: null,
      responseHeaders: Buffer.from('a: 1'),
      responseBody: Buffer.from([0, 255, 92]),
    },
    { errorCause: 'certificate_expired', responseHeaders: null, responseBody: null },
    { errorCause: null, responseHeaders: Buffer.from(''), responseBody: Buffer.from('end') },
  ] as const;
  const attempts: RecordedAttempt[] = [];
  for (const response of responses)
    attempts.push(attemptOf(await insertLeased(database, webhookId, { leaseToken }), response));
  await record(...attempts);
  for (const [index, { delivery }] of attempts.entries()) {
    const { rows } = await sql<Row>`
      select error_cause as "errorCause", response_headers as "responseHeaders", response_body as "responseBody" from attempts
      where delivery_id = ${delivery.id}
    `.execute(database);
    assert.deepEqual(rows, [responses[index]]);
  }
});

test('outcomes are noted in the order of the batch, without those of tests and interruptions', async () => {
  const leaseToken = randomUUID();
  const webhookId = uuidv7();
  const insert = (more = {}) => insertLeased(database, webhookId, { leaseToken, ...more });
  await record(
    attemptOf(await insert(), succeeded),
    attemptOf(await insert({ trigger: 'test' }), failed),
    attemptOf(await insert(), { statusCode: null, error: 'interrupted', ...failed }),
    attemptOf(await insert(), { statusCode: null, error: 'timeout' }),
    attemptOf(await insert(), { statusCode: 410, ...failed }),
    attemptOf(await insert(), { statusCode: 410 }),
  );
  assert.deepEqual(await notedOf(webhookId), [
    { verdict: 'succeeded', status: 200, error: null, gone: false },
    { verdict: 'retry', status: null, error: 'timeout', gone: false },
    { verdict: 'failed', status: 410, error: null, gone: true },
    { verdict: 'retry', status: 410, error: null, gone: false },
  ]);
});

test('a 410 from where a webhook has moved away says nothing of the webhook', async () => {
  await clear();
  const webhookId = await register();
  const delivery = await insertLeased(database, webhookId);
  const old = { ...delivery, url: 'https://old.example.org/' };
  await record(attemptOf(old, { statusCode: 410, ...failed }));
  assert.deepEqual(await notedOf(webhookId), []);
  assert.equal((await endedOf(delivery.id)).length, 1);
});

test('an attempt is recorded while its webhook is locked', async () => {
  await clear();
  const webhook = await register();
  const delivery = await insertLeased(database, webhook);
  await database.transaction().execute(async (tx) => {
    await sql`select from webhooks where id = ${webhook} for update`.execute(tx);
    assert.equal((await record(attemptOf(delivery, failed))).length, 1);
  });
  assert.equal((await endedOf(delivery.id)).length, 1);
});

test('processes that record for the same webhooks do not disturb each other', async () => {
  await clear();
  await Promise.all([register(), register(), register()]);
  for (let index = 0; index < 8; index += 1) await announce(database);
  await fanOutToQueue(database);
  const lease = newLease();
  const { leased } = await claimWith(database, { lease });
  assert.equal(leased.length, 24);
  const parts = [0, 1, 2, 3].map((part) => leased.filter((_, index) => index % 4 === part));
  await Promise.all(
    parts.map((part, index) =>
      record(...(index % 2 ? part.toReversed() : part).map((each) => attemptOf(each, succeeded))),
    ),
  );
  const { rows } = await sql<{ pending: number; succeeded: number }>`
    select (select count(*) from pending_deliveries) as pending,
      (select count(*) from deliveries where id = any(${leased.map(({ id }) => id)}::uuid[]) and status = 'succeeded') as succeeded
  `.execute(database);
  assert.deepEqual(rows, [{ pending: 0, succeeded: 24 }]);
});

for (const [name, codes, after, expected] of [
  ['a final 410 deactivates', [410, 200], 5, 'gone'],
  ['enough exhausted deliveries in a row deactivate', [500, 500, 200], 2, 'failing'],
  ['enough of them after a success deactivate', [500, 200, 500, 500, 200], 2, 'failing'],
  ['too few in a row do not', [500, 200, 500, 200], 2, null],
] as const) {
  test(`${name}, whatever follows in the same batch`, async () => {
    await clear();
    const webhook = await register();
    for (const _ of codes) await announce(database);
    await fanOutToQueue(database);
    const { leased } = await claimWith(database);
    const { deliverable } = await loadDeliveries(database, leased);
    await record(
      ...deliverable.map((delivery, index) => {
        const statusCode = codes[index] ?? 0;
        return attemptOf(delivery, {
          statusCode,
          verdict: { kind: statusCode === 200 ? 'succeeded' : 'failed' },
        });
      }),
    );
    await updateWebhookHealth(database, after);
    const { body } = await service.call(`/webhooks/${webhook}`);
    assert.equal(body.data.deactivatedReason, expected);
  });
}

test("a success is noted if it may change what is known of its webhook's health", async () => {
  await clear();
  const webhook = await register();
  const noted = async (...outcomes: (typeof succeeded | typeof failed)[]) => {
    const count = () => countRows(database, sql`webhook_outcomes where webhook_id = ${webhook}`);
    const before = await count();
    const attempts = [];
    for (const outcome of outcomes)
      attempts.push(attemptOf(await insertLeased(database, webhook), outcome));
    await recordAttempts(database, attempts);
    return (await count()) - before;
  };
  assert.equal(await noted(succeeded), 1, 'the first');
  assert.equal(await noted(succeeded), 0, 'a success waits to be added');
  await updateWebhookHealth(database, 5);
  await sql`
    update webhook_health set last_success_at = queue_now() + interval '1 minute' where webhook_id = ${webhook}
  `.execute(database);
  assert.equal(await noted(succeeded), 0, 'it succeeded a moment ago');
  assert.equal(await noted(failed), 1);
  assert.equal(await noted(succeeded), 1, 'after a failure that waits to be added');
  await updateWebhookHealth(database, 5);
  assert.equal(await noted(failed, succeeded), 2, 'after a failure in the same batch');
  await noted(failed);
  await updateWebhookHealth(database, 5);
  assert.equal(await noted(succeeded), 1, 'after a failure that was added');
  await updateWebhookHealth(database, 5);
  await sql`
    update webhook_health set last_success_at = queue_now() - interval '2 seconds', last_failure_at = null where webhook_id = ${webhook}
  `.execute(database);
  assert.equal(await noted(succeeded), 1, 'once a second');
});

test('what began under a clock that was 30 days ahead is recorded, and can be cancelled', async () => {
  const webhookId = await register();
  const ahead = Date.now() + 30 * 86_400_000;
  const delivery = await insertLeased(database, webhookId, { createdAtMs: ahead });
  await record(attemptOf(delivery, succeeded));
  assert.equal((await endedOf(delivery.id))[0]?.['status'], 'succeeded');
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at, created_at)
    values (uuid_v7(), uuid_v7(), 'org.created', ${webhookId}, 'event', now(), ${new Date(ahead)})
  `.execute(database);
  assert.equal((await service.call(`/webhooks/${webhookId}`, { method: 'DELETE' })).status, 200);
  await clear();
});
