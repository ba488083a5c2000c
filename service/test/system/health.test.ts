import { test } from 'node:test';
import { sql } from '../../src/database/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService } from '../support/service.ts';

// No worker runs here: what is due stays due.
const service = await startTestService();
const { database } = service;

const deliveries = async () =>
  (await service.call('/status')).body.data.components.deliveries as string;

async function queue(row: { state: 'waiting' | 'parked' | 'leased'; dueSecondsAgo: number }) {
  const isLeased = row.state === 'leased';
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at, parked, lease_token, leased_at)
    select uuid_v7(), uuid_v7(), 'org.created', uuid_v7(), 'event',
      queue_now() - ${row.dueSecondsAgo} * interval '1 second', ${row.state === 'parked'},
      case when ${isLeased} then gen_random_uuid() end, case when ${isLeased} then queue_now() end
  `.execute(database);
}

let passed = 0;

/** For the queue. */
async function passTime(seconds: number): Promise<void> {
  passed += seconds;
  await sql
    .raw(`
      create or replace function queue_now() returns timestamptz language sql parallel safe
      as $$ select clock_timestamp() + interval '${passed} seconds' $$
    `)
    .execute(database);
}

const waiting = {
  'an event': sql`
    insert into outbox (id, name, audience, data, created_at) values (uuid_v7(), 'org.created', 'global', '{}', queue_now())
  `,
  'an entry published by SQL': sql`
    insert into published_events (id, name, org_id, data, created_at)
    values (uuid_v7(), 'event.created', uuid_v7(), '{}', queue_now())
  `,
};
for (const [what, insert] of Object.entries(waiting))
  test(`deliveries are delayed if ${what} waits that nobody takes`, async () => {
    await eventually(async () => (await deliveries()) === 'ok');
    await insert.execute(database);
    await passTime(100);
    await eventually(async () => (await deliveries()) === 'delayed');
    await sql`insert into workers (id, seen_at, migration) values (uuid_v7(), queue_now(), 1)`.execute(
      database,
    );
    await eventually(async () => (await deliveries()) === 'ok');
    await sql`delete from workers`.execute(database);
    await eventually(async () => (await deliveries()) === 'delayed');
    await sql`delete from outbox`.execute(database);
    await sql`delete from published_events`.execute(database);
    await eventually(async () => (await deliveries()) === 'ok');
  });

test('deliveries are delayed if one waits that is neither leased nor parked', async () => {
  await queue({ state: 'leased', dueSecondsAgo: 1_000 });
  await queue({ state: 'parked', dueSecondsAgo: 1_000 });
  await queue({ state: 'waiting', dueSecondsAgo: 10 });
  await queue({ state: 'waiting', dueSecondsAgo: 1 });
  await passTime(100);
  await eventually(async () => (await deliveries()) === 'delayed');
  await sql`delete from pending_deliveries where lease_token is null and not parked`.execute(
    database,
  );
  // Those that are left are older, but one has an attempt in progress and the other waits for its webhook.
  await eventually(async () => (await deliveries()) === 'ok');
});
