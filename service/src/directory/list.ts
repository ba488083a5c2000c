/**
 * Reads one page of a list, its total and its revision in one statement, so that all come from one snapshot. It selects
 * keys first and rows afterwards: skipping to a late page then reads an index and not the table.
 */
import type { RawBuilder } from 'kysely';
import { requestedFacets } from '../contract/facets.ts';
import type { Fields } from '../contract/field.ts';
import { arrayLiteral } from '../database/array-literal.ts';
import { sql, type Database } from '../database/database.ts';
import type { Scope } from '../database/revisions.ts';
import type { FoundBy } from '../contract/found-by.ts';
import { mistypedLevel } from './search/match.ts';
import type { FoundAt, Search } from './search/search.ts';

export type Sql = RawBuilder<unknown>;
type Facets = Record<string, { value: string; count: number }[]>;
/** What reads of lists need. */
export type DirectoryReads = { database: Database; search: Pick<Search, 'find'> };
export type Page<Row> = {
  revision: number;
  total: number;
  rows: Row[];
  facets: Facets | null;
  /** How a search found them. Null without one. */
  search: FoundBy | null;
};

export type ListPlan = {
  scope: Scope;
  kind: 'orgs' | 'alliances' | 'blueprints';
  page: number;
  limit: number;
  /** Every condition that a row must meet, over the alias `t`. */
  always: Sql;
  /**
   * Who reads. The platform's searches find unlisted entries, and its own writes at once; it lists them too, so stored
   * totals do not hold. Default: the public.
   */
  reader?: 'platform';
  /**
   * Further conditions of the request over `t`. Without any, and without a search, the total is known without counting.
   */
  filters: Sql[];
  /** What a search found: the entries of this page, or all entries if there are filters, facets or a `sort`. */
  found?: FoundAt | null;
  /** Default: by relevance in a search, otherwise by name. */
  sort?: string;
  /** The values to count, each an expression over `t` that returns a set. */
  facets?: Record<string, Sql> | undefined;
  /** The sortable fields of the table. Ties are sorted by id. */
  fields: Fields;
  /** The columns and joins to select, with `t` as the table itself. */
  columns: Sql;
  joins: Sql;
};

/** A row, or a null ordinal if the page has none. `hit` is its number among what a search found, from 1. */
type Listed<Row> = { revision: number; total: number; facets: Facets | null } & (
  | (Row & { ordinal: number; hit: number | null; id: string })
  | { ordinal: null; [column: string]: unknown }
);

/** Reads a page of a list, or of what a search found in it. */
export async function readPage<Row>(database: Database, plan: ListPlan): Promise<Page<Row>> {
  const { rows } = await sql<Listed<Row>>`
    ${keysOf(plan)}
    select r.revision, totals.total, ${facetsOf(plan)} as facets, found.*
    from revisions r
    cross join totals
    left join lateral (
      select keys.ordinal, keys.hit, ${plan.columns}
      from keys join ${sql.table(plan.kind)} t on t.id = keys.id ${plan.joins}
    ) found on true
    where r.scope = ${plan.scope}
    order by found.ordinal
  `.execute(database);
  const [first] = rows;
  if (!first) throw new Error(`the revision of ${plan.scope} is missing`);
  const { total, facets } = first;
  // The rows may be newer than the index that found them, or older on a replica, and then nobody uses the page again.
  const revision = Math.min(first.revision, plan.found?.revision ?? Infinity);
  const found = rows.filter((row) => row.ordinal !== null);
  return {
    revision,
    total,
    facets,
    rows: found,
    search: plan.found ? foundBy(plan.found, found) : null,
  };
}

function foundBy(
  { isRelaxed, ignored, levels }: FoundAt,
  rows: { id: string; hit: number | null }[],
): FoundBy {
  const isMistyped = (hit: number | null) =>
    hit !== null && (levels[hit - 1] as number) >= mistypedLevel;
  const typos = rows.filter(({ hit }) => isMistyped(hit)).map(({ id }) => id);
  return { relaxed: isRelaxed, ignored, typos };
}

type SearchPlan = Omit<ListPlan, 'found'> & { search?: string | undefined };

/** Adds to a plan what its search finds. */
export async function findHits(
  search: DirectoryReads['search'],
  { search: text, ...plan }: SearchPlan,
): Promise<ListPlan> {
  if (text === undefined) return plan;
  const { kind, page, limit, reader } = plan;
  const found = await search.find(kind, text, {
    ...(isRanked(plan) ? { offset: (page - 1) * limit, limit } : everything),
    ...(reader === 'platform' ? { unlisted: 'all', isNewest: true } : {}),
    pageSize: limit,
  });
  return { ...plan, found };
}

export const everything = { offset: 0, limit: Number.POSITIVE_INFINITY };

function keysOf(plan: ListPlan): Sql {
  if (isNarrowed(plan)) return plan.found ? narrowedHits(plan, plan.found) : filtered(plan);
  return plan.found ? hits(plan, plan.found) : unfiltered(plan);
}

/** Whether a statement must look at every entry that the request matches. */
function isNarrowed(plan: ListPlan): boolean {
  if (plan.found) return !isRanked(plan);
  return plan.filters.length > 0 || plan.facets !== undefined || plan.reader === 'platform';
}

/** Whether a search alone decides which entries are on the page. Otherwise it must find all of them. */
function isRanked({ filters, facets, sort }: Pick<ListPlan, 'filters' | 'facets' | 'sort'>) {
  return filters.length === 0 && facets === undefined && sort === undefined;
}

