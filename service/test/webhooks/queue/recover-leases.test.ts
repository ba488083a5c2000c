import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { sql } from '../../../src/database/database.ts';
import { onSetAside, type SetAside } from '../../../src/events/set-aside.ts';
import {
  recoverLeases,
  type RecoveryOptions,
} from '../../../src/webhooks/queue/record/recover-leases.ts';
import { recordAttempts } from '../../../src/webhooks/queue/record/record.ts';
import { systemClock } from '../../../src/webhooks/sending/clock.ts';
import { unsent, type RecordedAttempt } from '../../../src/webhooks/sending/deliver.ts';
import { openTestDatabase } from '../../support/database.ts';
import { claimWith } from '../../support/queue-steps.ts';

const { database } = await openTestDatabase();
const aside: SetAside[] = [];
onSetAside((row) => aside.push(row));
const recover = (options: Partial<RecoveryOptions> = {}) =>
  recoverLeases(database, { backoff: { baseMs: 1, factor: 1 }, ...options });

/** A delivery of `daysAgo`, its lease over for `overSeconds`. */
async function insertLeased(
  daysAgo: number,
  overSeconds: number,
  token: string = randomUUID(),
  seconds = 30,
): Promise<{ id: string; token: string }> {
  const { rows } = await sql<{ id: string; token: string }>`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, cycle_attempts, attempt_count,
      due_at, lease_token, leased_at)
    select uuid_v7(now() - ${daysAgo} * interval '1 day'), uuid_v7(), 'org.created', uuid_v7(), 'redelivery', 1, 1, until,
      ${token}, until - ${seconds} * interval '1 second'
    from (select queue_now() - ${overSeconds} * interval '1 second' as until) as given
    returning id, lease_token as token
  `.execute(database);
  const [row] = rows;
  assert.ok(row);
  return row;
}

async function clear(): Promise<void> {
  await sql`delete from pending_deliveries`.execute(database);
}

/** Refuses attempts of deliveries whose leases took 400 s, as invalid, and those of 500 s for want of space. */
await sql`
  create function refuse_attempt() returns trigger language plpgsql as $$
  begin
    if new.duration_ms = 400000 then raise exception 'out of range' using errcode = '22003', detail = new.delivery_id; end if;
    if new.duration_ms >= 500000 then raise exception 'disk full' using errcode = '53100', detail = new.delivery_id; end if;
    return new;
  end $$
`.execute(database);
await sql`
  create trigger refuse before insert on attempts for each row execute function refuse_attempt()
`.execute(database);

test('a lease that cannot be recorded now is reported and does not block later ones', async () => {
  const stuck = await insertLeased(0, 20, randomUUID(), 500);
  const fine = await insertLeased(0, 10);
  const { recorded, failures } = await recover();
  assert.deepEqual(
    recorded.map(({ delivery }) => delivery.id),
    [fine.id],
  );
  assert.deepEqual(
    failures.map(({ leaseToken, deliveries, code }) => ({ leaseToken, deliveries, code })),
    [{ leaseToken: stuck.token, deliveries: 1, code: '53100' }],
  );
  assert.deepEqual(aside, [], 'it is not its fault');
  assert.ok(!JSON.stringify(failures).includes(stuck.id), 'no row is shown');
  const next = await insertLeased(0, 5);
  const again = await recover();
  assert.deepEqual(
    again.recorded.map(({ delivery }) => delivery.id),
    [next.id],
  );
  assert.deepEqual(again.failures, [], 'it is not tried again at once');
  await sql`
    update pending_deliveries set due_at = queue_now() - interval '1 second' where lease_token is not null
  `.execute(database);
  assert.deepEqual(
    (await recover()).failures.map(({ leaseToken }) => leaseToken),
    [stuck.token],
    'but later',
  );
});

test('a delivery that PostgreSQL refuses is set aside, and the others of its process are recorded', async () => {
  await clear();
  const stuck = await insertLeased(0, 20, randomUUID(), 400);
  const fine = [await insertLeased(0, 10, stuck.token), await insertLeased(0, 10, stuck.token)];
  const { recorded, failures } = await recover();
  assert.deepEqual(
    recorded.map(({ delivery }) => delivery.id).sort(),
    fine.map(({ id }) => id).sort(),
  );
  assert.deepEqual(failures, []);
  assert.deepEqual(
    aside.map(({ deliveryId, stage, code, reason }) => ({ deliveryId, stage, code, reason })),
    [
      {
        deliveryId: stuck.id,
        stage: 'leases',
        code: '22003',
        reason: 'out of range (attempt 1: retry, interrupted)',
      },
    ],
  );
});

