/**
 * Creates the index of a migration while others write. PostgreSQL does this outside a transaction, and not for a partitioned
 * table: its partitions get their indexes one after the other. After an interruption it goes on where it was.
 */
import { sql, type Database, type Transaction } from './database.ts';

/** A migration that is nothing but this. */
const form = /^(?:--.*\n)*create (unique )?index concurrently (\w+) on (\w+) ([^;]+);\s*$/;

export type IndexStatement = { unique: string; name: string; table: string; rest: string };

export function parseIndex(text: string): IndexStatement | null {
  const [, unique = '', name, table, rest] = form.exec(text) ?? [];
  return name && table && rest ? { unique, name, table, rest } : null;
}

/** `transact` runs statements that lock the table for a moment. */
export async function createIndex(
  connection: Database,
  { unique, name, table, rest }: IndexStatement,
  transact: (act: (tx: Transaction) => Promise<unknown>) => Promise<void>,
): Promise<void> {
  if (!(await isPartitioned(connection, table)))
    return createOn(connection, { unique, name, table, rest });
  // On the parent alone: it is valid when every partition has its part. Partitions that are created from now on have theirs.
  const whole = `create ${unique}index if not exists ${name} on only ${table} ${rest}`;
  await transact((tx) => sql.raw(whole).execute(tx));
  for (const partition of await listWithout(connection, table, name)) {
    const part = `${name}_${partition.slice(table.length + 1)}`;
    await createOn(connection, { unique, name: part, table: partition, rest });
    const attach = `alter index ${name} attach partition ${part}`;
    await transact((tx) => sql.raw(attach).execute(tx));
  }
}

async function createOn(
  connection: Database,
  { unique, name, table, rest }: IndexStatement,
): Promise<void> {
  const { rows } = await sql<{ is_valid: boolean }>`
    select indisvalid as is_valid from pg_index where indexrelid = to_regclass(${name})
  `.execute(connection);
  if (rows[0]?.is_valid) return;
  if (rows[0]) await sql.raw(`drop index concurrently ${name}`).execute(connection);
  await sql
    .raw(`create ${unique}index concurrently ${name} on ${table} ${rest}`)
    .execute(connection);
}

async function isPartitioned(connection: Database, table: string): Promise<boolean> {
  const { rows } = await sql`
    select from pg_partitioned_table where partrelid = to_regclass(${table})
  `.execute(connection);
  return rows.length > 0;
}

/** The partitions that have no part of the index. */
async function listWithout(connection: Database, table: string, index: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = to_regclass(${table}) and not exists (
      select from pg_index x join pg_inherits p on p.inhrelid = x.indexrelid
      where x.indrelid = c.oid and p.inhparent = to_regclass(${index})
    )
    order by c.relname
  `.execute(connection);
  return rows.map(({ name }) => name);
}
