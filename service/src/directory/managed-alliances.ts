/** Alliances as the platform reads them: with their managers, and with members that are not listed. */
import type { ManagedAlliance, ManagedAllianceDetail } from '../contract/managed.ts';
import { sql, type Database, type Executor } from '../database/database.ts';
import { allianceColumns, allianceSortColumns, toAlliance, type AllianceRow } from './alliances.ts';
import type { AllianceQuery } from './list-query.ts';
import { readPage, type Page } from './list.ts';

type ManagedRow = AllianceRow & { managers: string[] };
type DetailRow = ManagedRow & { orgs: ManagedAllianceDetail['orgs'] };

const columns = sql`
  ${allianceColumns},
  array(select m.email from alliance_managers m where m.alliance_id = t.id order by m.email) as managers
`;
const memberColumns = sql`
  (select coalesce(json_agg(json_build_object('id', o.id, 'slug', o.slug, 'name', o.name, 'tag', o.tag,
     'memberCount', o.member_count, 'listed', o.listed) order by o.name_sort, o.id), '[]')
   from orgs o where o.alliance_id = t.id) as orgs
`;

/** One page of the alliances. */
export async function listManagedAlliances(
  database: Database,
  query: AllianceQuery,
  baseUrl: string,
): Promise<Page<ManagedAlliance>> {
  const page = await readPage<ManagedRow>(database, {
    scope: 'directory',
    kind: 'alliances',
    always: sql`true`,
    columns,
    joins: sql``,
    page: query.page,
    limit: query.limit,
    filters: [],
    search: query.search,
    sort: query.sort,
    sortColumns: allianceSortColumns,
  });
  return { ...page, rows: page.rows.map((row) => toManaged(row, baseUrl)) };
}

/** The alliance with this slug and all its members, or null. */
export async function readManagedAlliance(
  executor: Executor,
  slug: string,
  baseUrl: string,
): Promise<ManagedAllianceDetail | null> {
  const { rows } = await sql<DetailRow>`
    select ${columns}, ${memberColumns} from alliances t where t.slug = ${slug}
  `.execute(executor);
  const [row] = rows;
  if (!row) return null;
  return { ...toManaged(row, baseUrl), orgs: row.orgs };
}

function toManaged(row: ManagedRow, baseUrl: string): ManagedAlliance {
  return { ...toAlliance(row, baseUrl), managers: row.managers };
}
