/**
 * Reads one page of a list, its total and the revision it was read at: one statement, one snapshot.
 * Keys first and rows after, so that skipping to a late page reads an index and not the table.
 */
import type { RawBuilder } from 'kysely';
import { sql, type Database } from '../database/database.ts';
import type { Scope } from '../database/revisions.ts';

export type Sql = RawBuilder<unknown>;
export type Page<Row> = { revision: number; total: number; rows: Row[] };

export type ListPlan = {
  scope: Scope;
  kind: 'orgs' | 'alliances' | 'blueprints';
  page: number;
  limit: number;
  /** Every condition that a row must meet, over the alias `t`. */
  always: Sql;
  /** Further conditions from the request; with none, the total is known without counting. */
  filters: Sql[];
  /** The sort key over `t`, and its direction; ties by id. */
  sortKey: Sql;
  descending: boolean;
  /** Where set, names that start with this LIKE pattern come before all others. */
  firstPattern: string | null;
  /** What to select, and from where, with `t` as the table itself. */
  columns: Sql;
  joins: Sql;
};

type Ordinal = { revision: number; total: number; ordinal: number | null };

export async function readPage<Row>(database: Database, plan: ListPlan): Promise<Page<Row>> {
  const { rows } = await sql<Row & Ordinal>`
    ${plan.filters.length === 0 ? unfiltered(plan) : filtered(plan)}
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
  return { revision: first.revision, total: first.total, rows: first.ordinal === null ? [] : rows };
}

function unfiltered(plan: ListPlan): Sql {
  return sql`
    with totals as (select sum(entries)::int8 as total from list_totals where kind = ${plan.kind}),
    keys as materialized (
      select id, row_number() over () as ordinal from (
        select t.id from ${sql.table(plan.kind)} t where ${plan.always}
        order by ${order(plan, plan.sortKey, sql`t.id`)} ${window(plan)}
      ) as ordered
    )
  `;
}

function filtered(plan: ListPlan): Sql {
  const first = plan.firstPattern === null ? sql`true` : sql`t.name_sort like ${plan.firstPattern}`;
  return sql`
    with matches as materialized (
      select t.id, ${plan.sortKey} as sort_key, ${first} as comes_first
      from ${sql.table(plan.kind)} t
      where ${sql.join([plan.always, ...plan.filters], sql` and `)}
    ),
    totals as (select count(*) as total from matches),
    keys as materialized (
      select id, row_number() over () as ordinal from (
        select id from matches
        order by comes_first desc, ${order(plan, sql`sort_key`, sql`id`)} ${window(plan)}
      ) as ordered
    )
  `;
}

function order(plan: ListPlan, key: Sql, id: Sql): Sql {
  return plan.descending ? sql`${key} desc, ${id} desc` : sql`${key}, ${id}`;
}

function window(plan: ListPlan): Sql {
  return sql`limit ${plan.limit} offset ${(plan.page - 1) * plan.limit}`;
}

/** Reads one row by its slug, and the revision it was read at. `row` is null where there is none. */
export async function readOne<Row>(
  database: Database,
  plan: Pick<ListPlan, 'scope' | 'kind' | 'always' | 'columns' | 'joins'> & { slug: string },
): Promise<{ revision: number; row: Row | null }> {
  const { rows } = await sql<Row & { revision: number; id: string | null }>`
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
