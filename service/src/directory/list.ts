/**
 * Reads one page of a list, its total and its revision in one statement, so that all come from one snapshot. It selects
 * keys first and rows afterwards: skipping to a late page then reads an index and not the table.
 */
import type { RawBuilder } from 'kysely';
import type { Fields } from '../contract/field.ts';
import { arrayLiteral } from '../database/array-literal.ts';
import { sql, type Database } from '../database/database.ts';
import { invalid } from '../errors.ts';
import type { Scope } from '../database/revisions.ts';
import type { FoundBy } from '../contract/list-meta.ts';
import { mistypedLevel } from './search/match.ts';
import type { FoundAt, Search } from './search/search.ts';
import type { Counted, Filter } from './search/values.ts';

export type Sql = RawBuilder<unknown>;
type Facets = Record<string, { value: string; count: number }[]>;
/** What reads of lists need. */
export type DirectoryReads = { database: Database; search: Pick<Search, 'find'> };
export type Page<Row> = {
  /** Of the rows, and of the index that found them: it is older after a large import, the rows on a replica. */
  revision: number;
  foundAt: number;
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
  /** What every row must meet, over the alias `t`. */
  always: Sql;
  /**
   * Who reads. The platform finds unlisted entries, and its own writes at once. Default: the public.
   */
  reader?: 'platform';
  search?: string | undefined;
  filters: Filter[];
  /** Default: by relevance in a search, otherwise by name. */
  sort?: string | undefined;
  /** The values to count. */
  facets?: string[] | undefined;
  /** The sortable fields of the table. Ties are sorted by id. */
  fields: Fields;
  /** The columns and joins to select, with `t` as the table itself. */
  columns: Sql;
  joins: Sql;
};

export type FoundPlan = ListPlan & { found: FoundAt | null };

/** A row, or a null ordinal if the page has none. `ordinal` is its number on the page, from 1. */
type Listed<Row> = { revision: number; total: number } & (
  | (Row & { ordinal: number; id: string })
  | { ordinal: null; [column: string]: unknown }
);

/** Reads the rows of a page, after `findPage`. */
export async function readPage<Row>(database: Database, plan: FoundPlan): Promise<Page<Row>> {
  const { found } = plan;
  const { rows } = await sql<Listed<Row>>`
    ${found ? hits(plan, found) : unfiltered(plan)}
    select r.revision, totals.total, found.*
    from revisions r
    cross join totals
    left join lateral (
      select keys.ordinal, ${plan.columns}
      from keys join ${sql.table(plan.kind)} t on t.id = keys.id ${plan.joins}
    ) found on true
    where r.scope = ${plan.scope}
    order by found.ordinal
  `.execute(database);
  const [first] = rows;
  if (!first) throw new Error(`the revision of ${plan.scope} is missing`);
  const { revision } = first;
  const page = rows.filter((row) => row.ordinal !== null);
  const search = plan.search === undefined ? null : foundBy(found, page);
  const facets = found && plan.facets ? mapFacets(found.facets) : null;
  const foundAt = found?.revision ?? revision;
  return { revision, foundAt, total: first.total, facets, rows: page, search };
}

/** A text without words matches everything, so it may have needed no search. */
function foundBy(found: FoundAt | null, rows: { id: string; ordinal: number }[]): FoundBy {
  if (found === null) return { relaxed: false, ignored: [], typos: [] };
  const { isRelaxed, ignored, levels } = found;
  const isMistyped = (ordinal: number) => (levels[ordinal - 1] as number) >= mistypedLevel;
  const typos = rows.filter(({ ordinal }) => isMistyped(ordinal)).map(({ id }) => id);
  return { relaxed: isRelaxed, ignored, typos };
}

/**
 * Adds to a plan which entries are on its page: searches, filters and facets run in memory. Null if the database knows
 * the page and its total without looking at every entry.
 */
export async function findPage(
  search: DirectoryReads['search'],
  plan: ListPlan,
): Promise<FoundPlan> {
  const { kind, page, limit, reader, search: text, filters, sort, facets } = plan;
  const isNarrowed = filters.length > 0 || facets !== undefined || reader === 'platform';
  if (text === undefined && !isNarrowed) return { ...plan, found: null };
  const found = await search.find(kind, text ?? '', {
    offset: (page - 1) * limit,
    limit,
    pageSize: limit,
    filters,
    sort,
    facets,
    ...(reader === 'platform' ? { unlisted: 'all', isNewest: true } : {}),
  });
  return { ...plan, found };
}

/** The filters among the parameters of a request. A repeated one keeps entries with any of its values. */
export function filtersBy<Query extends object>(
  query: Query,
  names: (keyof Query & string)[],
  toValue: (text: string) => string = String,
): Filter[] {
  return names.flatMap((name) => {
    const given = query[name] as string | boolean | string[] | undefined;
    return given === undefined
      ? []
      : [{ name, values: [given].flat().map((value) => toValue(String(value))) }];
  });
}

export function filtersByMembers(query: {
  memberCountMin?: number | undefined;
  memberCountMax?: number | undefined;
}): Filter[] {
  const { memberCountMin: min, memberCountMax: max } = query;
  if (min === undefined && max === undefined) return [];
  if (min !== undefined && max !== undefined && min > max)
    throw invalid({
      path: 'query.memberCountMax',
      message: 'must not be less than memberCountMin',
    });
  return [{ name: 'memberCount', min: min ?? 0, max: max ?? Number.POSITIVE_INFINITY }];
}

function unfiltered(plan: ListPlan): Sql {
  const { column, descending } = sortOf(plan);
  return sql`
    with totals as (select sum(entries)::int8 as total from list_totals where kind = ${plan.kind}),
    keys as materialized (
      select id, row_number() over () as ordinal from (
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
      select t.id, hit.number as ordinal
      from unnest(${arrayLiteral(ordinals)}::integer[]) with ordinality as hit(ordinal, number)
      join ${sql.table(`searchable_${plan.kind}`)} s on s.ordinal = hit.ordinal
      join ${sql.table(plan.kind)} t on t.id = s.id
      where ${plan.always}
    )
  `;
}

/** Bounds the response; the rarest values are left out. */
export const facetValuesMax = 100;

/** The most frequent values of each facet first. */
function mapFacets(facets: Record<string, Counted[]>): Facets {
  const sorted = Object.entries(facets).map(([name, counted]) => [
    name,
    counted
      .sort(
        (a, b) => b.count - a.count || Buffer.compare(Buffer.from(a.value), Buffer.from(b.value)),
      )
      .slice(0, facetValuesMax),
  ]);
  return Object.fromEntries(sorted) as Facets;
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
