/**
 * Idempotency keys of publications: the first use makes the event, later uses return that event. One transaction writes
 * the key and its event, so that a crash leaves both or neither.
 */
import { sql, type Database, type Transaction } from '../database/database.ts';
import { deleteInBatches } from '../database/delete-in-batches.ts';

/** Long enough for a platform that was down over a long weekend to repeat its last publications. */
export const retentionDays = 7;

export type Claim =
  /** The key is free; the caller publishes under `eventId`. */
  | { kind: 'new'; eventId: string }
  | { kind: 'repeated'; eventId: string }
  /** The key was used for different content. */
  | { kind: 'taken' };

/** Takes a key for this content. Another caller with the same key waits until this transaction ends. */
export async function claimIdempotencyKey(
  tx: Transaction,
  key: string,
  content: Buffer,
  eventId: string,
): Promise<Claim> {
  const { rows } = await sql<{ eventId: string }>`
    insert into idempotency_keys as k (key, content, event_id, expires_at)
    values (${key}, ${content}, ${eventId}, now() + ${retentionDays} * interval '1 day')
    -- An expired key counts as unused even before it is deleted.
    on conflict (key) do update
      set content = excluded.content, event_id = excluded.event_id, created_at = now(), expires_at = excluded.expires_at
      where k.expires_at <= now()
    returning event_id as "eventId"
  `.execute(tx);
  return rows.length > 0 ? { kind: 'new', eventId } : readClaim(tx, key, content);
}

async function readClaim(tx: Transaction, key: string, content: Buffer): Promise<Claim> {
  const { rows } = await sql<{ eventId: string; same: boolean }>`
    select event_id as "eventId", content = ${content} as same from idempotency_keys where key = ${key}
  `.execute(tx);
  const [row] = rows;
  if (!row) throw new Error('an idempotency key went away while it was locked');
  return row.same ? { kind: 'repeated', eventId: row.eventId } : { kind: 'taken' };
}

/** Deletes expired keys in batches and returns how many. Waits for no lock. */
export async function dropExpiredKeys(database: Database): Promise<number> {
  return deleteInBatches(database, {
    table: 'idempotency_keys',
    key: 'key',
    condition: sql`expires_at <= now()`,
  });
}
