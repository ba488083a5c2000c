/** Stores, reads and writes organisations. Only listed ones are public. */
import {
  type Organisation,
  managedOrgFields,
  orgFields,
  orgSearch,
} from '../contract/organisation.ts';
import { withStoredAliases } from './aliases.ts';
import { type Executor, type Transaction, sql } from '../database/database.ts';
import {
  columnList,
  columnTypes,
  columnsOf,
  computedColumns,
  excludedValues,
  writableFields,
  type Row,
  type Written,
  computedValues,
  rowReader,
  toRow,
} from './rows.ts';
import { foldText } from './fold-text.ts';
import type { OrgQuery } from './list-query.ts';
import { filtersBy, filtersByMembers } from './list.ts';
import type { OrgInput } from './inputs.ts';
import type { Filter } from './search/values.ts';

export type OrgRow = Row & {
  slug: string;
  alliance_id: string | null;
  alliance_slug: string | null;
  alliance_name: string | null;
  alliance_tag: string | null;
};

export const orgSource = {
  scope: 'directory',
  kind: 'orgs',
  fields: orgFields,
  always: sql`t.listed`,
  columns: sql`
    ${columnList(columnsOf(orgFields), 't')},
    a.id as alliance_id, a.slug as alliance_slug, a.name as alliance_name, a.tag as alliance_tag
  `,
  joins: sql`left join alliances a on a.id = t.alliance_id`,
} as const;

export function orgFilters(query: OrgQuery): Filter[] {
  return [
    ...filtersBy(query, ['slug', 'alliance', 'activity', 'recruiting', 'status', 'verified']),
    ...filtersBy(query, ['language'], canonicalLanguage),
    ...filtersBy(query, ['tag', 'location'], foldText),
    ...filtersByMembers(query),
  ];
}

/** The fields of an organisation, listed or not, that events and bindings need. Null if there is none. */
export async function findOrg(tx: Executor, slug: string) {
  const { rows } = await sql<{ id: string; slug: string; name: string; listed: boolean }>`
    select id, slug, name, listed from orgs where slug = ${slug}
  `.execute(tx);
  return rows[0] ?? null;
}

type WritableOrg = OrgInput & { slug: string; allianceId: string | null };

const fieldColumns = columnsOf(writableFields(managedOrgFields));
const columns = [...computedColumns, ...fieldColumns, { column: 'alliance_id', type: 'uuid' }];

/** Inserts or updates by slug, one statement for the batch. Every input has its slug; alliances are given by id. */
export async function upsertOrgs(tx: Transaction, inputs: WritableOrg[]): Promise<Written[]> {
  const rows = (await withStoredAliases(tx, 'orgs', inputs)).map(toColumns);
  const { rows: written } = await sql<Written>`
    with given as (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as g(${columnTypes(columns)})
    ),
    before as (select o.slug, o.first_listed_at from orgs o join given g on g.slug = o.slug),
    written as (
      insert into orgs (${columnList(columns)})
      select ${columnList(columns)} from given order by slug
      on conflict (slug) do update set ${excludedValues(columns, ['id', 'slug'])}
      returning id, slug, listed
    )
    select w.id, b.slug is null as created, w.listed and b.first_listed_at is null as announced
    from written w left join before b on b.slug = w.slug
  `.execute(tx);
  return written;
}

function toColumns(input: WritableOrg): Row {
  return {
    ...toRow(fieldColumns, input),
    ...computedValues(input, orgSearch),
    language: input.language === null ? null : canonicalLanguage(input.language),
    alliance_id: input.allianceId,
  };
}

const read = rowReader<Organisation>(orgFields);

export function toOrganisation(row: OrgRow, baseUrl: string): Organisation {
  return read(row, otherFields(row, baseUrl));
}

/** The public fields that are not columns of `orgs`. */
export function otherFields(row: OrgRow, baseUrl: string) {
  return { alliance: allianceOf(row), url: `${baseUrl}/api/v1/orgs/${row.slug}` };
}

function allianceOf(row: OrgRow): Organisation['alliance'] {
  if (row.alliance_id === null || row.alliance_slug === null || row.alliance_name === null)
    return null;
  return {
    id: row.alliance_id,
    slug: row.alliance_slug,
    name: row.alliance_name,
    tag: row.alliance_tag,
  };
}

/** Normalises a language tag (`pt-BR`): tags ignore case, so one form is stored and searched for. */
function canonicalLanguage(tag: string): string {
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? tag;
  } catch {
    // A malformed tag stays as it is and finds nothing.
    return tag;
  }
}
