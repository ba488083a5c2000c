/** Looks whether there is work of which this process was not notified, in one short statement. */
import { arrayLiteral } from '../../database/array-literal.ts';
import { subscribableEvents } from '../../events/catalogue.ts';
import { sql, type Database } from '../../database/database.ts';

/** Any process takes what has waited for this long: the leader is full, frozen or gone, or has too much to do. */
export const leftMs = 250;

type Work = {
  /** Whether events at or above the floor wait for fan-out, at least for `minAgeMs`, or a broadcast for its next slice. */
  events: boolean;
  /** Whether entries published by SQL wait at or above their floor. */
  published: boolean;
  /** The `xid` below which no event waits. */
  eventsFloor: string;
  /** The `xid` below which no entry waits. */
  publishedFloor: string;
};

export async function findWork(
  database: Database,
  floors: { events: string; published: string },
  minAgeMs: number,
): Promise<Work> {
  const { rows } = await sql<Work>`
    -- prepared: find_work
    with event as materialized (
      select xid, created_at from outbox where xid >= ${floors.events}::xid8 order by xid limit 1
    ),
    entry as materialized (
      select xid from published_events
      -- An event that only a newer version knows waits for that version.
      where rejected_at is null and name = any(${arrayLiteral(subscribableEvents)}::text[]) and xid >= ${floors.published}::xid8
      order by xid limit 1
    )
    select
      -- One from the future is from before the database's clock was put back.
      exists (select from event
        where created_at not between queue_now() - ${minAgeMs}::int * interval '1 millisecond' and queue_now())
        or exists (select from broadcasts
          where advanced_at not between queue_now() - ${leftMs}::int * interval '1 millisecond' and queue_now()) as events,
      exists (select from entry) as published,
      -- All transactions below the snapshot's xmin have ended, so nothing new can appear there.
      least((select xid from event), pg_snapshot_xmin(pg_current_snapshot()))::text as "eventsFloor",
      least((select xid from entry), pg_snapshot_xmin(pg_current_snapshot()))::text as "publishedFloor"
  `.execute(database);
  if (!rows[0]) throw new Error('the look returned nothing');
  return rows[0];
}
