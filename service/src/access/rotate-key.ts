/** Replaces a key with a new one with the same scopes. Both stay valid during the overlap. */
import { sql, type Transaction, asUuid } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import type { Actor } from './actor.ts';
import { recordAudit } from './audit-log.ts';
import { enforceKeyLimit, storeKey, type KeyScope } from './keys.ts';
import { requireNotSuspended } from './suspensions.ts';

type Row = {
  id: string;
  appId: string | null;
  name: string;
  scopes: KeyScope[];
  /** The expiry before the rotation. */
  expiresAt: Date | null;
  usable: boolean;
  temporary: boolean;
};

/**
 * Returns the new key, which no other call returns, and when the old one expires. Throws `not_found`, `suspended`, and
 * `conflict` for a key that is not valid, or a temporary one.
 */
export async function rotateKey(
  tx: Transaction,
  actor: Actor,
  id: string,
  overlapSeconds: number,
  keyOf?: (id: string) => string,
): Promise<{ id: string; key: string; oldEndsAt: Date }> {
  const old = await lockKey(tx, id);
  if (!old.usable)
    throw new ServiceError(
      'conflict',
      `The key ${id} has expired or was revoked. Create a new one.`,
    );
  if (old.temporary)
    throw new ServiceError(
      'conflict',
      `The key ${id} is a temporary one, which ends by itself. Create a new one.`,
    );
  await requireNotSuspended(tx, 'key', old.id, old.appId);
  const oldEndsAt = await shorten(tx, old.id, overlapSeconds);
  await enforceKeyLimit(tx, old.appId);
  const created = await storeKey(tx, actor, old.appId, old, old.scopes, keyOf);
  await recordAudit(tx, actor, {
    action: 'key.rotated',
    subject: { kind: 'key', id: old.id },
    appId: old.appId,
    details: { name: old.name, newKeyId: created.id, oldEndsAt },
  });
  return { ...created, oldEndsAt };
}

/** Locks the app first, in the same order as creating a key does. */
async function lockKey(tx: Transaction, id: string): Promise<Row> {
  await sql`
    select from apps where id = (select app_id from api_keys where id = ${asUuid(id)}) for update
  `.execute(tx);
  const { rows } = await sql<Row>`
    select id, app_id as "appId", name, scopes, expires_at as "expiresAt", temporary,
      revoked_at is null and coalesce(expires_at > now(), true) as usable
    from api_keys where id = ${asUuid(id)} for update
  `.execute(tx);
  const [row] = rows;
  if (!row) throw new ServiceError('not_found', `There is no key with the id ${id}.`);
  return row;
}

async function shorten(tx: Transaction, id: string, overlapSeconds: number): Promise<Date> {
  const { rows } = await sql<{ expiresAt: Date }>`
    -- Rounds down to the column's millisecond: rounded up, a key that ends now would still count as usable.
    update api_keys set expires_at =
      least(expires_at, date_trunc('milliseconds', now()) + ${overlapSeconds} * interval '1 second')
    where id = ${id} returning expires_at as "expiresAt"
  `.execute(tx);
  const [row] = rows;
  if (!row) throw new Error('the key went away while it was locked');
  return row.expiresAt;
}
