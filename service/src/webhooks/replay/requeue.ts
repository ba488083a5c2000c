/**
 * Moves ended deliveries back to the queue with the same id and the same bytes, in a new cycle of attempts. Sends
 * nothing; the worker claims them and checks permission as usual.
 */
import { requireNotSuspended } from '../../access/suspensions.ts';
import { changedRows, sql, type Transaction } from '../../database/database.ts';
import { ServiceError } from '../../errors.ts';
import { queueChannel } from '../../events/queue-channel.ts';

/** Deliveries that ended undelivered, except those cancelled by someone who may decide so. */
export const recoverable = sql`(status <> 'succeeded' and (status = 'failed' or cancelled_by in ('deactivation', 'suspension')))`;

/**
 * Queues those of `deliveryIds` that still match `among`, each due at its time or now, and returns how many. Locks the
 * webhook until the end of the transaction, against its deactivation, which would find none of these deliveries to cancel.
 * Choose the deliveries before calling. Throws as `requireActive`.
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
