/** Lists deliveries of all webhooks, newest first, with the outcome of their last attempt, for operators. */
import type { Attempt, Delivery } from '../../contract/webhook.ts';
import { sql, type Executor } from '../../database/database.ts';
import { endedColumns, pendingColumns, toRecord, type DeliveryRow } from './deliveries.ts';
import { conditions, type DeliveryFilter } from './delivery-filter.ts';

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
      select started_at, duration_ms, status_code, error from attempts
      where delivery_id = page.id order by number desc limit 1
    ) last on true
    order by page.id desc
  `.execute(executor);
  return rows.map((row) => Object.assign(toRecord(row), { lastAttempt: lastAttemptOf(row) }));
}

/** Whether the webhook exists, in any app. */
export async function isWebhook(executor: Executor, id: string): Promise<boolean> {
  const { rows } = await sql`select from webhooks where id = ${id}`.execute(executor);
  return rows.length > 0;
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
