/**
 * Slugs that entries had before they were renamed. Whoever follows an old address must not arrive at somebody else, so
 * for thirty days nobody else is given one. The schema writes them down, whoever renames.
 */
import { sql, type Transaction } from '../database/database.ts';
import type { SlugTable } from './lock-directory.ts';

/** `entryId` is whose it was. */
export type HeldSlug = { entryId: string; freeAt: string };

const holdDays = 30;

/** Those of `slugs` that are kept for who had them. */
export async function heldSlugs(
  tx: Transaction,
  table: SlugTable,
  slugs: string[],
): Promise<Map<string, HeldSlug>> {
  const { rows } = await sql<{ slug: string; entry_id: string; free_at: Date }>`
    select slug, entry_id, left_at + make_interval(days => ${holdDays}) as free_at
    from former_slugs where kind = ${table} and slug = any(${slugs}::text[]) and ${stillHeld}
  `.execute(tx);
  return new Map(
    rows.map((row) => [row.slug, { entryId: row.entry_id, freeAt: row.free_at.toISOString() }]),
  );
}

/** What a former slug must be to be held, in SQL. */
export const stillHeld = sql`left_at > now() - make_interval(days => ${holdDays})`;

/** Without its end, to be a reason or a sentence. */
export function describeHold(slug: string, { freeAt }: HeldSlug): string {
  return `slug ${slug} belonged to another entry until that was renamed, and is given to nobody else before ${freeAt}`;
}
