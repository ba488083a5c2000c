/**
 * Stores what the platform published by SQL and is not an event yet. `orgdir.publish_event` writes it and
 * `ingest-published.ts` takes it in. Entries that do not fit the catalogue stay here, with the reason, until retention
 * drops them.
 */
import { cutText } from '../contract/cut-text.ts';
import { changedRows, sql, type Executor, type Transaction } from '../database/database.ts';
import { subscribableEvents, type EventName } from './catalogue.ts';
import type { EventFilter } from './pull-events.ts';

export type PublishedEvent = {
  id: string;
  name: EventName;
  orgId: string | null;
  allianceId: string | null;
  /** The JSON text as published. Null if the service creates the data. */
  data: string | null;
};

export type AcceptedEvent = {
  id: string;
  audience: string;
  data: string;
  traceparent: string | null;
};
export type Rejection = { id: string; name: string; reason: string };

/** The most entries per batch; at 64 KiB each, some megabytes. */
const batchSize = 100;
/** One worker at a time, so that entries become events in the order of publishing. */
const ingestLock = 70420012;
const reasonLengthMax = 1_000;

/**
 * Locks and returns the oldest waiting entries; none if another worker is taking them. An event that only a newer version
 * knows waits for that version.
 */
export async function claimPublished(
  tx: Transaction,
  floor: string,
  only: string[] | null = null,
): Promise<PublishedEvent[]> {
  if (!(await lockTurn(tx))) return [];
  const { rows } = await sql<PublishedEvent>`
    select id, name, org_id as "orgId", alliance_id as "allianceId", data from published_events
    where rejected_at is null and name = any(${subscribableEvents}::text[]) and xid >= ${floor}::xid8
      and (${only}::uuid[] is null or id = any(${only}::uuid[]))
    order by xid, id limit ${batchSize}
    -- One row that somebody has locked must not hold up the others.
    for update skip locked
  `.execute(tx);
  return rows;
}

async function lockTurn(tx: Transaction): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(${sql.lit(ingestLock)}) as locked
  `.execute(tx);
  return rows[0]?.locked === true;
}

/** Turns entries into events, with the ids and times of their publishing. */
export async function acceptPublished(tx: Transaction, accepted: AcceptedEvent[]): Promise<void> {
  if (accepted.length === 0) return;
  await sql`
    with taken as (
      delete from published_events p
      using jsonb_to_recordset(${JSON.stringify(accepted)}::jsonb) as r(id uuid, audience text, data text, traceparent text)
      where p.id = r.id
      returning p.id, p.name, r.audience, p.org_id, p.alliance_id, r.data, p.created_at, r.traceparent
    )
    insert into outbox (id, name, audience, org_id, alliance_id, data, created_at, traceparent)
    select * from taken
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

/** An entry that was rejected, or any row that was set aside (`set-aside.ts`). */
export type RejectedEvent = {
  id: string;
  /** Where. */
  stage: string;
  /** Null for a row that is not of one event. */
  event: string | null;
  /** The slug of its organisation or alliance; null too if that is gone. */
  org: string | null;
  alliance: string | null;
  createdAt: Date | null;
  rejectedAt: Date;
  /** PostgreSQL's, if it refused the row. */
  code: string | null;
  reason: string;
  eventId: string | null;
  deliveryId: string | null;
  webhookId: string | null;
};

/** Lists rejected entries, newest first, without the published data: the reason names the wrong field. */
export async function listRejected(
  executor: Executor,
  { event, since, limit }: EventFilter,
): Promise<RejectedEvent[]> {
  const { rows } = await sql<RejectedEvent>`
    select p.id, 'intake' as stage, p.name as event, o.slug as org, a.slug as alliance, p.created_at as "createdAt",
      p.rejected_at as "rejectedAt", null as code, p.reason, p.id as "eventId", null::uuid as "deliveryId", null::uuid as "webhookId"
    from published_events p left join orgs o on o.id = p.org_id left join alliances a on a.id = p.alliance_id
    where p.rejected_at >= ${since.toISOString()}::timestamptz and (${event}::text is null or p.name = ${event})
    order by p.rejected_at desc, p.id desc limit ${limit}
  `.execute(executor);
  return rows;
}

/** Lets intake take rejected entries again. Returns how many. */
export async function retryRejected(tx: Transaction, ids: string[]): Promise<number> {
  const retried = await sql`
    -- A new "xid", so that looks that have passed the old one find the entry.
    update published_events set rejected_at = null, reason = null, xid = default
    where id = any(${ids}::uuid[]) and rejected_at is not null
  `.execute(tx);
  return changedRows(retried);
}

/** Returns how many. */
export async function dropRejected(tx: Transaction, ids: string[]): Promise<number> {
  const dropped = await sql`
    delete from published_events where id = any(${ids}::uuid[]) and rejected_at is not null
  `.execute(tx);
  return changedRows(dropped);
}
