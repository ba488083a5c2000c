/** The ways somebody signs in to their account: a password, and providers. */
import { sql, type Executor, type Transaction } from '../database/database.ts';
import { ServiceError } from '../errors.ts';

/** `credential` is the password. */
export type Method = { id: string; provider: string; createdAt: Date };

/** Oldest first. */
export async function listMethods(executor: Executor, userId: string): Promise<Method[]> {
  const { rows } = await sql<Method>`
    select id, provider_id as provider, created_at as "createdAt" from accounts
    where user_id = ${userId} order by created_at, id
  `.execute(executor);
  return rows;
}

/**
 * Removes one and returns its provider. `usable`: the providers that this service has now.
 * Throws `not_found`, and `conflict` if no other method would be left to sign in with.
 */
export async function removeMethod(
  tx: Transaction,
  userId: string,
  methodId: string,
  usable: ReadonlySet<string>,
): Promise<string> {
  // Two removals at once must not each leave the other's method as the last one.
  await sql`select from users where id = ${userId} for update`.execute(tx);
  const methods = await listMethods(tx, userId);
  const method = methods.find(({ id }) => id === methodId);
  if (!method) throw new ServiceError('not_found');
  const others = methods.filter(({ id, provider }) => id !== methodId && usable.has(provider));
  if (others.length === 0)
    throw new ServiceError('conflict', 'This is your only way to sign in. Add another one first.');
  await sql`delete from accounts where id = ${methodId}`.execute(tx);
  return method.provider;
}
