/**
 * Slugs that entries had before they were renamed. An old address must not lead to another entry, so for thirty days
 * only the former owner can take the slug back. A trigger records them, whoever renames.
 */
import { sql, type Transaction } from '../database/database.ts';
import type { SlugTable } from './lock-directory.ts';

/** `entryId` is the former owner. */
export type ReservedSlug = { entryId: string; freeAt: string };

const holdDays = 30;

/** Those of `slugs` that are reserved for their former owners. */
export async function reservedSlugs(
  tx: Transaction,
  table: SlugTable,
  slugs: string[],
): Promise<Map<string, ReservedSlug>> {
  const { rows } = await sql<{ slug: string; entry_id: string; free_at: Date }>`
    select slug, entry_id, left_at + make_interval(days => ${holdDays}) as free_at
    from former_slugs where kind = ${table} and slug = any(${slugs}::text[]) and ${isReserved}
  `.execute(tx);
  return new Map(
    rows.map((row) => [row.slug, { entryId: row.entry_id, freeAt: row.free_at.toISOString() }]),
  );
}

/** The SQL condition for a former slug that is still reserved. */
export const isReserved = sql`left_at > now() - make_interval(days => ${holdDays})`;

/** Without a full stop, to be used as a reason or within a sentence. */
export function describeReservation(slug: string, { freeAt }: ReservedSlug): string {
  return `slug ${slug} belonged to an entry that was renamed, and stays reserved until ${freeAt}`;
}
