/** Stores, reads and writes blueprints. A source identifies a blueprint by its key. */
import { type Blueprint, blueprintFields, blueprintSearch } from '../contract/blueprint.ts';
import { changedRows, type Executor, type Transaction, sql } from '../database/database.ts';
import {
  columnList,
  columnTypes,
  columnsOf,
  computedColumns,
  excludedValues,
  writableFields,
  type Row,
  computedValues,
  rowReader,
  toRow,
} from './rows.ts';
import { foldText } from './fold-text.ts';
import type { BlueprintInput } from './inputs.ts';
import type { BlueprintQuery } from './list-query.ts';
import { type Sql, filtersBy } from './list.ts';
import type { Filter } from './search/values.ts';

export const blueprintSource = {
  scope: 'blueprints',
  kind: 'blueprints',
  fields: blueprintFields,
  always: sql`true`,
  columns: columnList(columnsOf(blueprintFields), 't'),
  joins: sql``,
} as const;

const read = rowReader<Blueprint>(blueprintFields);
export const toBlueprint = (row: Row) => read(row, {});

export function blueprintFilters(query: BlueprintQuery): Filter[] {
  return [
    ...filtersBy(query, ['slug', 'category', 'active']),
    ...filtersBy(query, ['ingredient'], foldText),
  ];
}

/** The blueprint with this key, which its source and the platform use, or null. */
export async function findBlueprint(executor: Executor, key: string): Promise<Blueprint | null> {
  const { rows } = await sql<Row>`
    select ${blueprintSource.columns} from blueprints t where t.key = ${key}
  `.execute(executor);
  const [row] = rows;
  return row ? toBlueprint(row) : null;
}

/** The slugs of the blueprints with these keys; unknown keys are not in the map. */
export async function blueprintSlugs(
  tx: Transaction,
  keys: string[],
): Promise<Map<string, string>> {
  const { rows } = await sql<{ key: string; slug: string }>`
    select key, slug from blueprints where key = any(${keys}::text[])
  `.execute(tx);
  return new Map(rows.map((row) => [row.key, row.slug]));
}

/** The keys of the blueprints with these slugs; free slugs are not in the map. */
export async function blueprintKeys(
  tx: Transaction,
  slugs: string[],
): Promise<Map<string, string>> {
  const { rows } = await sql<{ key: string; slug: string }>`
    select key, slug from blueprints where slug = any(${slugs}::text[])
  `.execute(tx);
  return new Map(rows.map((row) => [row.slug, row.key]));
}

export type WrittenBlueprint = { id: string; created: boolean };
type WritableBlueprint = BlueprintInput & { slug: string };

const fieldColumns = columnsOf(writableFields(blueprintFields));
const columns = [
  ...computedColumns,
  ...fieldColumns,
  { column: 'ingredient_terms', type: 'text[]' },
];
const given = columns.filter(({ column }) => column !== 'retired_at');

/** Inserts or updates by key, one statement for the batch. Every input has its slug. */
export async function upsertBlueprints(
  tx: Transaction,
  inputs: WritableBlueprint[],
): Promise<WrittenBlueprint[]> {
  const rows = inputs.map(toColumns);
  const { rows: written } = await sql<WrittenBlueprint>`
    with given as (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as g(${columnTypes(columns)})
    ),
    before as (select b.key, b.retired_at from blueprints b join given g on g.key = b.key),
    written as (
      insert into blueprints (${columnList(given)}, retired_at)
      select ${columnList(given, 'g')},
        -- without a time given, one that is retired already keeps its own
        case when not g.active then coalesce(g.retired_at, b.retired_at, ${new Date().toISOString()}::timestamptz) end
      from given g left join before b on b.key = g.key order by g.key
      on conflict (key) do update set ${excludedValues(columns, ['id', 'key'])}
      returning id, key
    )
    select w.id, b.key is null as created from written w left join before b on b.key = w.key
  `.execute(tx);
  return written;
}

function toColumns(input: WritableBlueprint): Row {
  const terms = input.ingredients.flatMap(({ item, name }) => [foldText(item), foldText(name)]);
  return {
    ...toRow(fieldColumns, input),
    ...computedValues(input, blueprintSearch),
    ingredient_terms: [...new Set(terms)],
  };
}

/** Returns how many it retired. */
export async function retireBlueprints(tx: Transaction, isGone: Sql): Promise<number> {
  const result = await sql`
    update blueprints b set active = false, retired_at = now() where b.active and ${isGone}
  `.execute(tx);
  return changedRows(result);
}
