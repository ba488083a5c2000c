/** Reads deliveries and their attempts, pending or ended, for a key or member of their app. */
import { toUtc } from '../../contract/parse-time.ts';
import {
  attemptsShownMax,
  type Attempt,
  type Delivery,
  type DeliveryDetail,
} from '../../contract/webhook.ts';
import { sql, type Executor, type LeftJoined } from '../../database/database.ts';
import { ServiceError } from '../../errors.ts';
import { renderBody } from '../sending/sign.ts';

export type DeliveryRow = {
  id: string;
  webhook_id: string;
  event: string;
  event_id: string;
  status: 'pending' | 'succeeded' | 'failed' | 'cancelled';
  attempt_count: number;
  next_attempt_at: Date | null;
  created_at: Date;
  completed_at: Date | null;
};

type EventRow = { event_created_at: Date; data: string; audience: string };

type AttemptRow = {
  number: number;
  trigger: Attempt['trigger'];
  started_at: Date;
  duration_ms: number;
  status_code: number | null;
  error: Attempt['error'];
  response_headers: Buffer | null;
  response_body: Buffer | null;
};

export type DeliveryFilter = {
  status?: Delivery['status'] | undefined;
  event?: string | undefined;
  /** Filters by the time of queuing; `since` is inclusive, `until` is exclusive. */
  since?: string | undefined;
  until?: string | undefined;
};

export const pendingColumns = sql`
  id, webhook_id, event, event_id, 'pending' as status, attempt_count,
  case when lease_token is null then due_at end as next_attempt_at, created_at, null::timestamptz as completed_at
`;
export const endedColumns = sql`
  id, webhook_id, event, event_id, status, attempt_count, null::timestamptz as next_attempt_at, created_at, completed_at
`;

/**
 * Returns one page of a webhook's deliveries, newest first, and the total. The caller has checked the webhook's app.
 * Reads from the nearer end, so that the last page costs as much as the first.
 */
export async function listDeliveries(
  executor: Executor,
  webhookId: string,
  query: DeliveryFilter & { page: number; limit: number },
): Promise<{ total: number; deliveries: Delivery[] }> {
  const total = await countDeliveries(executor, webhookId, query);
  const position = positionOf(query, total);
  const deliveries = position ? await readPage(executor, webhookId, query, position) : [];
  return { total, deliveries };
}

