/**
 * What the platform published by SQL and is not an event yet: `orgdir.publish_event` writes it, `take-published.ts`
 * takes it in. What does not fit the catalogue stays here, with the reason, until retention drops it.
 */
import { cutText } from '../contract/cut-text.ts';
import { sql, type Database, type Executor, type Transaction } from '../database/database.ts';
import { deleteInBatches } from '../database/delete-in-batches.ts';
import { subscribableEvents, type EventName } from './catalogue.ts';
import type { EventFilter } from './list-events.ts';
import { eventsChannel } from './record-event.ts';

/** The channel on which workers hear that something was published by SQL. */
export const publishedChannel = 'orgdir_published';

export type PublishedEvent = {
  id: string;
  name: EventName;
  orgId: string | null;
  allianceId: string | null;
  /** As it was given: JSON text. Null where the service makes it. */
  data: string | null;
};

export type AcceptedEvent = { id: string; audience: string; data: string };
export type Rejection = { id: string; name: string; reason: string };

/** At 64 KiB each some megabytes. */
const takenPerBatch = 100;
/** One worker at a time, so that they become events in the order in which they were published. */
const takeLock = 70420012;
/** Partitions are made from yesterday on; what waited longer may need an older one. */
const oldAfter = sql`interval '1 day'`;
const reasonLengthMax = 1_000;

/** One look at an index: most of the time nothing waits. */
export async function hasPublished(database: Database): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from published_events where rejected_at is null) as found
  `.execute(database);
  return rows[0]?.found === true;
}

/** The oldest that wait; none where another worker is at it. An event that only a newer version knows waits for that. */
export async function claimPublished(tx: Transaction): Promise<PublishedEvent[]> {
  if (!(await lockTurn(tx))) return [];
  const { rows } = await sql<PublishedEvent>`
    select id, name, org_id as "orgId", alliance_id as "allianceId", data from published_events
    where rejected_at is null and name = any(${subscribableEvents}::text[])
    order by id limit ${takenPerBatch}
  `.execute(tx);
  return rows;
}

async function lockTurn(tx: Transaction): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(${sql.lit(takeLock)}) as locked
  `.execute(tx);
  return rows[0]?.locked === true;
}

/** They become events, under the ids and of the times at which they were published. */
export async function acceptPublished(tx: Transaction, accepted: AcceptedEvent[]): Promise<void> {
  if (accepted.length === 0) return;
  await ensureOldPartitions(tx);
  await sql`
    with taken as (
      delete from published_events p
      using jsonb_to_recordset(${JSON.stringify(accepted)}::jsonb) as r(id uuid, audience text, data text)
      where p.id = r.id
      returning p.id, p.name, r.audience, p.org_id, p.alliance_id, r.data, p.created_at
    )
    insert into events (id, name, audience, org_id, alliance_id, data, created_at) select * from taken
  `.execute(tx);
  await sql`select pg_notify(${eventsChannel}, '')`.execute(tx);
}

/** Of days on which no worker ran. What was dropped since is made again, and dropped with its day at the next turn. */
async function ensureOldPartitions(tx: Transaction): Promise<void> {
  await sql`
    select ensure_partitions(day, day)
    from (
      select distinct (created_at at time zone 'utc')::date as day from published_events
      where rejected_at is null and created_at < clock_timestamp() - ${oldAfter}
    ) as days
  `.execute(tx);
}

export async function rejectPublished(tx: Transaction, rejected: Rejection[]): Promise<void> {
  if (rejected.length === 0) return;
  const rows = rejected.map(({ id, reason }) => ({ id, reason: cutText(reason, reasonLengthMax) }));
  await sql`
    update published_events p set rejected_at = clock_timestamp(), reason = r.reason
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r(id uuid, reason text)
    where p.id = r.id
  `.execute(tx);
}

export type RejectedEvent = {
  id: string;
  event: string;
  /** Slugs of what it is about; null too where that is gone. */
  org: string | null;
  alliance: string | null;
  createdAt: Date;
  rejectedAt: Date;
  reason: string;
};

/** Newest first. Without what was published: the reason says which field of it is wrong. */
export async function listRejected(
  executor: Executor,
  { event, since, limit }: EventFilter,
): Promise<RejectedEvent[]> {
  const { rows } = await sql<RejectedEvent>`
    select p.id, p.name as event, o.slug as org, a.slug as alliance, p.created_at as "createdAt",
      p.rejected_at as "rejectedAt", p.reason
    from published_events p left join orgs o on o.id = p.org_id left join alliances a on a.id = p.alliance_id
    where p.rejected_at >= ${since.toISOString()}::timestamptz and (${event}::text is null or p.name = ${event})
    order by p.rejected_at desc, p.id desc limit ${limit}
  `.execute(executor);
  return rows;
}

/** Deletes what was rejected longer ago than it is kept, in batches. Returns how many. */
export async function dropOldRejected(database: Database, retentionDays: number): Promise<number> {
  return deleteInBatches(database, {
    table: 'published_events',
    key: 'id',
    condition: sql`rejected_at < now() - ${retentionDays} * interval '1 day'`,
  });
}
