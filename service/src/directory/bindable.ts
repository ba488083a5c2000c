/** Lists what an owner can bind an app to: the entries they manage. Other listed entries appear as unavailable. */
import type { Subject } from '../access/managers.ts';
import type { Bindable } from '../contract/portal.ts';
import { arrayLiteral } from '../database/array-literal.ts';
import { sql, type Executor, type LeftJoined } from '../database/database.ts';
import type { DirectoryReads, Sql } from './list.ts';

type Row = Omit<Bindable, 'reason'>;

/**
 * One page with the total, available entries first, then by name. Without a search text, only available entries. A search costs
 * its page and what the owner manages, however many entries match.
 */
export async function listBindable(
  reads: DirectoryReads,
  owner: string,
  { search, page, limit }: { search?: string | undefined; page: number; limit: number },
): Promise<{ total: number; entries: Bindable[] }> {
  const found = search === undefined ? null : await findBoth(reads, owner, search, { page, limit });
  const { rows } = await sql<{ total: number } & LeftJoined<Row>>`
    with found as materialized (
      select 'organization' as kind, t.id, t.slug, t.name, t.name_sort, m.org_id is not null as available
      from orgs t left join org_managers m on m.org_id = t.id and m.email = ${owner}
      where (t.listed or m.org_id is not null) and ${found?.orgs ?? sql`m.org_id is not null`}
      union all
      select 'alliance', t.id, t.slug, t.name, t.name_sort, m.alliance_id is not null
      from alliances t left join alliance_managers m on m.alliance_id = t.id and m.email = ${owner}
      where ${found?.alliances ?? sql`m.alliance_id is not null`}
    )
    select totals.total, page.kind, page.id, page.slug, page.name, page.available
    from (select count(*) as total from found) totals
    left join lateral (
      select * from found order by available desc, name_sort, kind, id limit ${limit} offset ${(page - 1) * limit}
    ) page on true
    order by page.available desc, page.name_sort, page.kind, page.id
  `.execute(reads.database);
  const entries = rows.filter((row) => row.id !== null);
  return { total: found?.total ?? rows[0]?.total ?? 0, entries: entries.map(toBindable) };
}

type Managed = { kind: 'orgs' | 'alliances'; slug: string; unlisted: number | null };

/** The conditions of a search. Of the unlisted organisations, it finds those that the owner manages. */
async function findBoth(
  { database, search }: DirectoryReads,
  owner: string,
  text: string,
  { page, limit }: { page: number; limit: number },
): Promise<{ orgs: Sql; alliances: Sql; total: number }> {
  const { rows: managed } = await sql<Managed>`
    select 'orgs' as kind, o.slug, case when not o.listed then s.ordinal end as unlisted
    from org_managers m join orgs o on o.id = m.org_id left join searchable_orgs s on s.id = o.id
    where m.email = ${owner}
    union all
    select 'alliances', a.slug, null from alliance_managers m join alliances a on a.id = m.alliance_id where m.email = ${owner}
  `.execute(database);
  const find = async (kind: Managed['kind']) => {
    const own = managed.filter((one) => one.kind === kind);
    const unlisted = own.flatMap(({ unlisted: ordinal }) => ordinal ?? []);
    const query = { offset: 0, pageSize: limit, sort: 'name', unlisted };
    const [first, available] = await Promise.all([
      // Up to the page, even if all before it are available.
      search.find(kind, text, { ...query, limit: page * limit + own.length }),
      own.length === 0
        ? null
        : search.find(kind, text, {
            ...query,
            limit: own.length,
            filters: [{ name: 'slug', values: own.map(({ slug }) => slug) }],
          }),
    ]);
    const ordinals = [...(first?.ordinals ?? []), ...(available?.ordinals ?? [])];
    return { condition: among(kind, ordinals), total: first?.total ?? 0 };
  };
  const [orgs, alliances] = await Promise.all([find('orgs'), find('alliances')]);
  return {
    orgs: orgs.condition,
    alliances: alliances.condition,
    total: orgs.total + alliances.total,
  };
}

function among(kind: Managed['kind'], ordinals: number[]): Sql {
  const table = sql.table(`searchable_${kind}`);
  return sql`t.id in (select id from ${table} where ordinal = any(${arrayLiteral(ordinals)}::integer[]))`;
}

function toBindable({ kind, id, slug, name, available }: Row): Bindable {
  const reason = available ? null : 'You are not a manager of it.';
  return { kind, id, slug, name, available, reason };
}

/** The entry with this slug among those that the owner may see: listed ones and those they manage. */
export async function findBindable(
  executor: Executor,
  owner: string,
  { kind, slug }: { kind: Subject['kind']; slug: string },
): Promise<Subject | null> {
  const found =
    kind === 'organization'
      ? sql`
        select id from orgs o where slug = ${slug}
          and (listed or exists (select from org_managers m where m.org_id = o.id and m.email = ${owner}))
      `
      : sql`select id from alliances where slug = ${slug}`;
  const { rows } = await sql<{ id: string }>`${found}`.execute(executor);
  const [row] = rows;
  return row ? { kind, id: row.id } : null;
}
