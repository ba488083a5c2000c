/** Blueprints: how they are stored, read and written. A source knows one by its key. */
import { v7 as uuidv7 } from 'uuid';
import type { Blueprint } from '../contract/blueprint.ts';
import { sql, type Database, type Executor, type Transaction } from '../database/database.ts';
import { foldText, searchText } from './fold-text.ts';
import type { BlueprintInput } from './inputs.ts';
import type { BlueprintQuery } from './list-query.ts';
import { readOne, readPage, type Page, type Sql } from './list.ts';
import { iso } from './rows.ts';

type BlueprintRow = {
  id: string;
  slug: string;
  key: string;
  name: string;
  description: string | null;
  category: string;
  output: Blueprint['output'];
  craft_time_seconds: number | null;
  ingredients: Blueprint['ingredients'];
  sources: Blueprint['sources'];
  version: string | null;
  active: boolean;
  retired_at: Date | null;
  created_at: Date;
  updated_at: Date;
};

const columns = sql`
  t.id, t.slug, t.key, t.name, t.description, t.category, t.output, t.craft_time_seconds, t.ingredients,
  t.sources, t.version, t.active, t.retired_at, t.created_at, t.updated_at
`;
const source = {
  scope: 'blueprints',
  kind: 'blueprints',
  always: sql`true`,
  columns,
  joins: sql``,
} as const;

const sortColumns: Record<string, string> = {
  name: 'name_sort',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
};

/** One page of the blueprints, active and retired. */
export async function listBlueprints(
  database: Database,
  query: BlueprintQuery,
): Promise<Page<Blueprint>> {
  const page = await readPage<BlueprintRow>(database, {
    ...source,
    page: query.page,
    limit: query.limit,
    filters: filtersOf(query),
    search: query.search,
    sort: query.sort,
    sortColumns,
  });
  return { ...page, rows: page.rows.map(toBlueprint) };
}

function filtersOf(query: BlueprintQuery): Sql[] {
  const filters: Sql[] = [];
  if (query.category !== undefined) filters.push(sql`t.category = ${query.category}`);
  if (query.active !== undefined) filters.push(query.active ? sql`t.active` : sql`not t.active`);
  if (query.ingredient !== undefined)
    filters.push(sql`t.ingredient_terms @> array[${foldText(query.ingredient)}]`);
  return filters;
}

/** The blueprint with this slug, or a null row. */
export async function readBlueprint(database: Database, slug: string) {
  const { revision, row } = await readOne<BlueprintRow>(database, { ...source, slug });
  return { revision, row: row && toBlueprint(row) };
}

/** The blueprint with this key, or null: as its source knows it, and the platform. */
export async function findBlueprint(executor: Executor, key: string): Promise<Blueprint | null> {
  const { rows } = await sql<BlueprintRow>`
    select ${columns} from blueprints t where t.key = ${key}
  `.execute(executor);
  const [row] = rows;
  return row ? toBlueprint(row) : null;
}

/** The slugs of the blueprints with these keys; a key that is not there is not in the map. */
export async function blueprintSlugs(
  tx: Transaction,
  keys: string[],
): Promise<Map<string, string>> {
  const { rows } = await sql<{ key: string; slug: string }>`
    select key, slug from blueprints where key = any(${keys}::text[])
  `.execute(tx);
  return new Map(rows.map((row) => [row.key, row.slug]));
}

/** The keys of the blueprints with these slugs; a slug that is free is not in the map. */
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
/** Without `retiredAt` one that is not active was retired when that was first told. */
type WritableBlueprint = BlueprintInput & { slug: string; retiredAt?: string | null };

/** Inserts or updates by key, one statement for the batch. Every input has its slug. */
export async function upsertBlueprints(
  tx: Transaction,
  inputs: WritableBlueprint[],
): Promise<WrittenBlueprint[]> {
  const rows = inputs.map(toColumns);
  const { rows: written } = await sql<WrittenBlueprint>`
    with given as (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as g(
        id uuid, slug text, key text, name text, description text, category text, output jsonb,
        craft_time_seconds double precision, ingredients jsonb, sources jsonb, version text, active boolean,
        retired_at timestamptz, ingredient_terms text[], name_sort text, search_text text)
    ),
    before as (select b.key, b.retired_at from blueprints b join given g on g.key = b.key),
    written as (
      insert into blueprints (id, slug, key, name, description, category, output, craft_time_seconds,
        ingredients, sources, version, active, retired_at, ingredient_terms, name_sort, search_text)
      select g.id, g.slug, g.key, g.name, g.description, g.category, g.output, g.craft_time_seconds,
        g.ingredients, g.sources, g.version, g.active,
        -- one that is retired already keeps its time, unless another was given
        case when not g.active then coalesce(g.retired_at, b.retired_at, ${new Date().toISOString()}::timestamptz) end,
        g.ingredient_terms, g.name_sort, g.search_text
      from given g left join before b on b.key = g.key order by g.key
      on conflict (key) do update set
        slug = excluded.slug, name = excluded.name, description = excluded.description,
        category = excluded.category, output = excluded.output,
        craft_time_seconds = excluded.craft_time_seconds, ingredients = excluded.ingredients,
        sources = excluded.sources, version = excluded.version, active = excluded.active,
        retired_at = excluded.retired_at, ingredient_terms = excluded.ingredient_terms,
        name_sort = excluded.name_sort, search_text = excluded.search_text
      returning id, key
    )
    select w.id, b.key is null as created from written w left join before b on b.key = w.key
  `.execute(tx);
  return written;
}

function toColumns(input: WritableBlueprint) {
  const { output, ingredients } = input;
  return {
    id: uuidv7(),
    slug: input.slug,
    key: input.key,
    name: input.name,
    description: input.description,
    category: input.category,
    output,
    craft_time_seconds: input.craftTimeSeconds,
    ingredients,
    sources: input.sources,
    version: input.version,
    active: input.active,
    retired_at: input.retiredAt ?? null,
    ingredient_terms: [
      ...new Set(ingredients.flatMap(({ item, name }) => [foldText(item), foldText(name)])),
    ],
    name_sort: foldText(input.name),
    search_text: searchText(
      input.name,
      input.key,
      output.item,
      output.name,
      ...ingredients.flatMap(({ item, name }) => [item, name]),
    ),
  };
}

function toBlueprint(row: BlueprintRow): Blueprint {
  const { item, name, quantity } = row.output;
  return {
    id: row.id,
    slug: row.slug,
    key: row.key,
    name: row.name,
    description: row.description,
    category: row.category,
    output: { item, name, quantity },
    craftTimeSeconds: row.craft_time_seconds,
    ingredients: row.ingredients.map((each) => ({
      item: each.item,
      name: each.name,
      quantity: each.quantity,
      unit: each.unit,
    })),
    sources: row.sources.map((each) => ({ kind: each.kind, name: each.name })),
    version: row.version,
    active: row.active,
    retiredAt: iso(row.retired_at),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}