test('a day without partitions gets them when a lease of it is recorded', async () => {
  await clear();
  const late = await insertLeased(400, 20);
  const { recorded } = await recover();
  assert.deepEqual(
    recorded.map(({ delivery }) => delivery.id),
    [late.id],
  );
});

test('an attempt is interrupted from the beginning of its lease to its end, and retried', async () => {
  await clear();
  const { id } = await insertLeased(0, 10);
  await recover();
  const { rows } = await sql<Record<string, unknown>>`
    select a.error, a.duration_ms as "durationMs", a.trigger, p.attempt_count as attempts, p.lease_token as token, p.parked
    from attempts a join pending_deliveries p on p.id = a.delivery_id where a.delivery_id = ${id}
  `.execute(database);
  assert.deepEqual(rows, [
    {
      error: 'interrupted',
      durationMs: 3e4,
      trigger: 'redelivery',
      attempts: 1,
      token: null,
      parked: false,
    },
  ]);
});

test('a lease that has not ended stays', async () => {
  await clear();
  await insertLeased(0, -60);
  const { recorded, failures, more } = await recover();
  assert.deepEqual({ recorded, failures, more }, { recorded: [], failures: [], more: false });
});

test('a look begins where the last one that found nothing ended', async () => {
  await clear();
  await insertLeased(0, 10);
  assert.equal((await recover()).floor, null, 'what it found may not have been recorded');
  const { floor: since } = await recover();
  await insertLeased(0, 60);
  assert.deepEqual((await recover({ since })).recorded, []);
  // The transaction that gave it, or another process's attempt to record it, may have ended after the look.
  const lease = await insertLeased(0, 10);
  const { recorded } = await recover({ since });
  assert.deepEqual(
    recorded.map(({ delivery }) => delivery.id),
    [lease.id],
  );
});

test('processes that find the same leases count each attempt once', async () => {
  await clear();
  const token = randomUUID();
  const leases = [];
  for (let index = 0; index < 20; index += 1)
    leases.push(await insertLeased(0, 10, index % 2 ? token : randomUUID()));
  const found = await Promise.all([recover(), recover(), recover(), recover()]);
  assert.deepEqual(
    found.flatMap(({ recorded }) => recorded.map(({ delivery }) => delivery.id)).sort(),
    leases.map(({ id }) => id).sort(),
  );
  assert.deepEqual((await recover()).recorded, []);
});

test('more leases than one call takes are left for the next', async () => {
  await clear();
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, cycle_attempts, attempt_count,
      due_at, lease_token, leased_at)
    select uuid_v7(), uuid_v7(), 'org.created', uuid_v7(), 'event', 1, 1, queue_now() - interval '1 minute',
      ${randomUUID()}, queue_now() - interval '2 minutes'
    from generate_series(1, 600)
  `.execute(database);
  const first = await recover();
  assert.deepEqual([first.recorded.length, first.more], [512, true]);
  const second = await recover();
  assert.deepEqual([second.recorded.length, second.more], [88, false]);
});

test('a lease that was put back and taken again is not recorded as interrupted', async () => {
  await clear();
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at)
    values (uuid_v7(), uuid_v7(), 'org.created', uuid_v7(), 'event', queue_now())
  `.execute(database);
  const claim = async () => {
    const [leased] = (await claimWith(database)).leased;
    assert.ok(leased);
    return unsent(leased, { kind: 'postponed', waitMs: 0, park: false }, systemClock);
  };
  const first = await claim();
  assert.equal((await recordAttempts(database, [first])).recorded.length, 1);
  const second = await claim();
  assert.equal(second.delivery.number, first.delivery.number);
  // As a recovery does that saw the first lease expired, a moment before it was put back.
  const interrupted: RecordedAttempt = {
    ...first,
    error: 'interrupted',
    verdict: { kind: 'retry', waitMs: 1 },
  };
  assert.deepEqual((await recordAttempts(database, [interrupted])).recorded, []);
  assert.equal((await recordAttempts(database, [second])).recorded.length, 1);
});
