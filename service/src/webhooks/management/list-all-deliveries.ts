/** Lists deliveries of all webhooks, newest first, with the outcome of their last attempt, for operators. */
import type { Attempt, Delivery } from '../../contract/webhook.ts';
import { sql, type Executor } from '../../database/database.ts';
import { ServiceError } from '../../errors.ts';
import {
  conditions,
  endedColumns,
  pendingColumns,
  toRecord,
  type DeliveryFilter,
  type DeliveryRow,
} from './deliveries.ts';

export type ListedDelivery = Delivery & {
  lastAttempt: Pick<Attempt, 'startedAt' | 'durationMs' | 'statusCode' | 'error'> | null;
};

type Row = DeliveryRow & {
  started_at: Date | null;
  duration_ms: number;
  status_code: number | null;
  error: Attempt['error'];
};

/** Lists one webhook's deliveries, or all if it is null. */
export async function listAllDeliveries(
  executor: Executor,
  webhookId: string | null,
  filter: DeliveryFilter & { limit: number },
): Promise<ListedDelivery[]> {
  const { rows } = await sql<Row>`
    select page.*, last.*
    from (
      -- Reads each table in the order of its key and no further than the page, so that a long history costs nothing.
      (select ${pendingColumns} from pending_deliveries where ${conditions(webhookId, filter, 'pending')}
       order by id desc limit ${filter.limit})
      union all
      (select ${endedColumns} from deliveries where ${conditions(webhookId, filter, 'ended')}
       order by id desc limit ${filter.limit})
      order by id desc limit ${filter.limit}
    ) page
    left join lateral (
      select started_at, duration_ms, status_code, error from attempts
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

function lastAttemptOf(row: Row): ListedDelivery['lastAttempt'] {
  if (row.started_at === null) return null;
  return {
    startedAt: row.started_at.toISOString(),
    durationMs: row.duration_ms,
    statusCode: row.status_code,
    error: row.error,
  };
}
