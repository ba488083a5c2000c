/** What running processes rely on: parts of the schema that must stay, and conditions that must not be added. */
import { sql, type Executor } from '../../src/database/database.ts';

export type Promises = {
  tables: Set<string>;
  /** Columns with their types, functions with their arguments and results, and keys that `on conflict` names. */
  kept: Set<string>;
  /** Conditions of writing, by table and name. */
  conditions: Map<string, { table: string; text: string; columns: string[] }>;
  columns: Set<string>;
};

export async function readPromises(tx: Executor): Promise<Promises> {
  const { rows } = await sql<{
    kind: 'kept' | 'condition';
    table: string;
    name: string;
    text: string;
    columns: string[];
  }>`
    with tables as (
      select oid, relname from pg_class
      where relnamespace = 'orgdir'::regnamespace and relkind in ('r', 'p') and not relispartition
    )
    select 'kept' as kind, relname as table, 'column ' || relname || '.' || attname as name, format_type(atttypid, atttypmod) as text,
      array[relname || '.' || attname] as columns
    from tables t join pg_attribute a on a.attrelid = t.oid and attnum > 0 and not attisdropped
    union all
    select 'condition', relname, relname || '.' || attname, 'is not null and has no default', '{}'
    from tables t join pg_attribute a on a.attrelid = t.oid and attnum > 0 and not attisdropped
    where attnotnull and not atthasdef and attidentity = ''
    union all
    select 'kept', relname, 'unique index of ' || relname,
      substring(pg_get_indexdef(i.indexrelid) from ' USING .*'), '{}'
    from tables t join pg_index i on i.indrelid = t.oid where indisunique
    union all
    select 'condition', relname, relname || '.' || conname, replace(pg_get_constraintdef(c.oid), ' NOT VALID', ''),
      array(select relname || '.' || attname from pg_attribute a where attrelid = t.oid and attnum = any(conkey))
    from tables t join pg_constraint c on c.conrelid = t.oid where contype in ('c', 'f', 'u', 'p', 'x')
    union all
    select 'kept', '', 'function ' || p.oid::regprocedure, pg_get_function_result(p.oid), '{}'
    from pg_proc p
    where p.pronamespace = 'orgdir'::regnamespace and p.prorettype <> 'trigger'::regtype
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
  `.execute(tx);
  const conditions = rows.filter(({ kind }) => kind === 'condition');
  return {
    tables: new Set(rows.map(({ table }) => table)),
    kept: new Set(
      rows.filter(({ kind }) => kind === 'kept').map(({ name, text }) => `${name} ${text}`),
    ),
    conditions: new Map(
      conditions.map(({ name, table, text, columns }) => [name, { table, text, columns }]),
    ),
    columns: new Set(rows.filter(({ kind }) => kind === 'kept').flatMap(({ columns }) => columns)),
  };
}

/** New conditions count only on columns that exist: no earlier process writes to a new one. */
export function findBreaks(before: Promises, after: Promises): string[] {
  const gone = [...before.kept].filter((each) => !after.kept.has(each));
  const added = [...after.conditions].filter(
    ([name, { table, text, columns }]) =>
      before.tables.has(table) &&
      (columns.length === 0 || columns.some((column) => before.columns.has(column))) &&
      !allows(text, before.conditions.get(name)?.text),
  );
  return [
    ...gone.map((each) => `it removes or changes ${each}`),
    ...added.map(([name, { text }]) => `it adds a condition: ${name} ${text}`),
  ];
}

/** A list of values may grow: then the condition without its values is the same, and no value is missing. */
function allows(text: string, before: string | undefined): boolean {
  if (before === undefined) return false;
  const values = (condition: string) => new Set(condition.match(quoted));
  return skeleton(text) === skeleton(before) && values(before).isSubsetOf(values(text));
}

const quoted = /'(?:[^']|'')*'/g;

function skeleton(condition: string): string {
  return condition.replaceAll(quoted, '').replaceAll('::text, ', '');
}
