/** Lists deliveries of all webhooks, newest first, with the outcome of their last attempt, for operators. */
import { LastAttempt } from '../../contract/portal-deliveries.ts';
import { fromRow, type Dated } from '../../contract/parse-time.ts';
import { Delivery } from '../../contract/webhook.ts';
import { type Executor, type LeftJoined, sql } from '../../database/database.ts';
import { ServiceError } from '../../errors.ts';
import { type DeliveryRow, endedColumns, pendingColumns } from './deliveries.ts';
import { urlHost } from '../sending/url-host.ts';
import { type DeliveryFilter, conditions } from './delivery-filter.ts';

/** Its webhook is null if it was deleted. */
export type ListedDelivery = Delivery & { lastAttempt: LastAttempt | null } & LeftJoined<Webhook>;
type Webhook = { appId: string; appName: string; host: string };

type Row = DeliveryRow &
  LeftJoined<LastAttemptRow> &
  LeftJoined<Omit<Webhook, 'host'> & { url: string }>;

/** Lists one webhook's deliveries, or all if it is null. */
export async function listAllDeliveries(
  executor: Executor,
  webhookId: string | null,
  filter: DeliveryFilter & { limit: number },
): Promise<ListedDelivery[]> {
  const ofWebhook = webhookId === null ? sql`true` : sql`webhook_id = ${webhookId}`;
  const { rows } = await sql<Row>`
    select page.*, last.*, w.app_id as "appId", a.name as "appName", w.url
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
    left join webhooks w on w.id = page."webhookId" left join apps a on a.id = w.app_id
    order by page.id desc
  `.execute(executor);
  return rows.map(toListed);
}

function toListed(row: Row): ListedDelivery {
  const webhook =
    row.appId === null
      ? { appId: null, appName: null, host: null }
      : { appId: row.appId, appName: row.appName, host: urlHost(row.url) };
  return { ...fromRow(Delivery, row), ...webhook, lastAttempt: lastAttemptOf(row) };
}

/** Returns the app of a webhook, for operators. Throws `not_found`. */
export async function requireAppOf(executor: Executor, webhookId: string): Promise<string> {
  const { rows } = await sql<{ appId: string }>`
    select app_id as "appId" from webhooks where id = ${webhookId}
  `.execute(executor);
  if (rows[0]) return rows[0].appId;
  throw new ServiceError('not_found', `There is no webhook with the id ${webhookId}.`);
}

export type LastAttemptRow = Dated<LastAttempt>;

export const lastAttemptColumns = sql`
  started_at as "startedAt", duration_ms as "durationMs", status_code as "statusCode", error, error_cause as "errorCause"
`;

/** Null if there was none. */
export function lastAttemptOf(row: LeftJoined<LastAttemptRow>): LastAttempt | null {
  return row.startedAt === null ? null : fromRow(LastAttempt, row);
}
