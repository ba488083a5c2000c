/**
 * Keys under which a publication may be repeated: the first makes the event, the others learn which one that was. A key
 * and its event are written in one transaction, so that a crash leaves both or neither.
 */
import { sql, type Database, type Transaction } from '../database/database.ts';
import { deleteInBatches } from '../database/delete-in-batches.ts';

/** A platform that was down over a long weekend still repeats what it was not sure of. */
export const keptDays = 7;

export type Claim =
  /** It is this caller's to publish, as `eventId`. */
  | { kind: 'new'; eventId: string }
  | { kind: 'repeated'; eventId: string }
  /** It was used before, for something else. */
  | { kind: 'taken' };

/** Takes a key for this content. Who comes meanwhile with the same key waits until this transaction has ended. */
export async function claimIdempotencyKey(
  tx: Transaction,
  key: string,
  content: Buffer,
  eventId: string,
): Promise<Claim> {
  const { rows } = await sql<{ eventId: string }>`
    insert into idempotency_keys as k (key, content, event_id, expires_at)
    values (${key}, ${content}, ${eventId}, now() + ${keptDays} * interval '1 day')
    -- One that has run out is as good as none, also before it is dropped.
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

/** Deletes the keys that have run out, in batches. Returns how many. Waits for nobody. */
export async function dropExpiredKeys(database: Database): Promise<number> {
  return deleteInBatches(database, {
    table: 'idempotency_keys',
    key: 'key',
    condition: sql`expires_at <= now()`,
  });
}