async function countDeliveries(
  executor: Executor,
  webhookId: string,
  filter: DeliveryFilter,
): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select (select count(*) from pending_deliveries where ${conditions(webhookId, filter, 'pending')})
      + (select count(*) from deliveries where ${conditions(webhookId, filter, 'ended')}) as total
  `.execute(executor);
  return rows[0]?.total ?? 0;
}

type Position = { from: 'newest' | 'oldest'; skip: number; count: number };

/** Returns a page's position from the nearer end; null if it is past the last one. */
function positionOf(
  { page, limit }: { page: number; limit: number },
  total: number,
): Position | null {
  const before = (page - 1) * limit;
  if (before >= total) return null;
  const after = Math.max(0, total - before - limit);
  // Counts from the oldest, so that deliveries that arrive meanwhile don't shift the page.
  return before <= after
    ? { from: 'newest', skip: before, count: limit }
    : { from: 'oldest', skip: after, count: Math.min(limit, total - before) };
}

async function readPage(
  executor: Executor,
  webhookId: string,
  filter: DeliveryFilter,
  { from, skip, count }: Position,
): Promise<Delivery[]> {
  const { rows } = await sql<DeliveryRow>`
    select found.*
    from (
      -- Reads only ids: without a filter an index has them, and skipped rows are not read.
      select id as page_id from (
        select id from pending_deliveries where ${conditions(webhookId, filter, 'pending')}
        union all
        select id from deliveries where ${conditions(webhookId, filter, 'ended')}
      ) both_tables
      order by id ${from === 'newest' ? sql`desc` : sql`asc`} limit ${count} offset ${skip}
    ) page
    cross join lateral (
      select ${pendingColumns} from pending_deliveries where id = page_id
      union all
      select ${endedColumns} from deliveries where id = page_id
    ) found
    order by found.id desc
  `.execute(executor);
  return rows.map(toRecord);
}

/** The filter's conditions on one of the two tables; covers all webhooks if there is no `webhookId`. */
export function conditions(
  webhookId: string | null,
  { status, event, since, until }: DeliveryFilter,
  table: 'pending' | 'ended',
) {
  const all = [webhookId === null ? sql`true` : sql`webhook_id = ${webhookId}`];
  if (status === 'pending') all.push(table === 'pending' ? sql`true` : sql`false`);
  else if (status !== undefined) all.push(table === 'ended' ? sql`status = ${status}` : sql`false`);
  if (event !== undefined) all.push(sql`event = ${event}`);
  // The id contains the time, so only the partitions of those days are read. A day's slack allows for clock
  // differences.
  if (since !== undefined) {
    const from = toUtc(since);
    all.push(
      sql`created_at >= ${from}::timestamptz`,
      sql`id >= uuid_v7_floor(${from}::timestamptz - interval '1 day')`,
    );
  }
  if (until !== undefined) {
    const to = toUtc(until);
    all.push(
      sql`created_at < ${to}::timestamptz`,
      sql`id < uuid_v7_floor(${to}::timestamptz + interval '1 day')`,
    );
  }
  return sql.join(all, sql` and `);
}

/**
 * Returns one delivery of a webhook with its last attempts, and its body while the app may have the event. Throws
 * `not_found`. The caller has checked the webhook's app.
 */
export async function readDelivery(
  executor: Executor,
  appId: string,
  webhookId: string,
  id: string,
): Promise<DeliveryDetail> {
  return (await readWithAudience(executor, appId, webhookId, id)).delivery;
}

/** The same without the body of an internal event, and without what receivers responded to it, which may repeat it. */
export async function readPublicDelivery(
  ...of: Parameters<typeof readDelivery>
): Promise<DeliveryDetail> {
  const { delivery, audience } = await readWithAudience(...of);
  if (audience === 'global' || audience === 'webhook') return delivery;
  const attempts = delivery.attempts.map((attempt) => ({
    ...attempt,
    responseHeaders: null,
    responseBody: null,
  }));
  return { ...delivery, body: null, attempts };
}

/** `audience`: null if the event is gone. */
async function readWithAudience(
  executor: Executor,
  appId: string,
  webhookId: string,
  id: string,
): Promise<{ delivery: DeliveryDetail; audience: string | null }> {
  const { rows } = await sql<DeliveryRow & LeftJoined<EventRow> & { allowed: boolean }>`
    select d.*, e.created_at as event_created_at, e.data, e.audience,
      app_may_receive(e.audience, e.org_id, e.alliance_id, e.created_at, ${appId}) as allowed
    from (
      select ${pendingColumns} from pending_deliveries where id = ${id} and webhook_id = ${webhookId}
      union all
      select ${endedColumns} from deliveries where id = ${id} and webhook_id = ${webhookId}
    ) d
    -- If an event is fanned out more than a day late, its deliveries outlive it and are shown without it.
    left join events e on e.id = d.event_id
  `.execute(executor);
  const [row] = rows;
  if (!row) throw new ServiceError('not_found');
  const { rows: attempts } = await sql<AttemptRow>`
    select * from (
      select number, trigger, started_at, duration_ms, status_code, error, response_headers, response_body
      from attempts where delivery_id = ${id} order by number desc limit ${attemptsShownMax}
    ) last order by number
  `.execute(executor);
  const body = row.allowed && row.data !== null ? bodyOf(row) : null;
  return {
    delivery: { ...toRecord(row), body, attempts: attempts.map(toAttempt) },
    audience: row.audience,
  };
}

export function toRecord(row: DeliveryRow): Delivery {
  return {
    id: row.id,
    webhookId: row.webhook_id,
    event: row.event,
    eventId: row.event_id,
    status: row.status,
    attemptCount: row.attempt_count,
    nextAttemptAt: row.next_attempt_at?.toISOString() ?? null,
    createdAt: row.created_at.toISOString(),
    completedAt: row.completed_at?.toISOString() ?? null,
  };
}

function bodyOf(row: DeliveryRow & EventRow): string {
  return renderBody({
    id: row.id,
    event: row.event,
    createdAt: row.event_created_at.toISOString(),
    data: row.data,
  });
}

function toAttempt(row: AttemptRow): Attempt {
  return {
    number: row.number,
    trigger: row.trigger,
    startedAt: row.started_at.toISOString(),
    durationMs: row.duration_ms,
    statusCode: row.status_code,
    error: row.error,
    responseHeaders:
      row.response_headers &&
      (JSON.parse(row.response_headers.toString()) as Record<string, string>),
    // Stored as bytes; invalid UTF-8 shows as U+FFFD.
    responseBody: row.response_body && row.response_body.toString('utf8'),
  };
}
