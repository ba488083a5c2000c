/** Sends one ended delivery again, whatever its outcome. To send many, see `replay.ts`. */
import { type Change, type Database, type Transaction, sql } from '../../database/database.ts';
import { ServiceError } from '../../errors.ts';
import { catalogueEntry } from '../../events/catalogue.ts';
import { requeue, requireActive } from './requeue.ts';
import type { Redelivery } from '../../contract/portal-deliveries.ts';

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
