/**
 * Keeps one bad row from stopping a stage: a stage that is refused runs again with fewer rows, and the row that is refused
 * alone moves to `set_aside`. Nothing looks for it there until an operator retries or drops it
 * (`commands/event-commands.ts`), or retention drops it. Each process logs what it sets aside (`onSetAside`).
 */
import { channel } from 'node:diagnostics_channel';
import { cutText } from '../contract/cut-text.ts';
import {
  changedRows,
  isConnectionFault,
  sql,
  type Database,
  type Executor,
  type Transaction,
} from '../database/database.ts';
import { deleteInBatches } from '../database/delete-in-batches.ts';
import { ServiceError } from '../errors.ts';
import type { EventFilter } from './pull-events.ts';
import type { RejectedEvent } from './published-events.ts';

type Statement = ReturnType<typeof sql>;
type Source =
  | 'published_events'
  | 'outbox'
  | 'pending_deliveries'
  | 'webhook_outcomes'
  | 'delivery_changes'
  | 'operational_events';

/** As the worker's tasks are called. */
type Stage =
  | 'intake'
  | 'fan-out'
  | 'claim'
  | 'load'
  | 'attempt'
  | 'record'
  | 'leases'
  | 'health'
  | 'totals'
  | 'replays'
  | 'mail';

export type SetAside = {
  id: string;
  stage: Stage;
  source: Source;
  eventId: string | null;
  deliveryId: string | null;
  webhookId: string | null;
  code: string | null;
  reason: string;
};

type Refused = {
  source: Source;
  stage: Stage;
  error: unknown;
  /** What else an operator should know. */
  note?: string;
  /** A statement that returns the row as `original`; `take` makes one that moves it. */
  moved: Statement;
};

const reasonLengthMax = 1_000;

/**
 * Whether the error is about the rows that were given: a value or constraint (SQLSTATE classes 22 and 23), a limit of
 * PostgreSQL (54), or an exception in our code. Others, such as a deadlock, a time-out or a full disk, are temporary.
 */
export function isRefusal(error: unknown): boolean {
  if (error instanceof ServiceError || isConnectionFault(error)) return false;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)
    ? /^(22|23|54)/.test(code)
    : error instanceof Error && !('syscall' in error);
}

export type ErrorDescription = { code: string | null; reason: string };

/** Leaves out PostgreSQL's `detail`, which may contain a receiver's response. */
export function describeError(error: unknown): ErrorDescription {
  const { code } = error as { code?: unknown };
  const reason = error instanceof Error ? error.message : String(error);
  return { code: typeof code === 'string' ? code : null, reason };
}

/** Runs `step` for all rows. If that is refused, runs it for fewer, down to one, and calls `onRefused` with that one. */
export async function isolateRefused<Row>(
  rows: Row[],
  step: (rows: Row[]) => Promise<void>,
  onRefused: (row: Row, error: unknown) => Promise<void>,
): Promise<void> {
  if (rows.length === 0) return;
  try {
    await step(rows);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const [first] = rows;
    if (rows.length === 1) return onRefused(first as Row, error);
    // In order: outcomes of a webhook, for example, are added as they were recorded.
    const half = Math.ceil(rows.length / 2);
    await isolateRefused(rows.slice(0, half), step, onRefused);
    await isolateRefused(rows.slice(half), step, onRefused);
  }
}

const announced = channel('orgdir.row.set_aside');

/** Calls back with each row that this process sets aside, after the commit. Returns a function that ends this. */
export function onSetAside(call: (row: SetAside) => void): () => void {
  const listener = (row: unknown) => call(row as SetAside);
  announced.subscribe(listener);
  return () => announced.unsubscribe(listener);
}

export function announceSetAside(rows: SetAside[]): void {
  for (const row of rows) announced.publish(row);
}

/** Moves a row, or nothing if it is gone. Returns how many. */
export async function setAside(database: Database, refused: Refused): Promise<number> {
  const rows = await setAsideWithin(database, refused);
  announceSetAside(rows);
  return rows.length;
}

/** The same in a transaction. After its commit, the caller announces what this returns. */
export async function setAsideWithin(
  executor: Executor,
  { source, stage, error, note, moved }: Refused,
): Promise<SetAside[]> {
  const { code, reason: message } = describeError(error);
  const reason = cutText(note === undefined ? message : `${message} (${note})`, reasonLengthMax);
  const { rows } = await sql<SetAside>`
    with moved as (${moved})
    insert into set_aside (source, stage, original, code, reason, event_id, delivery_id, webhook_id)
    select ${source}, ${stage}, original, ${code}, ${reason},
      (original->>${source === 'outbox' || source === 'published_events' ? 'id' : 'event_id'})::uuid,
      case when ${source} = 'pending_deliveries' then (original->>'id')::uuid end, (original->>'webhook_id')::uuid
    from moved
    returning id, stage, source, event_id as "eventId", delivery_id as "deliveryId", webhook_id as "webhookId", code, reason
  `.execute(executor);
  return rows;
}

type Origin<Row> = Pick<Refused, 'source' | 'stage'> & {
  /** Finds a row in its table. */
  condition: (row: Row) => Statement;
};

/** As `isolateRefused`; sets the rows aside that are refused alone. */
export function setAsideRefused<Row>(
  database: Database,
  { condition, ...origin }: Origin<Row>,
  rows: Row[],
  step: (rows: Row[]) => Promise<void>,
): Promise<void> {
  return isolateRefused(rows, step, async (row, error) => {
    await setAside(database, { ...origin, error, moved: take(origin.source, condition(row)) });
  });
}

