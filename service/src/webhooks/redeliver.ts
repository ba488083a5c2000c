/**
 * Sends ended deliveries again: the same id and the same bytes, in a fresh cycle of up to six attempts.
 * It moves them back to the queue; the worker does the rest, and checks permission as always.
 */
import { sql, type Transaction } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import { eventsChannel } from '../events/record-event.ts';

/** SPEC 4. */
const recoveredMax = 10_000;

/** One delivery. Throws `not_found`, and `conflict` where it is pending, is a test, or may not be sent. */
export async function redeliver(
  tx: Transaction,
  appId: string,
  webhookId: string,
  deliveryId: string,
): Promise<void> {
  await requireActive(tx, appId, webhookId);
  // Before the ended ones: a delivery that ends meanwhile is found in one of the two.
  if (await isPending(tx, webhookId, deliveryId)) throw pending();
  const { rows } = await sql<{ event: string; allowed: boolean }>`
    select d.event, app_may_receive(e.audience, e.org_id, e.alliance_id, e.created_at, ${appId}) as allowed
    from deliveries d join events e on e.id = d.event_id
    where d.id = ${deliveryId} and d.webhook_id = ${webhookId}
  `.execute(tx);
  const [delivery] = rows;
  if (!delivery)
    throw (await isPending(tx, webhookId, deliveryId)) ? pending() : new ServiceError('not_found');
  if (delivery.event === 'webhook.test')
    throw new ServiceError('conflict', 'A test is not sent again; send a new one.');
  if (!delivery.allowed)
    throw new ServiceError('conflict', 'The app may no longer have this event.');
  // Of two who ask at once, one finds the row gone.
  const moved = await moveBack(tx, sql`select ${deliveryId}::uuid as id`);
  if (moved === 0) throw pending();
}

/** Those that failed, and those that deactivation cancelled, since a time; at most 10,000, oldest first. Returns how many. Throws `not_found`, `conflict`. */
export async function recover(
  tx: Transaction,
  appId: string,
  webhookId: string,
  since: Date,
): Promise<number> {
  await requireActive(tx, appId, webhookId);
  return moveBack(
    tx,
    sql`
    select d.id from deliveries d join events e on e.id = d.event_id
    where d.webhook_id = ${webhookId} and d.completed_at >= ${since.toISOString()}::timestamptz
      and (d.status = 'failed' or d.cancelled_by = 'deactivation') and d.event <> 'webhook.test'
      and app_may_receive(e.audience, e.org_id, e.alliance_id, e.created_at, ${appId})
    order by d.id limit ${recoveredMax}
  `,
  );
}

async function requireActive(tx: Transaction, appId: string, webhookId: string): Promise<void> {
  // Held against deactivation until these are in the queue, where it would cancel them.
  const { rows } = await sql<{ active: boolean }>`
    select active from webhooks where id = ${webhookId} and app_id = ${appId} for share
  `.execute(tx);
  const [webhook] = rows;
  if (!webhook) throw new ServiceError('not_found');
  if (!webhook.active)
    throw new ServiceError('conflict', 'The webhook is deactivated; activate it first.');
}

async function moveBack(tx: Transaction, chosen: ReturnType<typeof sql>): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    with chosen as materialized (${chosen}),
    ended as (
      delete from deliveries d using chosen where d.id = chosen.id
      returning d.id, d.event_id, d.event, d.webhook_id, d.attempt_count, d.created_at
    ),
    queued as (
      insert into pending_deliveries (id, event_id, event, webhook_id, trigger, attempt_count, due_at, created_at)
      select id, event_id, event, webhook_id, 'redelivery', attempt_count, queue_now(), created_at from ended
      returning 1
    )
    select count(*) as count from queued
  `.execute(tx);
  await sql`select pg_notify(${eventsChannel}, '')`.execute(tx);
  return rows[0]?.count ?? 0;
}

async function isPending(tx: Transaction, webhookId: string, deliveryId: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 from pending_deliveries where id = ${deliveryId} and webhook_id = ${webhookId}
  `.execute(tx);
  return rows.length > 0;
}

function pending(): ServiceError {
  return new ServiceError('conflict', 'The delivery is pending; it is tried by itself.');
}
