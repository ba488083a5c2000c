/** Checks whether a given slug is free, and renames entries. Call it under the lock of the table. */
import { sql, type Transaction } from '../database/database.ts';
import { invalid, ServiceError } from '../errors.ts';
import { describeReservation, reservedSlugs, isReserved } from './former-slugs.ts';
import type { SlugTable } from './lock-directory.ts';
import { isAllowedSlug } from './slug.ts';

/** Gives an entry another slug. Throws `conflict` if another entry has it, or had it recently. */
export async function rename(
  tx: Transaction,
  table: SlugTable,
  id: string,
  slug: string,
): Promise<void> {
  await requireFreeSlug(tx, table, slug, id);
  await sql`delete from former_slugs where not ${isReserved}`.execute(tx);
  await sql`update ${sql.table(table)} set slug = ${slug} where id = ${id}`.execute(tx);
}

/**
 * Throws if the entry `ownId` (null: a new one) may not have `slug`, which is at `path` of the request. Call it under
 * the lock of its table.
 */
export async function requireFreeSlug(
  tx: Transaction,
  table: SlugTable,
  slug: string,
  ownId: string | null,
  path = 'body.slug',
): Promise<void> {
  if (!isAllowedSlug(slug)) throw invalid({ path, message: `${slug} is reserved` });
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(table)} where slug = ${slug} and id is distinct from ${ownId}::uuid
  `.execute(tx);
  if (rows.length > 0) throw new ServiceError('conflict', `The slug ${slug} is taken.`);
  const reservation = (await reservedSlugs(tx, table, [slug])).get(slug);
  if (!reservation || reservation.entryId === ownId) return;
  throw new ServiceError('conflict', `The ${describeReservation(slug, reservation)}.`, {
    details: { freeAt: reservation.freeAt },
  });
}
