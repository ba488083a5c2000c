/** Makes slugs from names: transliterated, unique, and never a word that a route uses. */
import anyAscii from 'any-ascii';
import { slugReservedDays } from '../contract/periods.ts';
import { type Transaction, sql } from '../database/database.ts';
import { type SlugTable, lockTable } from './lock-directory.ts';

const lengthMax = 80;
/** Leaves room for `-` and a number, so that a long name stays unique within the limit. */
const baseLengthMax = 72;
const reserved = new Set([
  'new',
  'edit',
  'search',
  'bulk',
  'export',
  'import',
  'managers',
  'members',
  'me',
  'null',
  'undefined',
]);

/** The slug of a name before it is made unique. Never empty. */
export function slugBase(name: string): string {
  const words = anyAscii(name)
    .toLowerCase()
    .replace(/['’]/g, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  const base = words.slice(0, baseLengthMax).replace(/-+$/, '') || 'unnamed';
  return reserved.has(base) ? `${base}-1` : base;
}

/** Whether a given slug is valid and not reserved. */
export function isAllowedSlug(slug: string): boolean {
  return slug.length <= lengthMax && !reserved.has(slug);
}

/** Assigns slugs within one transaction: call `start` once, then `allot` for each batch. */
export class SlugAllocator {
  readonly #tx: Transaction;
  readonly #table: SlugTable;
  readonly #nextNumber = new Map<string, number>();
  /** Assigned or reserved by this transaction; the database may not have them yet. */
  readonly #taken = new Set<string>();

  private constructor(tx: Transaction, table: SlugTable) {
    this.#tx = tx;
    this.#table = table;
  }

  static async start(tx: Transaction, table: SlugTable): Promise<SlugAllocator> {
    // Two transactions that assign slugs at once would choose the same one, so the second waits for the first.
    await lockTable(tx, table);
    return new SlugAllocator(tx, table);
  }

  /** One slug for each name, in order: `acme`, `acme-2`, `acme-3` … */
  async allocate(names: string[]): Promise<string[]> {
    const bases = names.map(slugBase);
    await this.#learn([...new Set(bases)].filter((base) => !this.#nextNumber.has(base)));
    return bases.map((base) => this.#next(base));
  }

  /** Reserves given slugs, so that `allot` does not assign them. */
  reserve(slugs: string[]): void {
    for (const slug of slugs) this.#taken.add(slug);
  }

  #next(base: string): string {
    let number = this.#nextNumber.get(base) ?? 1;
    while (this.#taken.has(numbered(base, number))) number += 1;
    this.#nextNumber.set(base, number + 1);
    this.#taken.add(numbered(base, number));
    return numbered(base, number);
  }

  /** Finds, for each base, the first number above those in use and those reserved for former owners. */
  async #learn(bases: string[]): Promise<void> {
    for (const base of bases) this.#nextNumber.set(base, 1);
    if (bases.length === 0) return;
    const { rows } = await sql<{ base: string; slug: string }>`
      select base, t.slug
      from unnest(${bases}::text[]) as base
      -- '.' follows '-' in the "C" order, so this is the range of everything that begins with base-
      join ${sql.table(this.#table)} t
        on t.slug = base or (t.slug >= base || '-' and t.slug < base || '.')
      union all
      select base, f.slug
      from unnest(${bases}::text[]) as base
      join former_slugs f on f.kind = ${this.#table} and ${isReserved}
        and (f.slug = base or (f.slug >= base || '-' and f.slug < base || '.'))
    `.execute(this.#tx);
    for (const { base, slug } of rows) {
      // Also if its number is too long to be counted from.
      this.#taken.add(slug);
      const number =
        slug === base ? 1 : Number(/^\d{1,6}$/.exec(slug.slice(base.length + 1))?.[0] ?? 0);
      this.#nextNumber.set(base, Math.max(this.#nextNumber.get(base) ?? 1, number + 1));
    }
  }
}

function numbered(base: string, number: number): string {
  return number === 1 ? base : `${base}-${number}`;
}

/** `entryId` is the former owner. */
export type ReservedSlug = { entryId: string; freeAt: string };

/** Those of `slugs` that are reserved for their former owners. */
export async function reservedSlugs(
  tx: Transaction,
  table: SlugTable,
  slugs: string[],
): Promise<Map<string, ReservedSlug>> {
  const { rows } = await sql<{ slug: string; entry_id: string; free_at: Date }>`
    select slug, entry_id, left_at + make_interval(days => ${slugReservedDays}) as free_at
    from former_slugs where kind = ${table} and slug = any(${slugs}::text[]) and ${isReserved}
  `.execute(tx);
  return new Map(
    rows.map((row) => [row.slug, { entryId: row.entry_id, freeAt: row.free_at.toISOString() }]),
  );
}

/** The SQL condition for a former slug that is still reserved. */
export const isReserved = sql`left_at > now() - make_interval(days => ${slugReservedDays})`;

/** Without a full stop, to be used as a reason or within a sentence. */
export function describeReservation(slug: string, { freeAt }: ReservedSlug): string {
  return `slug ${slug} belonged to an entry that was renamed, and stays reserved until ${freeAt}`;
}
