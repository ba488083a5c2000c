/** Inserts a past day of deliveries with their attempts, busier by day than by night. */
import { sql, type Database } from '../../service/src/database/database.ts';

export async function seedHistory(database: Database, webhookIds: string[]): Promise<void> {
  await sql`select ensure_partitions(current_date - 2, current_date)`.execute(database);
  await sql`
    with hour as (
      select n, now() - n * interval '1 hour' as at, (14 + 10 * sin(n / 3.8))::int as count
      from generate_series(1, 23) n
    ),
    event as (
      insert into events (id, name, audience, data, created_at, position)
      select uuid_v7(t.at), 'org.created', 'global', '{}', t.at, nextval('event_positions')
      from (
        select hour.at - i * interval '2 minutes' as at from hour, generate_series(1, hour.count) i
      ) t
      returning id, created_at
    ),
    delivery as (
      insert into deliveries (id, event_id, event, webhook_id, status, attempt_count, created_at, completed_at)
      select uuid_v7(created_at), id, 'org.created', (${sql.val(webhookIds)}::uuid[])[1 + n % ${webhookIds.length}::int],
        case when n % 17 = 3 then 'failed' else 'succeeded' end, 1, created_at, created_at + interval '90 ms'
      from (select event.*, row_number() over (order by id)::int as n from event) e
      returning id, webhook_id, status, created_at, 40 + (extract(epoch from created_at)::int % 7) * 23 as duration
    ),
    -- The worker adds what it delivers itself.
    stats as (
      insert into webhook_stats (webhook_id, hour, status, bucket, deliveries)
      select webhook_id, date_trunc('hour', created_at), status,
        case when status = 'succeeded' then latency_bucket(duration) else 0 end, count(*)
      from delivery group by 1, 2, 3, 4
    )
    insert into attempts (delivery_id, number, trigger, started_at, duration_ms, status_code, response_headers, response_body)
    select id, 1, 'event', created_at, duration,
      case when status = 'failed' then 500 else 200 end, convert_to('{}', 'UTF8'), convert_to('', 'UTF8')
    from delivery
  `.execute(database);
}
