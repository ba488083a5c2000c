import { test } from 'node:test';
import { sql } from '../src/database/database.ts';
import { eventually } from './support/eventually.ts';
import { startTestService } from './support/service.ts';

// No worker runs here: what is due stays due.
const service = await startTestService();
const { database } = service;

const deliveries = async () =>
  (await service.call('/status')).body.data.components.deliveries as string;

async function queue(row: { failing: boolean; leased: boolean; dueSecondsAgo: number }) {
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at, failing, lease_token, leased_at)
    select uuid_v7(), uuid_v7(), 'org.created', uuid_v7(), 'event',
      queue_now() - ${row.dueSecondsAgo} * interval '1 second', ${row.failing},
      case when ${row.leased} then gen_random_uuid() end, case when ${row.leased} then queue_now() end
  `.execute(database);
}

for (const failing of [false, true]) {
  test(`deliveries are late where the first that waits is, ${failing ? 'of failing webhooks too' : 'whatever is under way'}`, async () => {
    await sql`delete from pending_deliveries`.execute(database);
    await eventually(async () => (await deliveries()) === 'ok');
    await queue({ failing, leased: true, dueSecondsAgo: 1_000 });
    await queue({ failing, leased: false, dueSecondsAgo: 100 });
    await queue({ failing: !failing, leased: false, dueSecondsAgo: 1 });
    await eventually(async () => (await deliveries()) === 'delayed');
    await sql`delete from pending_deliveries where lease_token is null`.execute(database);
    // The one in progress is older, but does not count.
    await eventually(async () => (await deliveries()) === 'ok');
  });
}
