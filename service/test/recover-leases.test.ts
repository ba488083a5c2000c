import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../src/database/database.ts';
import { recoverLeases } from '../src/webhooks/queue/recover-leases.ts';
import { openTestDatabase } from './support/database.ts';

const { database } = await openTestDatabase();
const recover = () => recoverLeases(database, { baseMs: 1, factor: 1 }, 5);

/** A delivery of `daysAgo`, its lease over for as many seconds. */
async function insertLeased(
  daysAgo: number,
  overSeconds: number,
): Promise<{ id: string; token: string }> {
  const { rows } = await sql<{ id: string; token: string }>`
    with given as materialized (
      select uuid_v7(now() - ${daysAgo} * interval '1 day') as id, gen_random_uuid() as token,
        queue_now() - ${overSeconds} * interval '1 second' as until
    ),
    pending as (
      insert into pending_deliveries (id, event_id, event, webhook_id, trigger, cycle_attempts, attempt_count,
        due_at, lease_token, leased_at)
      select id, uuid_v7(), 'org.created', uuid_v7(), 'redelivery', 1, 1, until, token,
        until - interval '30 seconds' from given
    ),
    lease as (insert into leases (token, delivery_ids, leased_until) select token, array[id], until from given)
    select id, token from given
  `.execute(database);
  const [row] = rows;
  assert.ok(row);
  return row;
}

test('a lease that cannot be recorded is reported and does not block later ones', async () => {
  // No partition takes its attempt, or it would be of a day that was never dropped.
  const stuck = await insertLeased(400, 20);
  const fine = await insertLeased(0, 10);
  const { recorded, failures } = await recover();
  assert.deepEqual(
    recorded.map(({ deliveryId }) => deliveryId),
    [fine.id],
  );
  assert.deepEqual(
    failures.map(({ leaseToken, code }) => ({ leaseToken, code })),
    [{ leaseToken: stuck.token, code: '23514' }],
  );
  assert.ok(!JSON.stringify(failures).includes(stuck.id), 'no row is shown');
  const next = await insertLeased(0, 5);
  const again = await recover();
  assert.deepEqual(
    again.recorded.map(({ deliveryId }) => deliveryId),
    [next.id],
  );
  assert.deepEqual(again.failures, [], 'it is not tried again at once');
  await sql`update leases set leased_until = queue_now() - interval '1 second'`.execute(database);
  assert.deepEqual(
    (await recover()).failures.map(({ leaseToken }) => leaseToken),
    [stuck.token],
    'but later',
  );
});

test('workers that find the same leases count each attempt once', async () => {
  await sql`delete from leases`.execute(database);
  const leases = [];
  for (let index = 0; index < 20; index += 1) leases.push(await insertLeased(0, 10));
  const found = await Promise.all([recover(), recover(), recover(), recover()]);
  assert.deepEqual(
    found.flatMap(({ recorded }) => recorded.map(({ deliveryId }) => deliveryId)).sort(),
    leases.map(({ id }) => id).sort(),
  );
  const { rows } = await sql`select from leases`.execute(database);
  assert.equal(rows.length, 0);
});

test('a lease with no delivery left is deleted and counts no attempt', async () => {
  const { id } = await insertLeased(0, 10);
  await sql`update pending_deliveries set lease_token = null, leased_at = null where id = ${id}`.execute(
    database,
  );
  assert.deepEqual(await recover(), { recorded: [], deactivated: [], failures: [] });
  const { rows } = await sql`select from leases`.execute(database);
  assert.equal(rows.length, 0);
});
