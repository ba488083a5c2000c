/**
 * Sends an ended delivery again, whatever its outcome. `requeue` is the only way back to the queue; to send many, `replay.ts`
 * chooses them and calls it.
 */
import {
  type Change,
  type Database,
  type Transaction,
  sql,
  changedRows,
} from '../../database/database.ts';
import { ServiceError } from '../../errors.ts';
import { catalogueEntry } from '../../events/catalogue.ts';
import type { Redelivery } from '../../contract/portal-deliveries.ts';
import { requireNotSuspended } from '../../access/suspensions.ts';
import { queueChannel } from '../../events/queue-channel.ts';

/** Throws `not_found`, and `conflict` if the delivery is pending, is a test, or may not be sent. */
export async function redeliver(
  tx: Transaction,
  appId: string,
  webhookId: string,
  deliveryId: string,
): Promise<void> {
  await requireActive(tx, appId, webhookId);
  // Looks at pending deliveries first, so that a delivery that ends meanwhile is found in one of the two tables.
  if (await isPending(tx, webhookId, deliveryId)) throw pending();
  const { rows } = await sql<{ event: string; allowed: boolean | null }>`
    select d.event, app_may_receive(e.audience, e.org_id, e.alliance_id, e.created_at, ${appId}) as allowed
    from deliveries d left join events e on e.id = d.event_id
    where d.id = ${deliveryId} and d.webhook_id = ${webhookId}
  `.execute(tx);
  const [delivery] = rows;
  if (!delivery)
    throw (await isPending(tx, webhookId, deliveryId)) ? pending() : new ServiceError('not_found');
  if (catalogueEntry(delivery.event)?.audience === 'webhook')
    throw new ServiceError('conflict', 'Tests cannot be redelivered. Send a new test.');
  if (!delivery.allowed)
    throw new ServiceError('conflict', 'The app can no longer get this event.');
  // If two requests come at once, the second finds the row gone.
  const moved = await requeue(tx, appId, webhookId, [deliveryId]);
  if (moved === 0) throw pending();
}

async function isPending(tx: Transaction, webhookId: string, deliveryId: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 from pending_deliveries where id = ${deliveryId} and webhook_id = ${webhookId}
  `.execute(tx);
  return rows.length > 0;
}

function pending(): ServiceError {
  return new ServiceError('conflict', 'The delivery is pending and is retried automatically.');
}

/** Returns one result for each id, in the same order. Each is a `change` of its own. */
export async function redeliverSeveral(
  database: Database,
  appId: string,
  deliveryIds: string[],
  change: Change,
): Promise<Redelivery[]> {
  const webhooks = await findWebhooks(database, appId, deliveryIds);
  const results: Redelivery[] = [];
  for (const deliveryId of deliveryIds) {
    const webhookId = webhooks.get(deliveryId.toLowerCase());
    const reason =
      webhookId === undefined
        ? 'There is no such delivery.'
        : await change((tx) => redeliverOne(tx, appId, webhookId, deliveryId));
    results.push({ deliveryId, redelivered: reason === null, reason });
  }
  return results;
}

/** The errors that are about one delivery or its webhook. */
const reasons = new Set<string>(['conflict', 'not_found', 'suspended']);

/** Returns why the delivery cannot be sent, or null. */
async function redeliverOne(
  tx: Transaction,
  appId: string,
  webhookId: string,
  deliveryId: string,
): Promise<string | null> {
  try {
    await redeliver(tx, appId, webhookId, deliveryId);
    return null;
  } catch (error) {
    if (error instanceof ServiceError && reasons.has(error.code)) return error.message;
    throw error;
  }
}

async function findWebhooks(
  database: Database,
  appId: string,
  deliveryIds: string[],
): Promise<Map<string, string>> {
  const { rows } = await sql<{ id: string; webhookId: string }>`
    select d.id, d.webhook_id as "webhookId" from (
      select id, webhook_id from pending_deliveries where id = any(${deliveryIds}::uuid[])
      union all
      select id, webhook_id from deliveries where id = any(${deliveryIds}::uuid[])
    ) d join webhooks w on w.id = d.webhook_id and w.app_id = ${appId}
  `.execute(database);
  return new Map(rows.map(({ id, webhookId }) => [id, webhookId]));
}

/** Deliveries that ended undelivered, except those cancelled by someone who may decide so. */
export const recoverable = sql`(status <> 'succeeded' and (status = 'failed' or cancelled_by in ('deactivation', 'suspension')))`;

/**
 * Moves ended deliveries back to the queue with the same id and the same bytes, in a new cycle of attempts: those of
 * `deliveryIds` that still match `among`, each due at its time or now. Returns how many. Sends nothing; the worker claims them and
 * checks permission as usual. Locks the webhook until the end of the transaction, against its deactivation, which would find none
 * of these deliveries to cancel. Choose the deliveries before calling. Throws as `requireActive`.
 */
export async function requeue(
  tx: Transaction,
  appId: string,
  webhookId: string,
  deliveryIds: string[],
  among: typeof recoverable = sql`true`,
  dueAt: Date[] | null = null,
): Promise<number> {
  await requireActive(tx, appId, webhookId, sql`for share`);
  const queued = await sql`
    with chosen as materialized (
      -- In order of ids, so that two requests for the same deliveries wait for each other instead of deadlocking.
      select id from deliveries
      where id = any(${deliveryIds}::uuid[]) and webhook_id = ${webhookId} and ${among}
      order by id for update
    ),
    ended as (
      delete from deliveries where id = any(array(select id from chosen))
      returning id, event_id, event, webhook_id, attempt_count, created_at
    )
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, attempt_count, due_at, created_at)
    select id, event_id, event, webhook_id, 'redelivery', attempt_count, coalesce(g.due_at, queue_now()), created_at
    from ended join unnest(${deliveryIds}::uuid[], ${dueAt?.map((at) => at.toISOString()) ?? null}::timestamptz[]) as g(id, due_at) using (id)
  `.execute(tx);
  await sql`select pg_notify(${queueChannel}, '')`.execute(tx);
  return changedRows(queued);
}

/** Throws `not_found`, `suspended`, and `conflict` for a deactivated webhook. */
export async function requireActive(
  tx: Transaction,
  appId: string,
  webhookId: string,
  hold = sql``,
): Promise<{ url: string }> {
  const { rows } = await sql<{ active: boolean; url: string }>`
    select active, url from webhooks where id = ${webhookId} and app_id = ${appId} ${hold}
  `.execute(tx);
  const [webhook] = rows;
  if (!webhook) throw new ServiceError('not_found');
  if (webhook.active) return webhook;
  await requireNotSuspended(tx, 'webhook', webhookId, appId);
  throw new ServiceError('conflict', 'The webhook is deactivated. Activate it first.');
}
