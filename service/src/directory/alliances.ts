/** Stores, reads and writes alliances. Their counts include listed organisations only; triggers update them. */
import type { TObject } from 'typebox';
import {
  allianceFields,
  allianceSearch,
  managedAllianceFields,
  OrganisationReference,
  type Alliance,
} from '../contract/alliance.ts';
import { managedOrgFields } from '../contract/organisation.ts';
import { sql, type Executor, type Transaction } from '../database/database.ts';
import {
  columnList,
  columnsOf,
  columnTypes,
  computedColumns,
  excludedValues,
  jsonPairs,
  writableFields,
  computedValues,
  rowReader,
  toRow,
  type Row,
  type Written,
} from './rows.ts';
import { foldText } from './fold-text.ts';
import type { AllianceInput } from './inputs.ts';
import { withStoredAliases } from './aliases.ts';
import type { AllianceQuery } from './list-query.ts';
import { filtersBy, filtersByMembers, type Sql } from './list.ts';
import type { Filter } from './search/values.ts';

export type AllianceRow = Row & { slug: string };

export const allianceSource = {
  scope: 'directory',
  kind: 'alliances',
  fields: allianceFields,
  always: sql`true`,
  columns: columnList(columnsOf(allianceFields), 't'),
  joins: sql``,
} as const;

/** The members that `which` allows, with the fields of `reference`, as JSON to save a round trip. */
export function selectMembers(reference: TObject, which: Sql): Sql {
  const fields = columnsOf(managedOrgFields).filter(({ name }) => name in reference.properties);
  return sql`
    (select coalesce(json_agg(json_build_object(${jsonPairs(fields, 'o')}) order by o.name_sort, o.id), '[]')
     from orgs o where o.alliance_id = t.id and ${which}) as orgs
  `;
}
export const listedMembers = selectMembers(OrganisationReference, sql`o.listed`);

export function allianceFilters(query: AllianceQuery): Filter[] {
  return [
    ...filtersBy(query, ['slug', 'recruiting', 'status']),
    ...filtersBy(query, ['tag'], foldText),
    ...filtersByMembers(query),
  ];
}

/** The fields of an alliance that events, bindings and imports need. Null if there is none. */
export async function findAlliance(tx: Executor, slug: string) {
  const { rows } = await sql<{ id: string; slug: string; name: string }>`
    select id, slug, name from alliances where slug = ${slug}
  `.execute(tx);
  return rows[0] ?? null;
}

/** The ids of the alliances with these slugs; unknown slugs are not in the map. */
export async function allianceIds(tx: Executor, slugs: string[]): Promise<Map<string, string>> {
  const { rows } = await sql<{ slug: string; id: string }>`
    select slug, id from alliances where slug = any(${slugs}::text[])
  `.execute(tx);
  return new Map(rows.map((row) => [row.slug, row.id]));
}

type WritableAlliance = AllianceInput & { slug: string };

const fieldColumns = columnsOf(writableFields(managedAllianceFields));
const columns = [...computedColumns, ...fieldColumns];

/** Inserts or updates by slug, one statement for the batch. Every input has its slug. */
export async function upsertAlliances(
  tx: Transaction,
  inputs: WritableAlliance[],
): Promise<Written[]> {
  const rows = (await withStoredAliases(tx, 'alliances', inputs)).map(toColumns);
  const { rows: written } = await sql<Written>`
    with given as (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as g(${columnTypes(columns)})
    ),
    before as (select a.slug from alliances a join given g on g.slug = a.slug),
    written as (
      insert into alliances (${columnList(columns)})
      select ${columnList(columns)} from given order by slug
      on conflict (slug) do update set ${excludedValues(columns, ['id', 'slug'])}
      returning id, slug
    )
    select w.id, b.slug is null as created, b.slug is null as announced from written w left join before b on b.slug = w.slug
  `.execute(tx);
  return written;
}

function toColumns(input: WritableAlliance): Row {
  return { ...toRow(fieldColumns, input), ...computedValues(input, allianceSearch) };
}

const read = rowReader<Alliance>(allianceFields);

export function toAlliance(row: AllianceRow, baseUrl: string): Alliance {
  return read(row, otherFields(row, baseUrl));
}

/** The public fields that are not columns of `alliances`. */
export function otherFields({ slug }: AllianceRow, baseUrl: string) {
  return { url: `${baseUrl}/api/v1/alliances/${slug}` };
}
