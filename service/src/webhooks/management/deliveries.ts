/** Reads deliveries and their attempts, pending or ended, for a key or member of their app. */
import {
  attemptsShownMax,
  type Attempt,
  type Delivery,
  type DeliveryDetail,
} from '../../contract/webhook.ts';
import { withTextTimes, type Dated } from '../../contract/text-times.ts';
import { type WebhookFormat } from '../../contract/webhook-formats.ts';
import { sql, type Executor, type LeftJoined } from '../../database/database.ts';
import { ServiceError } from '../../errors.ts';
import { renderMessage } from '../sending/render-message.ts';
import { renderBody } from '../sending/sign.ts';
import type { DeliveryFilter } from './delivery-filter.ts';
import { findPage } from './find-page.ts';

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

type EventRow = { event_created_at: Date; data: string; template: number; audience: string };

type AttemptRow = Dated<Omit<Attempt, 'responseHeaders' | 'responseBody'>> & {
  response_headers: Buffer | null;
  response_body: Buffer | null;
};

export const pendingColumns = sql`
  id, webhook_id, event, event_id, 'pending' as status, attempt_count,
  case when lease_token is null then due_at end as next_attempt_at, created_at, null::timestamptz as completed_at
`;
export const endedColumns = sql`
  id, webhook_id, event, event_id, status, attempt_count, null::timestamptz as next_attempt_at, created_at, completed_at
`;

/** Returns one page of the deliveries of a webhook, newest first, and the total. The caller has checked the webhook's app. */
export async function listDeliveries(
  executor: Executor,
  webhookId: string,
  query: DeliveryFilter & { page: number; limit: number },
): Promise<{ total: number; deliveries: Delivery[] }> {
  const { total, ids } = await findPage(executor, [webhookId], query);
  const { rows } = await sql<DeliveryRow>`
    select found.* from ${deliveriesOf(ids)} found order by id desc
  `.execute(executor);
  return { total, deliveries: rows.map(toRecord) };
}

/** Reads deliveries by id from both tables in one statement, because they may move from one to the other. */
export function deliveriesOf(ids: string[]) {
  return sql`(
    select ${pendingColumns} from pending_deliveries where id = any(${ids}::uuid[])
    union all
    select ${endedColumns} from deliveries where id = any(${ids}::uuid[])
  )`;
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

/**
 * The same as a viewer may read it: without the body of an internal event, and without the responses of receivers. These
 * may repeat the request: an error page names its path, and a redirect the whole URL.
 */
export async function readPublicDelivery(
  ...of: Parameters<typeof readDelivery>
): Promise<DeliveryDetail> {
  const { delivery, audience } = await readWithAudience(...of);
  const isPublic = audience === 'global' || audience === 'webhook';
  const attempts = delivery.attempts.map((attempt) => ({
    ...attempt,
    responseHeaders: null,
    responseBody: null,
  }));
  return { ...delivery, body: isPublic ? delivery.body : null, attempts };
}

/** `audience`: null if the event is gone. */
async function readWithAudience(
  executor: Executor,
  appId: string,
  webhookId: string,
  id: string,
): Promise<{ delivery: DeliveryDetail; audience: string | null }> {
  const { rows } = await sql<
    DeliveryRow & LeftJoined<EventRow> & { allowed: boolean; format: WebhookFormat | null }
  >`
    select d.*, e.created_at as event_created_at, e.data, e.template, e.audience,
      (select format from webhooks where id = d.webhook_id) as format,
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
      select number, trigger, started_at as "startedAt", duration_ms as "durationMs", status_code as "statusCode", error,
        response_headers, response_body
      from attempts where delivery_id = ${id} order by number desc limit ${attemptsShownMax}
    ) last order by number
  `.execute(executor);
  const body = row.allowed && row.data !== null ? bodyOf(row, row.format ?? 'json') : null;
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

/** Null for a chat channel if this process does not have the version of its texts. */
function bodyOf(row: DeliveryRow & EventRow, format: WebhookFormat): string | null {
  const { id, event, event_created_at: at, data, template } = row;
  const content = { id, event, createdAt: at.toISOString(), data };
  return format === 'json' ? renderBody(content) : renderMessage(format, content, template);
}

function toAttempt({
  response_headers: headers,
  response_body: body,
  ...row
}: AttemptRow): Attempt {
  return {
    ...withTextTimes(row),
    responseHeaders: headers && (JSON.parse(headers.toString()) as Record<string, string>),
    // Stored as bytes; invalid UTF-8 shows as U+FFFD.
    responseBody: body && body.toString('utf8'),
  };
}
