/**
 * Finds the lines of an import that would create an entry a second time: those without a slug whose name was in the
 * directory before the import. Names repeated within the import are different entries of the same name.
 */
import { sql, type Transaction } from '../database/database.ts';
import { foldText } from './fold-text.ts';

const namesShownMax = 5;

/** Thrown to undo an import that would create entries a second time. The message has no full stop. */
export class ExistingNamesError extends Error {
  override readonly name = 'ExistingNamesError';
  readonly details: { existing: number; withoutSlug: number; names: string[] };

  constructor(existing: number, withoutSlug: number, allNames: string[]) {
    const names = allNames.slice(0, namesShownMax);
    const quoted = names.map((name) => `"${name}"`);
    const shown = [...quoted, ...(allNames.length > names.length ? ['…'] : [])].join(', ');
    super(
      `${existing} of ${withoutSlug} names without a slug ${existing === 1 ? 'is' : 'are'} already in the directory (${shown})`,
    );
    this.details = { existing, withoutSlug, names };
  }
}

/** Counts over all batches of an import. */
export class ExistingNames {
  readonly #tx: Transaction;
  readonly #kind: 'orgs' | 'alliances';
  readonly #names = new Set<string>();
  #existing = 0;
  #withoutSlug = 0;

  constructor(tx: Transaction, kind: 'orgs' | 'alliances') {
    this.#tx = tx;
    this.#kind = kind;
  }

  get any(): boolean {
    return this.#existing > 0;
  }

  /** Call it before the batch is written. */
  async look(batch: { slug: string | null; name: string }[]): Promise<void> {
    const names = batch.filter(({ slug }) => slug === null).map(({ name }) => name);
    if (names.length === 0) return;
    const found = await this.#find([...new Set(names)]);
    this.#withoutSlug += names.length;
    for (const name of names.filter((each) => found.has(each))) {
      this.#existing += 1;
      this.#names.add(name);
    }
  }

  error(): ExistingNamesError {
    return new ExistingNamesError(this.#existing, this.#withoutSlug, [...this.#names]);
  }

  /** Compares exact names, because different companies have names that differ only in case. */
  async #find(names: string[]): Promise<Set<string>> {
    // Each condition has an index on name_sort.
    const parts = this.#kind === 'orgs' ? [sql`t.listed`, sql`not t.listed`] : [sql`true`];
    const table = sql.table(this.#kind);
    const exists = parts.map(
      (part) => sql`(
        -- a scalar subquery with a limit is looked up in the index for each name, never hashed
        select true from ${table} t
        where t.name_sort = given.name_sort and t.name = given.name and ${part}
          -- not a row that this import has created; it may have updated an older one
          and (t.xmin <> pg_current_xact_id()::xid or t.created_at < now() - interval '1 second')
        limit 1
      )`,
    );
    const { rows } = await sql<{ name: string }>`
      select given.name
      from unnest(${names}::text[], ${names.map(foldText)}::text[]) as given (name, name_sort)
      where ${sql.join(exists, sql` or `)}
    `.execute(this.#tx);
    return new Set(rows.map(({ name }) => name));
  }
}
