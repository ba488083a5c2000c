/** Walks the secrets that a table stores encrypted with SECRET_KEY: encrypts them again, or tries to decrypt them. */
import type { SecretBox } from '../runtime/secret-box.ts';
import { sql, type Database, type Executor } from './database.ts';

export type SealedTable = {
  name: string;
  /** The column with the id of a row. */
  key: string;
  columns: SealedColumn[];
};
type SealedColumn = {
  name: string;
  /** What the secret is bound to (`SecretBox.seal`). */
  owner(id: string): string;
  /** While the secret is needed; without one it always is. */
  neededIf?: ReturnType<typeof sql<boolean>>;
};
type SealedRow = { id: string; secrets: { column: string; owner: string; sealed: Buffer }[] };

type Resealed = {
  /** Secrets that were encrypted again; each column counts separately. */
  resealed: number;
  /** Secrets that used the first key already. */
  unchanged: number;
  /** Ids of rows with a secret that no key opens; it stays unchanged. */
  unreadable: string[];
};

/** Rows locked at once. */
const batchSize = 500;
const nothingBefore = '00000000-0000-0000-0000-000000000000';

/**
 * Encrypts all secrets that are needed with the first key of SECRET_KEY, so that the other keys can be removed. Works in order of ids and
 * in batches, each with its own commit, so that an interrupted run can continue.
 */
export async function resealSecrets(
  database: Database,
  secretBox: SecretBox,
  table: SealedTable,
): Promise<Resealed> {
  const done: Resealed = { resealed: 0, unchanged: 0, unreadable: [] };
  let after: string | undefined = nothingBefore;
  while (after !== undefined) {
    const last: string = after;
    after = await database.transaction().execute(async (tx) => {
      const rows = await readRows(tx, table, last, true);
      for (const row of rows) await resealRow(tx, secretBox, table, row, done);
      return rows.at(batchSize - 1)?.id;
    });
  }
  return done;
}

async function resealRow(
  tx: Executor,
  secretBox: SecretBox,
  { name, key }: SealedTable,
  { id, secrets }: SealedRow,
  done: Resealed,
): Promise<void> {
  const old = secrets.filter(({ sealed }) => !secretBox.isNewest(sealed));
  const changes = old.flatMap(({ column, owner, sealed }) => {
    const secret = secretBox.tryOpen(sealed, owner);
    return secret === null ? [] : [sql`${sql.ref(column)} = ${secretBox.seal(secret, owner)}`];
  });
  done.unchanged += secrets.length - old.length;
  done.resealed += changes.length;
  if (changes.length < old.length) done.unreadable.push(id);
  // Leaves `updated_at` alone, because nothing changes that the owner could see.
  if (changes.length > 0)
    await sql`update ${sql.table(name)} set ${sql.join(changes)} where ${sql.ref(key)} = ${id}`.execute(
      tx,
    );
}

/** Counts rows, at least `most` of them if there are so many, and those with a needed secret that no key opens. */
export async function tryToOpen(
  database: Database,
  secretBox: SecretBox,
  table: SealedTable,
  most: number,
): Promise<{ tried: number; undecryptable: number }> {
  const count = { tried: 0, undecryptable: 0 };
  let after: string | undefined = nothingBefore;
  while (after !== undefined && count.tried < most) {
    const rows: SealedRow[] = await readRows(database, table, after, false);
    count.tried += rows.length;
    count.undecryptable += rows.filter(({ secrets }) =>
      secrets.some(({ sealed, owner }) => secretBox.tryOpen(sealed, owner) === null),
    ).length;
    after = rows.at(batchSize - 1)?.id;
  }
  return count;
}

/** Returns the next rows with the secrets that are needed; locked, to change them. */
async function readRows(
  database: Executor,
  { name, key, columns }: SealedTable,
  after: string,
  toChange: boolean,
): Promise<SealedRow[]> {
  const id = sql.ref(key);
  const values = columns.map((column) =>
    column.neededIf
      ? sql`case when ${column.neededIf} then ${sql.ref(column.name)} end`
      : sql.ref(column.name),
  );
  const { rows } = await sql<{ id: string; sealed: (Buffer | null)[] }>`
    select ${id} as id, array[${sql.join(values)}] as sealed from ${sql.table(name)}
    where ${id} > ${after} order by ${id} limit ${batchSize} ${toChange ? sql`for update` : sql``}
  `.execute(database);
  return rows.map((row) => ({
    id: row.id,
    secrets: columns.flatMap((column, index) => {
      const sealed = row.sealed[index];
      return sealed ? [{ column: column.name, owner: column.owner(row.id), sealed }] : [];
    }),
  }));
}
