/** Lists what an owner can bind an app to: the entries they manage. Other listed entries appear as unavailable. */
import type { Subject } from '../access/managers.ts';
import type { Bindable } from '../contract/portal.ts';
import { sql, type Executor, type LeftJoined } from '../database/database.ts';
import { likePattern } from './fold-text.ts';

type Row = Omit<Bindable, 'reason'>;

/** One page with the total, available entries first. Without a search text, only available entries. */
export async function listBindable(
  executor: Executor,
  owner: string,
  query: { search?: string | undefined; page: number; limit: number },
): Promise<{ total: number; entries: Bindable[] }> {
  const pattern = query.search === undefined ? null : likePattern(query.search, 'anywhere');
  const named = pattern === null ? sql`true` : sql`search_text like ${pattern}`;
  const others = pattern === null ? sql`false` : sql`search_text like ${pattern}`;
  const { rows } = await sql<{ total: number } & LeftJoined<Row>>`
    with found as materialized (
      select 'organization' as kind, id, slug, name, name_sort, true as available from orgs
      where ${named} and id in (select org_id from org_managers where email = ${owner})
      union all
      select 'alliance', id, slug, name, name_sort, true from alliances
      where ${named} and id in (select alliance_id from alliance_managers where email = ${owner})
      union all
      select 'organization', id, slug, name, name_sort, false from orgs o
      where listed and id in (select id from orgs_search where ${others})
        and not exists (select from org_managers m where m.org_id = o.id and m.email = ${owner})
      union all
      select 'alliance', id, slug, name, name_sort, false from alliances a
      where id in (select id from alliances_search where ${others})
        and not exists (select from alliance_managers m where m.alliance_id = a.id and m.email = ${owner})
    )
    select totals.total, page.kind, page.id, page.slug, page.name, page.available
    from (select count(*) as total from found) totals
    left join lateral (
      select * from found order by available desc, name_sort, kind, id
      limit ${query.limit} offset ${(query.page - 1) * query.limit}
    ) page on true
    order by page.available desc, page.name_sort, page.kind, page.id
  `.execute(executor);
  const found = rows.filter((row) => row.id !== null);
  return { total: rows[0]?.total ?? 0, entries: found.map(toBindable) };
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
