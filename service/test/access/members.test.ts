/** Tests how processes share the limits of webhooks, and learn of webhooks that get no attempts. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { sql } from '../../src/database/database.ts';
import { Room, perWebhookMax } from '../../src/webhooks/queue/dispatch/room.ts';
import { joinWorkers, leaveWorkers } from '../../src/webhooks/queue/workers.ts';
import { openTestDatabase } from '../support/database.ts';

const { database } = await openTestDatabase();
const sorted = (count: number) => Array.from({ length: count }, () => randomUUID()).sort();

async function clear(): Promise<void> {
  await sql`delete from workers`.execute(database);
  await sql`delete from webhook_outcomes`.execute(database);
}

async function joinAll(ids: string[]): Promise<[number, number][]> {
  const members: [number, number][] = [];
  for (const id of ids) {
    const { place, workers } = await joinWorkers(database, id);
    members.push([place, workers]);
  }
  return members;
}

test('each process has a place of its own among those that are alive', async () => {
  await clear();
  const ids = sorted(3);
  await joinAll(ids);
  assert.deepEqual(await joinAll(ids), [
    [0, 3],
    [1, 3],
    [2, 3],
  ]);
});

test('the row of a process that is gone, locked by another session, keeps none from joining', async () => {
  await clear();
  const [gone, id] = sorted(2) as [string, string];
  await joinAll([gone]);
  await sql`update workers set seen_at = seen_at - interval '2 minutes'`.execute(database);
  await database.transaction().execute(async (tx) => {
    await sql`select from workers for update`.execute(tx);
    const joining = joinWorkers(database, id).then(({ workers }) => workers);
    assert.equal(await Promise.race([joining, wait(5_000)]), 1);
  });
  await joinAll([id]);
  const { rows } = await sql`select id from workers`.execute(database);
  assert.deepEqual(rows, [{ id }]);
});

test('a process that leaves, or has not been seen for five seconds, has no share', async () => {
  await clear();
  const ids = sorted(4);
  await joinAll(ids);
  await leaveWorkers(database, ids[0] ?? '');
  await sql`update workers set seen_at = seen_at - interval '6 seconds' where id = ${ids[2]}`.execute(
    database,
  );
  assert.deepEqual(await joinAll([ids[1] ?? '', ids[3] ?? '']), [
    [0, 2],
    [1, 2],
  ]);
  await sql`update workers set seen_at = seen_at - interval '2 minutes' where id = ${ids[2]}`.execute(
    database,
  );
  await joinAll([ids[1] ?? '']);
  const { rows } = await sql<{ count: number }>`select count(*) as count from workers`.execute(
    database,
  );
  assert.deepEqual(rows, [{ count: 2 }], 'and is forgotten after a minute');
});

test('a webhook whose outcomes wait because another session has locked it is blocked', async () => {
  await clear();
  const [locked, late] = sorted(2);
  const app = randomUUID();
  await sql`insert into apps (id, name) values (${app}, 'App')`.execute(database);
  await sql`
    insert into webhooks (id, app_id, url, secret)
    select id, ${app}, 'https://example.org/', '' from unnest(${[locked, late]}::uuid[]) as w(id)
  `.execute(database);
  await sql`
    insert into webhook_outcomes (webhook_id, verdict, gone, recorded_at)
    select id, 'retry', false, queue_now() - interval '2 seconds' from unnest(${[locked, late]}::uuid[]) as w(id)
  `.execute(database);
  await database.transaction().execute(async (other) => {
    await sql`select from webhooks where id = ${locked} for update`.execute(other);
    const { blocked, isLate } = await joinWorkers(database, randomUUID());
    assert.deepEqual([blocked, isLate], [[locked], true]);
  });
  assert.deepEqual((await joinWorkers(database, randomUUID())).blocked, []);
  await sql`delete from webhook_outcomes`.execute(database);
  assert.equal((await joinWorkers(database, randomUUID())).isLate, false);
});

test("the shares of up to twelve processes add up to a webhook's limit, in SQL and here alike", async () => {
  const webhooks = sorted(50);
  const { rows } = await sql<{ id: string; place: number; workers: number; share: number }>`
    select id, place, workers, webhook_share(id::uuid, ${perWebhookMax}, place, workers) as share
    from unnest(${webhooks}::text[]) as w(id), generate_series(1, 12) as workers, generate_series(0, workers - 1) as place
  `.execute(database);
  const room = new Room({ timeoutMs: 10_000 });
  // A process leases ahead what such a webhook answers within 100 ms: as many as may be in flight.
  for (const webhookId of webhooks)
    room.release(room.take({ webhookId, owner: '', url: '', latencyMs: 100 }));
  const sums = new Map<string, number>();
  for (const { id, place, workers, share } of rows) {
    room.setShare(place, workers);
    // Half of what a quick webhook may have leased is in flight.
    assert.equal(room.leasable(id) / 2, share, `${id}: ${place} of ${workers}`);
    sums.set(`${id} ${workers}`, (sums.get(`${id} ${workers}`) ?? 0) + share);
  }
  assert.equal(sums.size, webhooks.length * 12);
  assert.deepEqual([...new Set(sums.values())], [perWebhookMax]);
});
