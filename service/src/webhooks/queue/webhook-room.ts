/** How many deliveries of a webhook a statement may lease, as `in-flight.ts` counts them. */
import { sql } from '../../database/database.ts';
import type { Room } from './in-flight.ts';

/** The CTE that `webhookRoom` reads: one parameter, so that the statement has no join with the webhooks that are named. */
export function roomsOf({ byWebhook }: Room) {
  return sql`rooms as materialized (select ${JSON.stringify(byWebhook)}::jsonb as by_webhook)`;
}

/** The room of the row's `webhook_id`. */
export function webhookRoom({ perWebhook, place, workers, atFirst }: Room) {
  return sql`coalesce(((select by_webhook from rooms) ->> webhook_id::text)::int,
    least(webhook_share(webhook_id, ${perWebhook}::int, ${place}::int, ${workers}::int), ${atFirst}::int))`;
}