type Step<Row, Result> = Origin<Row> & {
  /** Works on what waits, or on these. */
  step: (only: Row[] | null) => Promise<Result>;
  /** What it works on. */
  list: () => Promise<Row[]>;
  /** Makes one result of those of several steps. */
  merge: (parts: Result[]) => Result;
};

/**
 * Works in one step; if that is refused, in steps for fewer rows, without those that are refused alone. If one of these steps
 * fails otherwise, the rest is left to the next turn, because the steps before it may have leased deliveries.
 */
export async function stepOrSetAside<Row, Result>(
  database: Database,
  { step, list, merge, ...origin }: Step<Row, Result>,
): Promise<Result> {
  try {
    return await step(null);
  } catch (error) {
    const rows = isRefusal(error) ? await list() : [];
    if (rows.length === 0) throw error;
    const parts: Result[] = [];
    const part = async (only: Row[]) => void parts.push(await step(only));
    await setAsideRefused(database, origin, rows, part).catch((failure: unknown) => {
      if (parts.length === 0) throw failure;
    });
    return merge(parts);
  }
}

/** Takes the row `r` for which the condition holds out of its table. */
export function take(source: Source, condition: Statement): Statement {
  return sql`delete from ${sql.table(source)} r where ${condition} returning to_jsonb(r) as original`;
}

type Group = { source: Source; ids: string[]; columns: string[] };

/** Moves rows back to where they came from; the worker finds them there as it finds new ones. Returns how many. */
export async function retrySetAside(tx: Transaction, ids: string[]): Promise<number> {
  const { rows: groups } = await sql<Group>`
    select source, array_agg(id order by id) as ids, columns
    from (
      select id, source, array(
        select attname::text from pg_attribute
        -- A row may be of another version. "xid" and "seq" are new, so that looks that passed the old ones find the row.
        where attrelid = to_regclass(source) and attnum > 0 and original ? attname and attname not in ('xid', 'seq')
        order by attnum
      ) as columns
      from (select * from set_aside where id = any(${ids}::uuid[]) for update) locked
    ) rows
    group by source, columns
  `.execute(tx);
  let count = 0;
  for (const group of groups) count += await moveBack(tx, group);
  return count;
}

async function moveBack(tx: Transaction, { source, ids, columns }: Group): Promise<number> {
  const names = sql.join(columns.map((column) => sql.ref(column)));
  const values = sql.join(columns.map((column) => sql.ref(`r.${column}`)));
  const back = await sql`
    with gone as (delete from set_aside where id = any(${ids}::uuid[]) returning id, stage, original)
    insert into ${sql.table(source)} (${names})
    select ${values} from (select * from gone order by id) in_order
    cross join lateral jsonb_populate_record(null::${sql.table(source)}, original || ${resets(source)}::jsonb) r
  `.execute(tx);
  return changedRows(back);
}

/**
 * A delivery is due at once. One that was leased is taken back, as after a crash, because its attempt may have been made;
 * unless it could not be loaded, so that nothing was sent.
 */
function resets(source: Source): Statement {
  return source === 'pending_deliveries'
    ? sql`(jsonb_build_object('due_at', queue_now(), 'parked', false) || case when stage = 'load' then jsonb_build_object(
        'lease_token', null, 'leased_at', null, 'attempt_count', (original->>'attempt_count')::int - 1,
        'cycle_attempts', (original->>'cycle_attempts')::int - 1) else '{}' end)`
    : sql`'{}'`;
}

/** Drops rows for good. Returns how many. */
export async function dropSetAside(tx: Transaction, ids: string[]): Promise<number> {
  const dropped = await sql`delete from set_aside where id = any(${ids}::uuid[])`.execute(tx);
  return changedRows(dropped);
}

/** Lists rows, newest first, without their data. */
export async function listSetAside(
  executor: Executor,
  { event, since, limit }: EventFilter,
): Promise<RejectedEvent[]> {
  const { rows } = await sql<RejectedEvent>`
    select s.id, s.stage, s.event, o.slug as org, a.slug as alliance, s.created_at as "createdAt", s.set_aside_at as "rejectedAt",
      s.code, s.reason, s.event_id as "eventId", s.delivery_id as "deliveryId", s.webhook_id as "webhookId"
    from (
      select *, coalesce(original->>'event', original->>'name') as event, (original->>'created_at')::timestamptz as created_at
      from set_aside
    ) s left join orgs o on o.id = (original->>'org_id')::uuid left join alliances a on a.id = (original->>'alliance_id')::uuid
    where s.set_aside_at >= ${since.toISOString()}::timestamptz and (${event}::text is null or s.event = ${event})
    order by s.set_aside_at desc, s.id desc limit ${limit}
  `.execute(executor);
  return rows;
}

/** The ids of all rows that can be retried or dropped: those that were set aside, and rejected entries. */
export async function listRefusedIds(executor: Executor): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from set_aside union all select id from published_events where rejected_at is not null order by id
  `.execute(executor);
  return rows.map(({ id }) => id);
}

/**
 * Drops rows that nobody has retried within the retention period, rejected entries among them, and those of webhooks that are
 * gone. Returns how many.
 */
export async function dropOldSetAside(database: Database, retentionDays: number): Promise<number> {
  const isOld = (time: string) =>
    sql`${sql.ref(time)} < (select queue_now()) - ${retentionDays} * interval '1 day'`;
  const rejected = { table: 'published_events', key: 'id', condition: isOld('rejected_at') };
  const aside = {
    table: 'set_aside',
    key: 'id',
    condition: sql`
      ${isOld('set_aside_at')}
        -- The webhook may have been deleted while the row was set aside.
        or (webhook_id is not null and not exists (select from webhooks where webhooks.id = webhook_id))
    `,
  };
  return (await deleteInBatches(database, rejected)) + (await deleteInBatches(database, aside));
}
