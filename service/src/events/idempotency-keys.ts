/**
 * Idempotency keys of publications: the first use makes the event, later uses return that event. One statement writes
 * the key and its event (`directory/publications.ts`), so that a crash leaves both or neither.
 */
import { sql, type Database } from '../database/database.ts';
import { deleteInBatches } from '../database/delete-in-batches.ts';

/** Long enough for a platform that was down over a long weekend to repeat its last publications. */
export const idempotencyKeyDays = 7;

/** Deletes expired keys, those of creations too, in batches, and returns how many. Waits for no lock. */
export async function dropExpiredKeys(database: Database): Promise<number> {
  const condition = sql`expires_at <= now()`;
  const ofWebhooks = { table: 'webhook_idempotency_keys', key: 'webhook_id', condition };
  const ofCreations = { table: 'creation_idempotency_keys', key: 'key', condition };
  return (
    (await deleteInBatches(database, { table: 'idempotency_keys', key: 'key', condition })) +
    (await deleteInBatches(database, ofWebhooks)) +
    (await deleteInBatches(database, ofCreations))
  );
}
