/** Publishes an event with an idempotency key: the same key and content give the same event. */
import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { sql, unavailable, type Transaction } from '../database/database.ts';
import { claimIdempotencyKey } from '../events/idempotency-keys.ts';
import { publishEvent, type Publication } from './publish-event.ts';

export type PublishedOnce =
  | { kind: 'published'; id: string }
  | { kind: 'repeated'; id: string }
  /** The key was used before with different content. */
  | { kind: 'taken' };

/** Longer than a publication takes unless something blocks it. */
const lockTimeoutMs = 15_000;

/**
 * A refused publication leaves the key free. Throws what `publishEvent` throws, and `unavailable` if another request
 * holds the key for longer.
 */
export async function publishOnce(
  tx: Transaction,
  key: string,
  publication: Publication,
  waitMs = lockTimeoutMs,
): Promise<PublishedOnce> {
  await sql`set local lock_timeout = ${sql.lit(waitMs)}`.execute(tx);
  return publish(tx, key, publication).catch((error: Error & { code?: string }) => {
    // lock_not_available
    throw error.code === '55P03' ? unavailable(error) : error;
  });
}

async function publish(
  tx: Transaction,
  key: string,
  publication: Publication,
): Promise<PublishedOnce> {
  const id = uuidv7();
  const claim = await claimIdempotencyKey(tx, key, contentOf(publication), id);
  if (claim.kind === 'taken') return claim;
  if (claim.kind === 'repeated') return { kind: 'repeated', id: claim.eventId };
  return { kind: 'published', id: await publishEvent(tx, { ...publication, id }) };
}

/** Hashes the request. The order of fields does not count, because some languages change it each time. */
function contentOf({ name, org, alliance, data }: Publication): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([name, org, alliance, sorted(data)]))
    .digest();
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  // Tagged, so that an object never hashes like a list of pairs.
  return { object: fields.map(([name, field]) => [name, sorted(field)]) };
}
