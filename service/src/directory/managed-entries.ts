/** Reads entries for the platform: unlisted ones too, with their private fields, their managers and all members. */
import { managedAllianceFields } from '../contract/alliance.ts';
import type { Blueprint } from '../contract/blueprint.ts';
import {
  Member,
  type ManagedAlliance,
  type ManagedAllianceDetail,
  type ManagedOrganisation,
} from '../contract/managed.ts';
import { managedOrgFields, privateOrgFields } from '../contract/organisation.ts';
import { managerTables, type ManagedKind } from '../access/managers.ts';
import { sql, type Executor } from '../database/database.ts';
import {
  allianceSource,
  otherFields as otherAllianceFields,
  selectMembers,
  type AllianceRow,
} from './alliances.ts';
import { columnList, columnsOf, rowReader, type Row } from './rows.ts';
import type { AllianceQuery, BlueprintQuery, ManagedOrgQuery } from './list-query.ts';
import { filtersBy, findPage, readPage, type DirectoryReads, type Page, type Sql } from './list.ts';
import type { SlugTable } from './lock-directory.ts';
import { orgSource, otherFields as otherOrgFields, type OrgRow } from './orgs.ts';
import { publicEntries, type EntrySource } from './public-entries.ts';

type Entries = { orgs: ManagedOrganisation; alliances: ManagedAlliance; blueprints: Blueprint };
type Queries = { orgs: ManagedOrgQuery; alliances: AllianceQuery; blueprints: BlueprintQuery };

const readOrg = rowReader<ManagedOrganisation>(managedOrgFields);
const readAlliance = rowReader<ManagedAlliance>(managedAllianceFields);
const allMembers = selectMembers(Member, sql`true`);

const managedEntries: { [Kind in SlugTable]: EntrySource<Queries[Kind], Entries[Kind]> } = {
  orgs: {
    ...publicEntries.orgs,
    always: sql`true`,
    columns: sql`
      ${orgSource.columns}, ${columnList(columnsOf(privateOrgFields), 't')}, ${selectManagers('orgs')}
    `,
    filtersOf: (query) => [...publicEntries.orgs.filtersOf(query), ...filtersBy(query, ['listed'])],
    toEntry: (row, baseUrl) =>
      readOrg(row, { ...otherOrgFields(row as OrgRow, baseUrl), managers: row['managers'] }),
  },
  alliances: {
    ...publicEntries.alliances,
    columns: sql`${allianceSource.columns}, ${selectManagers('alliances')}`,
    toEntry: (row, baseUrl) =>
      readAlliance(row, {
        ...otherAllianceFields(row as AllianceRow, baseUrl),
        managers: row['managers'],
      }),
  },
  blueprints: publicEntries.blueprints,
};

function selectManagers(kind: ManagedKind): Sql {
  const { table, column } = managerTables[kind];
  return sql`
    array(select m.email from ${sql.table(table)} m where m.${sql.ref(column)} = t.id order by m.email) as managers
  `;
}

/** One page. */
export async function listManaged<Kind extends SlugTable>(
  reads: DirectoryReads,
  kind: Kind,
  query: Queries[Kind],
  baseUrl: string,
): Promise<Page<Entries[Kind]>> {
  const { filtersOf, toEntry, ...source } = managedEntries[kind];
  const plan = { ...query, ...source, filters: filtersOf(query), reader: 'platform' as const };
  const page = await readPage<Row>(reads.database, await findPage(reads.search, plan));
  return { ...page, rows: page.rows.map((row) => toEntry(row, baseUrl)) };
}

/** The organisation with this slug, or null. */
export async function readManagedOrg(
  executor: Executor,
  slug: string,
  baseUrl: string,
): Promise<ManagedOrganisation | null> {
  const { columns, joins, toEntry } = managedEntries.orgs;
  const { rows } = await sql<OrgRow>`
    select ${columns} from orgs t ${joins} where t.slug = ${slug}
  `.execute(executor);
  return rows[0] ? toEntry(rows[0], baseUrl) : null;
}

/** The alliance with this slug and all its members, or null. */
export async function readManagedAlliance(
  executor: Executor,
  slug: string,
  baseUrl: string,
): Promise<ManagedAllianceDetail | null> {
  const { columns, toEntry } = managedEntries.alliances;
  const { rows } = await sql<AllianceRow & Pick<ManagedAllianceDetail, 'orgs'>>`
    select ${columns}, ${allMembers} from alliances t where t.slug = ${slug}
  `.execute(executor);
  return rows[0] ? { ...toEntry(rows[0], baseUrl), orgs: rows[0].orgs } : null;
}
