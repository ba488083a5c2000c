/** What all writes of an entry share: its slug, free or renamed, its fields, its options. Call it under the lock of the table. */
import { type Transaction, sql } from '../database/database.ts';
import { ServiceError, invalid } from '../errors.ts';
import { describeReservation, isAllowedSlug, isReserved, reservedSlugs } from './slug.ts';
import type { SlugTable } from './lock-directory.ts';
import type { Static, TObject } from 'typebox';
import type { Actor } from '../access/actor.ts';

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

/** Picks the fields of an entry that its input schema has. */
export function pickFields<Input extends TObject>(
  input: Input,
  entry: Static<Input>,
): Static<Input> {
  const fields = Object.entries(entry as object).filter(([name]) => name in input.properties);
  return Object.fromEntries(fields) as Static<Input>;
}

/** The options of a write of one entry. */
export type WriteOptions<Entry> = {
  actor: Actor;
  /** The base of addresses in events and in the returned entry. */
  publicUrl: string;
  /** Called under the row's lock with the current entry, or null. Throws if the caller saw another version. */
  check: (current: Entry | null) => void;
  /** Keeps a name that the write changes as an alias. */
  keepName?: boolean;
};
export type Written<Entry> = { created: boolean; entry: Entry };
