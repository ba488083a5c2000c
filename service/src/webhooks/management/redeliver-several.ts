/** Sends several ended deliveries of an app again, each by itself: one that cannot be sent does not stop the others. */
import { sql, type Database } from '../../database/database.ts';
import { ServiceError } from '../../errors.ts';
import type { Redelivery } from '../../contract/portal-deliveries.ts';
import { redeliver } from './redeliver.ts';

/** Returns one result for each id, in the same order. */
export async function redeliverSeveral(
  database: Database,
  appId: string,
  deliveryIds: string[],
): Promise<Redelivery[]> {
  const webhooks = await findWebhooks(database, appId, deliveryIds);
  const results: Redelivery[] = [];
  for (const deliveryId of deliveryIds) {
    const webhookId = webhooks.get(deliveryId.toLowerCase());
    const reason =
      webhookId === undefined
        ? 'There is no such delivery.'
        : await redeliverOne(database, appId, webhookId, deliveryId);
    results.push({ deliveryId, redelivered: reason === null, reason });
  }
  return results;
}

/** Returns why the delivery cannot be sent, or null. */
async function redeliverOne(
  database: Database,
  appId: string,
  webhookId: string,
  deliveryId: string,
): Promise<string | null> {
  try {
    await database.transaction().execute((tx) => redeliver(tx, appId, webhookId, deliveryId));
    return null;
  } catch (error) {
    if (error instanceof ServiceError && (error.code === 'conflict' || error.code === 'not_found'))
      return error.message;
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
