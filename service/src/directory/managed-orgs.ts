/** Organisations as the platform reads them: listed or not, with their private fields. */
import type { ManagedOrganisation } from '../contract/managed.ts';
import { sql, type Database, type Executor } from '../database/database.ts';
import type { ManagedOrgQuery } from './list-query.ts';
import { readPage, type Page } from './list.ts';
import {
  orgColumns,
  orgFilters,
  orgJoins,
  orgSortColumns,
  toOrganisation,
  type OrgRow,
} from './orgs.ts';

type ManagedOrgRow = OrgRow & {
  listed: boolean;
  contact_email: string | null;
  chat_server_id: string | null;
  notes: string | null;
  managers: string[];
};

const columns = sql`
  ${orgColumns}, t.listed, t.contact_email, t.chat_server_id, t.notes,
  array(select m.email from org_managers m where m.org_id = t.id order by m.email) as managers
`;

/** One page of all organisations. */
export async function listManagedOrgs(
  database: Database,
  query: ManagedOrgQuery,
  baseUrl: string,
): Promise<Page<ManagedOrganisation>> {
  const { listed } = query;
  const page = await readPage<ManagedOrgRow>(database, {
    scope: 'directory',
    kind: 'orgs',
    always: listed === undefined ? sql`true` : sql`t.listed = ${listed}`,
    everything: true,
    columns,
    joins: orgJoins,
    page: query.page,
    limit: query.limit,
    filters: orgFilters(query),
    search: query.search,
    sort: query.sort,
    sortColumns: orgSortColumns,
  });
  return { ...page, rows: page.rows.map((row) => toManaged(row, baseUrl)) };
}

/** The organisation with this slug, or null. */
export async function readManagedOrg(
  executor: Executor,
  slug: string,
  baseUrl: string,
): Promise<ManagedOrganisation | null> {
  const { rows } = await sql<ManagedOrgRow>`
    select ${columns} from orgs t ${orgJoins} where t.slug = ${slug}
  `.execute(executor);
  const [row] = rows;
  return row ? toManaged(row, baseUrl) : null;
}

function toManaged(row: ManagedOrgRow, baseUrl: string): ManagedOrganisation {
  return {
    ...toOrganisation(row, baseUrl),
    listed: row.listed,
    contactEmail: row.contact_email,
    chatServerId: row.chat_server_id,
    notes: row.notes,
    managers: row.managers,
  };
}
