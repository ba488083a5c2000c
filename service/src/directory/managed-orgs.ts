/** Reads organisations for the platform: unlisted ones too, with their private fields. */
import type { ManagedOrganisation } from '../contract/managed.ts';
import { managedOrgFields, privateOrgFields } from '../contract/organisation.ts';
import { sql, type Executor } from '../database/database.ts';
import { columnList, columnsOf } from './columns.ts';
import type { ManagedOrgQuery } from './list-query.ts';
import { filtersBy, findPage, readPage, type DirectoryReads, type Page } from './list.ts';
import { orgFilters, orgSource, otherFields, type OrgRow } from './orgs.ts';
import { rowReader } from './rows.ts';

const columns = sql`
  ${orgSource.columns}, ${columnList(columnsOf(privateOrgFields), 't')},
  array(select m.email from org_managers m where m.org_id = t.id order by m.email) as managers
`;

/** One page of all organisations. */
export async function listManagedOrgs(
  reads: DirectoryReads,
  query: ManagedOrgQuery,
  baseUrl: string,
): Promise<Page<ManagedOrganisation>> {
  const plan = await findPage(reads.search, {
    ...query,
    ...orgSource,
    always: sql`true`,
    reader: 'platform',
    columns,
    filters: [...orgFilters(query), ...filtersBy(query, ['listed'])],
  });
  const page = await readPage<OrgRow>(reads.database, plan);
  return { ...page, rows: page.rows.map((row) => toManaged(row, baseUrl)) };
}

/** The organisation with this slug, or null. */
export async function readManagedOrg(
  executor: Executor,
  slug: string,
  baseUrl: string,
): Promise<ManagedOrganisation | null> {
  const { rows } = await sql<OrgRow>`
    select ${columns} from orgs t ${orgSource.joins} where t.slug = ${slug}
  `.execute(executor);
  const [row] = rows;
  return row ? toManaged(row, baseUrl) : null;
}

const read = rowReader<ManagedOrganisation>(managedOrgFields);

function toManaged(row: OrgRow, baseUrl: string): ManagedOrganisation {
  return read(row, { ...otherFields(row, baseUrl), managers: row['managers'] });
}
