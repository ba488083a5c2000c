/** Deliveries and their attempts, pending or ended, as their owner reads them. */
import type { Attempt, DeliveryDetail } from '../contract/webhook.ts';
import { sql, type Executor } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import { renderBody } from './sign.ts';

type DeliveryRow = {
  id: string;
  webhook_id: string;
  event: string;
  event_id: string;
  status: 'pending' | 'succeeded' | 'failed' | 'cancelled';
  attempt_count: number;
  next_attempt_at: Date | null;
  created_at: Date;
  completed_at: Date | null;
  event_created_at: Date;
  data: string;
};

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

/** One delivery of a webhook with its body and attempts. Throws `not_found`. The caller has checked whose webhook it is. */
export async function readDelivery(
  executor: Executor,
  webhookId: string,
  id: string,
): Promise<DeliveryDetail> {
  const { rows } = await sql<DeliveryRow>`
    select d.*, e.created_at as event_created_at, e.data
    from (
      select id, webhook_id, event, event_id, 'pending' as status, attempt_count,
        case when lease_token is null then due_at end as next_attempt_at, created_at,
        null::timestamptz as completed_at
      from pending_deliveries
      union all
      select id, webhook_id, event, event_id, status, attempt_count, null, created_at, completed_at from deliveries
    ) d join events e on e.id = d.event_id
    where d.id = ${id} and d.webhook_id = ${webhookId}
  `.execute(executor);
  const [row] = rows;
  if (!row) throw new ServiceError('not_found');
  const { rows: attempts } = await sql<AttemptRow>`
    select number, trigger, started_at, duration_ms, status_code, error, response_headers, response_body
    from attempts where delivery_id = ${id} order by number
  `.execute(executor);
  return { ...toRecord(row), body: bodyOf(row), attempts: attempts.map(toAttempt) };
}

function toRecord(row: DeliveryRow): Omit<DeliveryDetail, 'body' | 'attempts'> {
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

function bodyOf(row: DeliveryRow): string {
  return renderBody({
    id: row.id,
    event: row.event,
    createdAt: row.event_created_at,
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
    // Kept as bytes; what is not UTF-8 shows as U+FFFD.
    responseBody: row.response_body && row.response_body.toString('utf8'),
  };
}
