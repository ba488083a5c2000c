/** Looks whether there is work of which this process was not notified, in one short statement. */
import { arrayLiteral } from '../../database/array-literal.ts';
import { subscribableEvents } from '../../events/catalogue.ts';
import { sql, type Database } from '../../database/database.ts';

type Work = {
  /** Whether events at or above the floor wait for fan-out, at least for `minAgeMs`. */
  events: boolean;
  /** Whether entries published by SQL wait. */
  published: boolean;
  /** The `xid` below which no event waits; null if some do. */
  floor: string | null;
};

export async function findWork(database: Database, floor: string, minAgeMs: number): Promise<Work> {
  const { rows } = await sql<Work>`
    -- prepared: find_work
    with oldest as materialized (
      select created_at from outbox where xid >= ${floor}::xid8 order by xid limit 1
    )
    select
      -- Without a minimum age, a database whose clock was put back delays nothing.
      exists (select from oldest
        where ${minAgeMs}::int = 0 or created_at <= queue_now() - ${minAgeMs}::int * interval '1 millisecond') as events,
      -- An event that only a newer version knows waits for that version.
      exists (select from published_events where rejected_at is null and name = any(${arrayLiteral(subscribableEvents)}::text[])) as published,
      case when not exists (select from oldest) then pg_snapshot_xmin(pg_current_snapshot())::text end as floor
  `.execute(database);
  return rows[0] ?? { events: false, published: false, floor: null };
}
