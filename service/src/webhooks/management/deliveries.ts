/** Reads deliveries and their attempts, pending or ended, for a key or member of their app. */
import {
  attemptsShownMax,
  Delivery,
  type Attempt,
  type DeliveryDetail,
} from '../../contract/webhook.ts';
import { fromRow, withTextTimes, type Dated } from '../../contract/parse-time.ts';
import type { WebhookFormat } from '../../contract/delivery-rules.ts';
import { sql, type Executor, type LeftJoined } from '../../database/database.ts';
import { ServiceError } from '../../errors.ts';
import { renderMessage } from '../sending/render-message.ts';
import { renderBody } from '../sending/sign.ts';
import type { DeliveryFilter } from './delivery-filter.ts';
import { findPage } from './find-page.ts';

export type DeliveryRow = Dated<Delivery>;

type EventRow = { event_created_at: Date; data: string; template: number; audience: string };

type AttemptRow = Dated<Omit<Attempt, 'responseHeaders' | 'responseBody'>> &
  Record<'responseHeaders' | 'responseBody', Buffer | null>;

export const pendingColumns = sql`
  id, webhook_id as "webhookId", event, event_id as "eventId", 'pending' as status, attempt_count as "attemptCount",
  case when lease_token is null then due_at end as "nextAttemptAt", created_at as "createdAt", null::timestamptz as "completedAt"
`;
export const endedColumns = sql`
  id, webhook_id as "webhookId", event, event_id as "eventId", status, attempt_count as "attemptCount",
  null::timestamptz as "nextAttemptAt", created_at as "createdAt", completed_at as "completedAt"
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
  return { total, deliveries: rows.map((row) => withTextTimes(row)) };
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
      (select format from webhooks where id = d."webhookId") as format,
      app_may_receive(e.audience, e.org_id, e.alliance_id, e.created_at, ${appId}) as allowed
    from (
      select ${pendingColumns} from pending_deliveries where id = ${id} and webhook_id = ${webhookId}
      union all
      select ${endedColumns} from deliveries where id = ${id} and webhook_id = ${webhookId}
    ) d
    -- If an event is fanned out more than a day late, its deliveries outlive it and are shown without it.
    left join events e on e.id = d."eventId"
  `.execute(executor);
  const [row] = rows;
  if (!row) throw new ServiceError('not_found');
  const { rows: attempts } = await sql<AttemptRow>`
    select * from (
      select number, trigger, started_at as "startedAt", duration_ms as "durationMs", status_code as "statusCode", error,
        error_cause as "errorCause", response_headers as "responseHeaders", response_body as "responseBody"
      from attempts where delivery_id = ${id} order by number desc limit ${attemptsShownMax}
    ) last order by number
  `.execute(executor);
  const body = row.allowed && row.data !== null ? bodyOf(row, row.format ?? 'json') : null;
  return {
    delivery: { ...fromRow(Delivery, row), body, attempts: attempts.map(toAttempt) },
    audience: row.audience,
  };
}

/** Null for a chat channel if this process does not have the version of its texts. */
function bodyOf(row: DeliveryRow & EventRow, format: WebhookFormat): string | null {
  const { id, event, event_created_at: at, data, template } = row;
  const content = { id, event, createdAt: at.toISOString(), data };
  return format === 'json' ? renderBody(content) : renderMessage(format, content, template);
}

function toAttempt({ responseHeaders, responseBody, ...row }: AttemptRow): Attempt {
  return {
    ...withTextTimes(row),
    responseHeaders:
      responseHeaders && (JSON.parse(responseHeaders.toString()) as Record<string, string>),
    // Stored as bytes; invalid UTF-8 shows as U+FFFD.
    responseBody: responseBody && responseBody.toString('utf8'),
  };
}
