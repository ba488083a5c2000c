/** Reads alliances for the platform: with their managers and their unlisted members. */
import { managedAllianceFields } from '../contract/alliance.ts';
import { Member, type ManagedAlliance, type ManagedAllianceDetail } from '../contract/managed.ts';
import { sql, type Executor } from '../database/database.ts';
import {
  allianceFilters,
  allianceSource,
  otherFields,
  selectMembers,
  type AllianceRow,
} from './alliances.ts';
import type { AllianceQuery } from './list-query.ts';
import { findPage, readPage, type DirectoryReads, type Page } from './list.ts';
import { rowReader } from './rows.ts';

type DetailRow = AllianceRow & { orgs: ManagedAllianceDetail['orgs'] };

const columns = sql`
  ${allianceSource.columns},
  array(select m.email from alliance_managers m where m.alliance_id = t.id order by m.email) as managers
`;
const allMembers = selectMembers(Member, sql`true`);

/** One page of the alliances. */
export async function listManagedAlliances(
  reads: DirectoryReads,
  query: AllianceQuery,
  baseUrl: string,
): Promise<Page<ManagedAlliance>> {
  const plan = await findPage(reads.search, {
    ...query,
    ...allianceSource,
    columns,
    reader: 'platform',
    filters: allianceFilters(query),
  });
  const page = await readPage<AllianceRow>(reads.database, plan);
  return { ...page, rows: page.rows.map((row) => toManaged(row, baseUrl)) };
}

/** The alliance with this slug and all its members, or null. */
export async function readManagedAlliance(
  executor: Executor,
  slug: string,
  baseUrl: string,
): Promise<ManagedAllianceDetail | null> {
  const { rows } = await sql<DetailRow>`
    select ${columns}, ${allMembers} from alliances t where t.slug = ${slug}
  `.execute(executor);
  const [row] = rows;
  if (!row) return null;
  return { ...toManaged(row, baseUrl), orgs: row.orgs };
}

const read = rowReader<ManagedAlliance>(managedAllianceFields);

function toManaged(row: AllianceRow, baseUrl: string): ManagedAlliance {
  return read(row, { ...otherFields(row, baseUrl), managers: row['managers'] });
}