function unfiltered(plan: ListPlan): Sql {
  const { column, descending } = sortOf(plan);
  return sql`
    with totals as (select sum(entries)::int8 as total from list_totals where kind = ${plan.kind}),
    keys as materialized (
      select id, row_number() over () as ordinal, null::int8 as hit from (
        select t.id from ${sql.table(plan.kind)} t where ${plan.always}
        order by ${order(sql.ref(`t.${column}`), sql`t.id`, descending)} ${window(plan)}
      ) as ordered
    )
  `;
}

/** Prepared, because planning it takes longer than running it. */
function hits(plan: ListPlan, { total, ordinals }: FoundAt): Sql {
  return sql`-- prepared: search_page
    with totals as (select ${total}::int8 as total),
    keys as materialized (
      select t.id, hit.number as ordinal, hit.number as hit
      from unnest(${arrayLiteral(ordinals)}::integer[]) with ordinality as hit(ordinal, number)
      join ${sql.table(`searchable_${plan.kind}`)} s on s.ordinal = hit.ordinal
      join ${sql.table(plan.kind)} t on t.id = s.id
      where ${plan.always}
    )
  `;
}

function narrowedHits(plan: ListPlan, { ordinals }: FoundAt): Sql {
  const { column, descending } = sortOf(plan);
  const sortKey = plan.sort === undefined ? sql`hit.number` : sql.ref(`t.${column}`);
  return sql`
    with matches as materialized (
      select t.id, ${sortKey} as sort_key, hit.number as hit
      from unnest(${arrayLiteral(ordinals)}::integer[]) with ordinality as hit(ordinal, number)
      join ${sql.table(`searchable_${plan.kind}`)} s on s.ordinal = hit.ordinal
      join ${sql.table(plan.kind)} t on t.id = s.id
      where ${conditions(plan)}
    ),
    ${sortedMatches(plan, order(sql`sort_key`, sql`id`, descending))}
  `;
}

function filtered(plan: ListPlan): Sql {
  const { column, descending } = sortOf(plan);
  return sql`
    with matches as materialized (
      select t.id, ${sql.ref(`t.${column}`)} as sort_key, null::int8 as hit
      from ${sql.table(plan.kind)} t where ${conditions(plan)}
    ),
    ${sortedMatches(plan, order(sql`sort_key`, sql`id`, descending))}
  `;
}

function conditions(plan: ListPlan): Sql {
  return sql.join([plan.always, ...plan.filters], sql` and `);
}

function sortedMatches(plan: ListPlan, by: Sql): Sql {
  return sql`
    totals as (select count(*) as total from matches),
    keys as materialized (
      select id, row_number() over () as ordinal, hit from (
        select id, hit from matches order by ${by} ${window(plan)}
      ) as ordered
    )
  `;
}

/** The requested ones of a list's facets. */
export function pickFacets(values: Record<string, Sql>, requested: string | undefined) {
  if (requested === undefined) return undefined;
  return Object.fromEntries(requestedFacets(requested).map((name) => [name, values[name] as Sql]));
}

/** Bounds the response; the rarest values are left out. */
export const facetValuesMax = 100;

/** A JSON object with the values of each facet, the most frequent first. */
function facetsOf({ kind, facets }: ListPlan): Sql {
  if (!facets) return sql`null::json`;
  const pairs = Object.entries(facets).map(
    ([name, values]) => sql`${name}::text, (
      select coalesce(json_agg(json_build_object('value', value, 'count', entries)), '[]')
      from (
        select value, count(*) as entries
        from matches join ${sql.table(kind)} t on t.id = matches.id cross join lateral (${values}) as v(value)
        where value is not null
        group by value order by count(*) desc, value collate "C" limit ${facetValuesMax}
      ) as counted
    )`,
  );
  return sql`(select json_build_object(${sql.join(pairs)}))`;
}

/** Splits `-updatedAt` into its column and its direction. */
function sortOf({ sort = 'name', fields }: ListPlan): { column: string; descending: boolean } {
  const descending = sort.startsWith('-');
  const key = descending ? sort.slice(1) : sort;
  const column = key === 'name' ? undefined : fields[key]?.column;
  return { column: column ?? 'name_sort', descending };
}

function order(key: Sql, id: Sql, descending: boolean): Sql {
  return descending ? sql`${key} desc, ${id} desc` : sql`${key}, ${id}`;
}

function window(plan: ListPlan): Sql {
  return sql`limit ${plan.limit} offset ${(plan.page - 1) * plan.limit}`;
}

/** Reads one row by its slug, and its revision. `row` is null if there is none. */
export async function readOne<Row>(
  database: Database,
  plan: Pick<ListPlan, 'scope' | 'kind' | 'always' | 'columns' | 'joins'> & { slug: string },
): Promise<{ revision: number; row: Row | null }> {
  const { rows } = await sql<
    { revision: number } & ((Row & { id: string }) | { id: null; [column: string]: unknown })
  >`
    select r.revision, found.*
    from revisions r
    left join lateral (
      select ${plan.columns} from ${sql.table(plan.kind)} t ${plan.joins}
      where t.slug = ${plan.slug} and ${plan.always}
    ) found on true
    where r.scope = ${plan.scope}
  `.execute(database);
  const [row] = rows;
  if (!row) throw new Error(`the revision of ${plan.scope} is missing`);
  return { revision: row.revision, row: row.id === null ? null : row };
}
