/** Lists deliveries of all webhooks, newest first, with the outcome of their last attempt, for operators. */
import type { Attempt, Delivery } from '../../contract/webhook.ts';
import { type Executor, type LeftJoined, sql } from '../../database/database.ts';
import { ServiceError } from '../../errors.ts';
import { type DeliveryRow, endedColumns, pendingColumns, toRecord } from './deliveries.ts';
import { type DeliveryFilter, conditions } from './delivery-filter.ts';

export type ListedDelivery = Delivery & { lastAttempt: LastAttempt | null };

type Row = DeliveryRow & LeftJoined<LastAttemptRow>;

/** Lists one webhook's deliveries, or all if it is null. */
export async function listAllDeliveries(
  executor: Executor,
  webhookId: string | null,
  filter: DeliveryFilter & { limit: number },
): Promise<ListedDelivery[]> {
  const ofWebhook = webhookId === null ? sql`true` : sql`webhook_id = ${webhookId}`;
  const { rows } = await sql<Row>`
    select page.*, last.*
    from (
      -- Reads each table in the order of its key and no further than the page, so that a long history costs nothing.
      (select ${pendingColumns} from pending_deliveries where ${ofWebhook} and ${conditions(filter, 'pending')}
       order by id desc limit ${filter.limit})
      union all
      (select ${endedColumns} from deliveries where ${ofWebhook} and ${conditions(filter, 'ended')}
       order by id desc limit ${filter.limit})
      order by id desc limit ${filter.limit}
    ) page
    left join lateral (
      select ${lastAttemptColumns} from attempts
      where delivery_id = page.id order by number desc limit 1
    ) last on true
    order by page.id desc
  `.execute(executor);
  return rows.map((row) => Object.assign(toRecord(row), { lastAttempt: lastAttemptOf(row) }));
}

/** Returns the app of a webhook, for operators. Throws `not_found`. */
export async function requireAppOf(executor: Executor, webhookId: string): Promise<string> {
  const { rows } = await sql<{ appId: string }>`
    select app_id as "appId" from webhooks where id = ${webhookId}
  `.execute(executor);
  if (rows[0]) return rows[0].appId;
  throw new ServiceError('not_found', `There is no webhook with the id ${webhookId}.`);
}

export type LastAttempt = Pick<Attempt, 'startedAt' | 'durationMs' | 'statusCode' | 'error'>;

export type LastAttemptRow = {
  started_at: Date;
  duration_ms: number;
  status_code: number | null;
  error: Attempt['error'];
};

export const lastAttemptColumns = sql`started_at, duration_ms, status_code, error`;

/** Null if there was none. */
export function lastAttemptOf(row: LeftJoined<LastAttemptRow>): LastAttempt | null {
  if (row.started_at === null) return null;
  return {
    startedAt: row.started_at.toISOString(),
    durationMs: row.duration_ms,
    statusCode: row.status_code,
    error: row.error,
  };
}
