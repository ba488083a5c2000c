/**
 * Reads one page of a list, its total and its revision in one statement, so that all come from one snapshot. It selects
 * keys first and rows afterwards: skipping to a late page then reads an index and not the table.
 */
import type { RawBuilder } from 'kysely';
import type { Fields } from '../contract/field.ts';
import { sql, type Database } from '../database/database.ts';
import type { Scope } from '../database/revisions.ts';
import { likePattern } from './fold-text.ts';

export type Sql = RawBuilder<unknown>;
export type Page<Row> = { revision: number; total: number; rows: Row[] };

export type ListPlan = {
  scope: Scope;
  kind: 'orgs' | 'alliances' | 'blueprints';
  page: number;
  limit: number;
  /** Every condition that a row must meet, over the alias `t`. */
  always: Sql;
  /** Set to include rows that the public never sees, which the totals and search tables lack. */
  everything?: boolean;
  /**
   * Further conditions of the request over `t`. Without any, and without a search, the total is known without counting.
   */
  filters: Sql[];
  search?: string;
  /** Default: by name; in a search, names that start with the text come first. */
  sort?: string;
  /** The sortable fields of the table. Ties are sorted by id. */
  fields: Fields;
  /** The columns and joins to select, with `t` as the table itself. */
  columns: Sql;
  joins: Sql;
};

/** A row, or a null ordinal if the page has none. */
type Found<Row> = { revision: number; total: number } & (
  | (Row & { ordinal: number })
  | { ordinal: null; [column: string]: unknown }
);

export async function readPage<Row>(database: Database, plan: ListPlan): Promise<Page<Row>> {
  const { rows } = await sql<Found<Row>>`
    ${plan.filters.length === 0 && plan.search === undefined && !plan.everything ? unfiltered(plan) : filtered(plan)}
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
  const { revision, total } = first;
  return { revision, total, rows: rows.filter((row) => row.ordinal !== null) };
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

function filtered(plan: ListPlan): Sql {
  const { column, descending } = sortOf(plan);
  const startsWithIt =
    plan.search === undefined || plan.sort !== undefined
      ? sql`true`
      : sql`t.name_sort like ${likePattern(plan.search, 'start')}`;
  return sql`
    with matches as materialized (
      select t.id, ${sql.ref(`t.${column}`)} as sort_key, ${startsWithIt} as comes_first ${matches(plan)}
    ),
    totals as (select count(*) as total from matches),
    keys as materialized (
      select id, row_number() over () as ordinal from (
        select id from matches
        order by comes_first desc, ${order(sql`sort_key`, sql`id`, descending)} ${window(plan)}
      ) as ordered
    )
  `;
}

function matches(plan: ListPlan): Sql {
  const table = sql.table(plan.kind);
  const conditions = sql.join([plan.always, ...plan.filters], sql` and `);
  if (plan.search === undefined) return sql`from ${table} t where ${conditions}`;
  const pattern = likePattern(plan.search, 'anywhere');
  if (plan.everything)
    return sql`from ${table} t where t.search_text like ${pattern} and ${conditions}`;
  const texts = sql.table(`${plan.kind}_search`);
  // The narrow rows alone serve most requests. They do not hold rows that `always` excludes.
  if (plan.filters.length === 0 && sortOf(plan).column === 'name_sort')
    return sql`from ${texts} t where t.search_text like ${pattern}`;
  return sql`
    from ${texts} s join ${table} t on t.id = s.id where s.search_text like ${pattern} and ${conditions}
  `;
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
