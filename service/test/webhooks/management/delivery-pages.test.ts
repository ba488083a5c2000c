import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../../src/database/database.ts';
import { listDeliveries } from '../../../src/webhooks/management/deliveries.ts';
import type { DeliveryFilter } from '../../../src/webhooks/management/delivery-filter.ts';
import { openTestDatabase } from '../../support/database.ts';

const { database } = await openTestDatabase();
const webhookId = '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f';
const otherId = '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e80';

/** Six an hour in every sixth hour of three days, every seventh still pending, every second of another webhook. */
await sql`select ensure_partitions(current_date - 3, current_date)`.execute(database);
await sql`
  with made as materialized (
    select n, uuid_v7(at) as id, at, case when n % 2 = 0 then ${webhookId}::uuid else ${otherId}::uuid end as webhook_id,
      case when n % 3 = 0 then 'org.created' else 'alliance.created' end as event
    from (select n, now() - n / 6 * interval '6 hours' - n * interval '1 second' as at from generate_series(1, 60) n) t
  ),
  pending as (
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at, created_at)
    select id, id, event, webhook_id, 'event', now() + interval '1 day', at from made where n % 7 = 0
  )
  insert into deliveries (id, event_id, event, webhook_id, status, attempt_count, created_at, completed_at)
  select id, id, event, webhook_id, case when n % 5 = 0 then 'failed' else 'succeeded' end, 1, at, at
  from made where n % 7 <> 0
`.execute(database);

async function allIds({ status, event }: DeliveryFilter): Promise<string[]> {
  const { rows } = await sql<{ id: string; status: string; event: string }>`
    select id, 'pending' as status, event from pending_deliveries where webhook_id = ${webhookId}
    union all select id, status, event from deliveries where webhook_id = ${webhookId}
    order by id desc
  `.execute(database);
  return rows
    .filter((row) => (status ?? row.status) === row.status && (event ?? row.event) === row.event)
    .map(({ id }) => id);
}

const filters: DeliveryFilter[] = [
  {},
  { status: 'pending' },
  { status: 'succeeded' },
  { status: 'failed', event: 'org.created' },
  { event: 'alliance.created' },
  // Callers that mean everything; the second is what Go and .NET have for no time.
  { since: '1970-01-01T00:00:00Z' },
  { since: '0001-01-01T00:00:00Z' },
];

for (const filter of filters)
  for (const limit of [1, 4, 7, 100])
    test(`pages of ${limit} hold each delivery once, newest first, with ${JSON.stringify(filter)}`, async () => {
      const expected = await allIds(filter);
      assert.ok(expected.length > 0);
      const found: string[] = [];
      const pages = Math.ceil(expected.length / limit);
      for (let page = 1; page <= pages; page += 1) {
        const query = { ...filter, page, limit };
        const { total, deliveries } = await listDeliveries(database, webhookId, query);
        assert.equal(total, expected.length);
        found.push(...deliveries.map(({ id }) => id));
      }
      assert.deepEqual(found, expected);
      const past = { ...filter, page: pages + 1, limit };
      assert.deepEqual(await listDeliveries(database, webhookId, past), {
        total: expected.length,
        deliveries: [],
      });
    });
