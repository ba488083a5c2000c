/**
 * Moves ended deliveries back to the queue: the same id and the same bytes, in a fresh cycle of attempts. The
 * worker does the rest, and checks permission as always.
 */
import { sql, type Transaction } from '../../database/database.ts';
import { ServiceError } from '../../errors.ts';
import { eventsChannel } from '../../events/record-event.ts';

/** What ended without having been delivered, and not by the will of whoever may decide it. */
export const recoverable = sql`(status = 'failed' or cancelled_by = 'deactivation')`;

/**
 * Those of these that are still `among` what may be sent again; returns how many. From here to the end of the
 * transaction the webhook is held against its deactivation, which would find none of them to cancel, and against what
 * is recorded for it: choose first. Throws `not_found`, `conflict`.
 */
export async function queueAgain(
  tx: Transaction,
  appId: string,
  webhookId: string,
  deliveryIds: string[],
  among: typeof recoverable = sql`true`,
): Promise<number> {
  await requireActive(tx, appId, webhookId, sql`for share`);
  const { rows } = await sql<{ count: number }>`
    with chosen as materialized (
      -- In the order of ids: two who ask for the same at once wait for each other, and do not deadlock.
      select id from deliveries
      where id = any(${deliveryIds}::uuid[]) and webhook_id = ${webhookId} and ${among}
      order by id for update
    ),
    ended as (
      delete from deliveries where id = any(array(select id from chosen))
      returning id, event_id, event, webhook_id, attempt_count, created_at
    ),
    queued as (
      insert into pending_deliveries (id, event_id, event, webhook_id, trigger, attempt_count, due_at, created_at, failing)
      select id, event_id, event, webhook_id, 'redelivery', attempt_count, queue_now(), created_at,
        -- To a receiver that is down still they go where they keep nobody else waiting.
        (select is_failing(last_success_at, last_failure_at) from webhooks where id = ${webhookId})
      from ended
      returning 1
    )
    select count(*) as count from queued
  `.execute(tx);
  await sql`select pg_notify(${eventsChannel}, '')`.execute(tx);
  return rows[0]?.count ?? 0;
}

/** Throws `not_found`, and `conflict` for a webhook that gets nothing. */
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
  if (!webhook.active)
    throw new ServiceError('conflict', 'The webhook is deactivated; activate it first.');
  return webhook;
}
