/** Lists what an owner can bind an app to: the entries they manage. Other listed entries appear as unavailable. */
import type { Subject } from '../access/managers.ts';
import type { Bindable } from '../contract/portal.ts';
import { arrayLiteral } from '../database/array-literal.ts';
import { sql, type Executor, type LeftJoined } from '../database/database.ts';
import { everything, type DirectoryReads, type Sql } from './list.ts';
import type { FoundAt } from './search/search.ts';

type Row = Omit<Bindable, 'reason'>;

/** One page with the total, available entries first. Without a search text, only available entries. */
export async function listBindable(
  reads: DirectoryReads,
  owner: string,
  query: { search?: string | undefined; page: number; limit: number },
): Promise<{ total: number; entries: Bindable[] }> {
  const found =
    query.search === undefined ? null : await findBoth(reads, owner, query.search, query.limit);
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
      select * from found order by available desc, name_sort, kind, id
      limit ${query.limit} offset ${(query.page - 1) * query.limit}
    ) page on true
    order by page.available desc, page.name_sort, page.kind, page.id
  `.execute(reads.database);
  const entries = rows.filter((row) => row.id !== null);
  return { total: rows[0]?.total ?? 0, entries: entries.map(toBindable) };
}

/** The conditions of a search. Of the unlisted organisations, it finds those that the owner manages. */
async function findBoth(
  { database, search }: DirectoryReads,
  owner: string,
  text: string,
  pageSize: number,
): Promise<{ orgs: Sql; alliances: Sql }> {
  const { rows } = await sql<{ ordinal: number }>`
    select s.ordinal from org_managers m join searchable_orgs s on s.id = m.org_id
    where m.email = ${owner} and not s.listed
  `.execute(database);
  const unlisted = rows.map(({ ordinal }) => ordinal);
  const [orgs, alliances] = await Promise.all([
    search.find('orgs', text, { ...everything, pageSize, unlisted }),
    search.find('alliances', text, { ...everything, pageSize }),
  ]);
  return { orgs: among('orgs', orgs), alliances: among('alliances', alliances) };
}

/** A text without words, such as `-`, matches everything. */
function among(kind: 'orgs' | 'alliances', found: FoundAt | null): Sql {
  if (!found) return sql`true`;
  const table = sql.table(`searchable_${kind}`);
  return sql`t.id in (select id from ${table} where ordinal = any(${arrayLiteral(found.ordinals)}::integer[]))`;
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
