/** Alliances: how they are stored, read and written. Their counts hold listed organisations only; triggers keep them. */
import { v7 as uuidv7 } from 'uuid';
import type { Alliance, AllianceDetail } from '../contract/alliance.ts';
import { sql, type Database, type Executor, type Transaction } from '../database/database.ts';
import { foldText, searchText } from './fold-text.ts';
import type { AllianceInput } from './inputs.ts';
import type { AllianceQuery } from './list-query.ts';
import { readOne, readPage, type Page } from './list.ts';
import { iso, linksOf, type StoredLinks } from './rows.ts';

export type AllianceRow = {
  id: string;
  slug: string;
  name: string;
  tag: string | null;
  description: string | null;
  logo_url: string | null;
  banner_url: string | null;
  links: StoredLinks;
  recruiting: boolean;
  org_count: number;
  member_count: number;
  status: 'active' | 'disbanded';
  founded_at: Date | null;
  created_at: Date;
  updated_at: Date;
};

export const allianceColumns = sql`
  t.id, t.slug, t.name, t.tag, t.description, t.logo_url, t.banner_url, t.links, t.recruiting,
  t.org_count, t.member_count, t.status, t.founded_at, t.created_at, t.updated_at
`;
// Built from a subquery of objects, so that the detail is one round trip as well.
const memberColumns = sql`
  (select coalesce(json_agg(json_build_object('id', o.id, 'slug', o.slug, 'name', o.name, 'tag', o.tag,
     'memberCount', o.member_count) order by o.name_sort, o.id), '[]')
   from orgs o where o.alliance_id = t.id and o.listed) as orgs
`;
const source = {
  scope: 'directory',
  kind: 'alliances',
  always: sql`true`,
  columns: allianceColumns,
  joins: sql``,
} as const;

export const allianceSortColumns: Record<string, string> = {
  name: 'name_sort',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
  memberCount: 'member_count',
};

/** One page of the alliances. `baseUrl` goes into each `url`. */
export async function listAlliances(
  database: Database,
  query: AllianceQuery,
  baseUrl: string,
): Promise<Page<Alliance>> {
  const page = await readPage<AllianceRow>(database, {
    ...source,
    page: query.page,
    limit: query.limit,
    filters: [],
    search: query.search,
    sort: query.sort,
    sortColumns: allianceSortColumns,
  });
  return { ...page, rows: page.rows.map((row) => toAlliance(row, baseUrl)) };
}

/** The alliance with this slug and its listed organisations, or a null row. */
export async function readAlliance(database: Database, slug: string, baseUrl: string) {
  const { revision, row } = await readOne<AllianceRow & { orgs: AllianceDetail['orgs'] }>(
    database,
    {
      ...source,
      slug,
      columns: sql`${allianceColumns}, ${memberColumns}`,
    },
  );
  return { revision, row: row && { ...toAlliance(row, baseUrl), orgs: row.orgs } };
}

/** The alliances with these ids as they stand in the caller's transaction, in the order of ids. */
export async function publicAlliances(
  tx: Executor,
  ids: string[],
  baseUrl: string,
): Promise<Alliance[]> {
  const { rows } = await sql<AllianceRow>`
    select ${allianceColumns} from alliances t where t.id = any(${ids}::uuid[]) order by t.id
  `.execute(tx);
  return rows.map((row) => toAlliance(row, baseUrl));
}

/** What events, bindings and imports need to know of an alliance. Null where there is none. */
export async function findAlliance(tx: Executor, slug: string) {
  const { rows } = await sql<{ id: string; slug: string; name: string }>`
    select id, slug, name from alliances where slug = ${slug}
  `.execute(tx);
  return rows[0] ?? null;
}

/** The ids of the alliances with these slugs; a slug that leads nowhere is not in the map. */
export async function allianceIds(tx: Executor, slugs: string[]): Promise<Map<string, string>> {
  const { rows } = await sql<{ slug: string; id: string }>`
    select slug, id from alliances where slug = any(${slugs}::text[])
  `.execute(tx);
  return new Map(rows.map((row) => [row.slug, row.id]));
}

export type WrittenAlliance = { id: string; created: boolean };

/** Inserts or updates by slug, one statement for the batch. Every input has its slug. */
export async function upsertAlliances(
  tx: Transaction,
  inputs: (AllianceInput & { slug: string })[],
): Promise<WrittenAlliance[]> {
  const rows = inputs.map(toColumns);
  const { rows: written } = await sql<WrittenAlliance>`
    with given as (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as g(
        id uuid, slug text, name text, tag text, description text, logo_url text, banner_url text,
        links jsonb, recruiting boolean, status text, founded_at timestamptz, name_sort text, search_text text)
    ),
    before as (select a.slug from alliances a join given g on g.slug = a.slug),
    written as (
      insert into alliances (id, slug, name, tag, description, logo_url, banner_url, links, recruiting,
        status, founded_at, name_sort, search_text)
      select * from given order by slug
      on conflict (slug) do update set
        name = excluded.name, tag = excluded.tag, description = excluded.description,
        logo_url = excluded.logo_url, banner_url = excluded.banner_url, links = excluded.links,
        recruiting = excluded.recruiting, status = excluded.status, founded_at = excluded.founded_at,
        name_sort = excluded.name_sort, search_text = excluded.search_text
      returning id, slug
    )
    select w.id, b.slug is null as created from written w left join before b on b.slug = w.slug
  `.execute(tx);
  return written;
}

function toColumns(input: AllianceInput & { slug: string }) {
  return {
    id: uuidv7(),
    slug: input.slug,
    name: input.name,
    tag: input.tag,
    description: input.description,
    logo_url: input.logoUrl,
    banner_url: input.bannerUrl,
    links: input.links,
    recruiting: input.recruiting,
    status: input.status,
    founded_at: input.foundedAt,
    name_sort: foldText(input.name),
    search_text: searchText(input.name, input.tag, input.slug, input.description),
  };
}

export function toAlliance(row: AllianceRow, baseUrl: string): Alliance {
  return {
    id: row.id,
    slug: row.slug,
    name: row.name,
    tag: row.tag,
    description: row.description,
    logoUrl: row.logo_url,
    bannerUrl: row.banner_url,
    links: linksOf(row.links),
    recruiting: row.recruiting,
    orgCount: row.org_count,
    memberCount: row.member_count,
    status: row.status,
    foundedAt: iso(row.founded_at),
    url: `${baseUrl}/api/v1/alliances/${row.slug}`,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}
