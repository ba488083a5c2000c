/**
 * Measures whether history slows the queue: throughput with no, one million and five million finished deliveries. Takes
 * about ten minutes and several gigabytes, so it is not part of the other benchmarks.
 */
import { sql } from '../service/src/database/database.ts';
import type { World } from './delivery-world.ts';
import type { Figure } from './figure.ts';
import { compareThroughput } from './measure-throughput.ts';

const sizes = [1_000_000, 5_000_000];
/** Spreads the history over the past days. */
const days = 5;
const deliveriesPerEvent = 100;
const rowsPerStatement = 100_000;

export async function measureGrowth(world: World): Promise<Figure[]> {
  const empty = await compareThroughput(world);
  console.error(`  0 finished: ${empty.share.toFixed(2)} of bare, ${empty.note}`);
  const figures: Figure[] = [];
  let seeded = 0;
  for (const size of sizes) {
    await seed(world, size - seeded);
    seeded = size;
    const { share, note } = await compareThroughput(world);
    figures.push({
      name: `throughput beside ${size.toLocaleString('en')} finished deliveries, times that beside none`,
      reached: share / empty.share,
      unit: '',
      asked: { atLeast: 0.9 },
      note,
    });
  }
  return figures;
}

async function seed({ database }: World, count: number): Promise<void> {
  await sql`select ensure_partitions(current_date - ${days}::int, current_date)`.execute(database);
  for (let done = 0; done < count; done += rowsPerStatement) {
    console.error(`  seeding ${done} of ${count}`);
    await sql`
      with webhook as materialized (select array_agg(id) as ids from webhooks),
      event as (
        insert into events (id, name, audience, data, created_at, position)
        select uuid_v7(at), 'org.created', 'global', ${'{"id":"x"}'}, at, nextval('event_positions')
        from (
          select now() - random() * ${days - 1} * interval '1 day' - interval '1 minute' as at
          from generate_series(1, ${rowsPerStatement / deliveriesPerEvent}::int)
        ) t
        returning id, created_at
      ),
      delivery as (
        insert into deliveries (id, event_id, event, webhook_id, status, attempt_count, created_at, completed_at)
        select uuid_v7(e.created_at), e.id, 'org.created', webhook.ids[n % cardinality(webhook.ids) + 1], 'succeeded', 1,
          e.created_at, e.created_at + interval '30 ms'
        from event e, generate_series(1, ${deliveriesPerEvent}::int) n, webhook
        returning id, created_at
      )
      insert into attempts (delivery_id, number, trigger, started_at, duration_ms, status_code, response_headers, response_body)
      select id, 1, 'event', created_at, 12, 200,
        convert_to('{"date":"Sat, 21 Nov 2026 12:00:00 GMT","connection":"keep-alive","keep-alive":"timeout=5","transfer-encoding":"chunked"}', 'UTF8'),
        convert_to('ok', 'UTF8')
      from delivery
    `.execute(database);
  }
  await sql`analyze`.execute(database);
}
