/** Organisations: how they are stored, read and written. Only listed ones are public. */
import { v7 as uuidv7 } from 'uuid';
import type { Organisation } from '../contract/organisation.ts';
import { sql, type Database, type Executor, type Transaction } from '../database/database.ts';
import { foldText, searchText } from './fold-text.ts';
import type { OrgQuery } from './list-query.ts';
import { readOne, readPage, type Page, type Sql } from './list.ts';
import type { OrgInput } from './inputs.ts';
import { canonicalLanguage } from './language.ts';
import { iso, linksOf, type StoredLinks } from './rows.ts';

export type OrgRow = {
  id: string;
  slug: string;
  name: string;
  tag: string | null;
  description: string | null;
  primary_activity: string | null;
  secondary_activity: string | null;
  commitment: string | null;
  recruiting: boolean;
  language: string | null;
  timezone: string | null;
  location: string | null;
  member_count: number;
  logo_url: string | null;
  banner_url: string | null;
  links: StoredLinks;
  verified: boolean;
  status: 'active' | 'closed';
  founded_at: Date | null;
  created_at: Date;
  updated_at: Date;
  alliance_id: string | null;
  alliance_slug: string | null;
  alliance_name: string | null;
  alliance_tag: string | null;
};

export const orgColumns = sql`
  t.id, t.slug, t.name, t.tag, t.description, t.primary_activity, t.secondary_activity, t.commitment,
  t.recruiting, t.language, t.timezone, t.location, t.member_count, t.logo_url, t.banner_url, t.links,
  t.verified, t.status, t.founded_at, t.created_at, t.updated_at,
  a.id as alliance_id, a.slug as alliance_slug, a.name as alliance_name, a.tag as alliance_tag
`;
export const orgJoins = sql`left join alliances a on a.id = t.alliance_id`;
const listed = sql`t.listed`;
const source = {
  scope: 'directory',
  kind: 'orgs',
  always: listed,
  columns: orgColumns,
  joins: orgJoins,
} as const;

export const orgSortColumns: Record<string, string> = {
  name: 'name_sort',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
  memberCount: 'member_count',
};

/** One page of the listed organisations. `baseUrl` goes into each `url`. */
export async function listOrgs(
  database: Database,
  query: OrgQuery,
  baseUrl: string,
): Promise<Page<Organisation>> {
  const page = await readPage<OrgRow>(database, {
    ...source,
    page: query.page,
    limit: query.limit,
    filters: orgFilters(query),
    search: query.search,
    sort: query.sort,
    sortColumns: orgSortColumns,
  });
  return { ...page, rows: page.rows.map((row) => toOrganisation(row, baseUrl)) };
}

export function orgFilters(query: OrgQuery): Sql[] {
  const filters: Sql[] = [];
  if (query.alliance !== undefined)
    filters.push(sql`t.alliance_id = (select id from alliances where slug = ${query.alliance})`);
  if (query.activity !== undefined)
    filters.push(
      sql`(t.primary_activity = ${query.activity} or t.secondary_activity = ${query.activity})`,
    );
  if (query.language !== undefined)
    filters.push(sql`t.language = ${canonicalLanguage(query.language)}`);
  if (query.recruiting !== undefined) filters.push(sql`t.recruiting = ${query.recruiting}`);
  return filters;
}

/** The listed organisation with this slug, or a null row. */
export async function readOrg(database: Database, slug: string, baseUrl: string) {
  const { revision, row } = await readOne<OrgRow>(database, { ...source, slug });
  return { revision, row: row && toOrganisation(row, baseUrl) };
}

/** The listed organisations with these ids as they stand in the caller's transaction, in the order of ids. */
export async function publicOrgs(
  tx: Executor,
  ids: string[],
  baseUrl: string,
): Promise<Organisation[]> {
  const { rows } = await sql<OrgRow>`
    select ${orgColumns} from orgs t ${orgJoins} where t.id = any(${ids}::uuid[]) and t.listed order by t.id
  `.execute(tx);
  return rows.map((row) => toOrganisation(row, baseUrl));
}

/** What events and bindings need to know of an organisation, listed or not. Null where there is none. */
export async function findOrg(tx: Executor, slug: string) {
  const { rows } = await sql<{ id: string; slug: string; name: string; listed: boolean }>`
    select id, slug, name, listed from orgs where slug = ${slug}
  `.execute(tx);
  return rows[0] ?? null;
}

/** What was written: `announced` is set for those that are public now for the first time. */
export type WrittenOrg = { id: string; created: boolean; announced: boolean };

/** Inserts or updates by slug, one statement for the batch. Every input has its slug; alliances are named by id. */
export async function upsertOrgs(
  tx: Transaction,
  inputs: (OrgInput & { slug: string; allianceId: string | null })[],
): Promise<WrittenOrg[]> {
  const rows = inputs.map(toColumns);
  const { rows: written } = await sql<WrittenOrg>`
    with given as (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as g(
        id uuid, slug text, name text, tag text, description text, primary_activity text,
        secondary_activity text, commitment text, recruiting boolean, language text, timezone text,
        location text, member_count integer, logo_url text, banner_url text, links jsonb,
        alliance_id uuid, verified boolean, status text, founded_at timestamptz, listed boolean,
        contact_email text, chat_server_id text, notes text, name_sort text, search_text text)
    ),
    before as (select o.slug, o.first_listed_at from orgs o join given g on g.slug = o.slug),
    written as (
      insert into orgs (id, slug, name, tag, description, primary_activity, secondary_activity, commitment,
        recruiting, language, timezone, location, member_count, logo_url, banner_url, links, alliance_id,
        verified, status, founded_at, listed, contact_email, chat_server_id, notes, name_sort, search_text)
      select * from given order by slug
      on conflict (slug) do update set
        name = excluded.name, tag = excluded.tag, description = excluded.description,
        primary_activity = excluded.primary_activity, secondary_activity = excluded.secondary_activity,
        commitment = excluded.commitment, recruiting = excluded.recruiting, language = excluded.language,
        timezone = excluded.timezone, location = excluded.location, member_count = excluded.member_count,
        logo_url = excluded.logo_url, banner_url = excluded.banner_url, links = excluded.links,
        alliance_id = excluded.alliance_id, verified = excluded.verified, status = excluded.status,
        founded_at = excluded.founded_at, listed = excluded.listed, contact_email = excluded.contact_email,
        chat_server_id = excluded.chat_server_id, notes = excluded.notes,
        name_sort = excluded.name_sort, search_text = excluded.search_text
      returning id, slug, listed
    )
    select w.id, b.slug is null as created, w.listed and b.first_listed_at is null as announced
    from written w left join before b on b.slug = w.slug
  `.execute(tx);
  return written;
}

function toColumns(input: OrgInput & { slug: string; allianceId: string | null }) {
  return {
    id: uuidv7(),
    slug: input.slug,
    name: input.name,
    tag: input.tag,
    description: input.description,
    primary_activity: input.primaryActivity,
    secondary_activity: input.secondaryActivity,
    commitment: input.commitment,
    recruiting: input.recruiting,
    language: input.language === null ? null : canonicalLanguage(input.language),
    timezone: input.timezone,
    location: input.location,
    member_count: input.memberCount,
    logo_url: input.logoUrl,
    banner_url: input.bannerUrl,
    links: input.links,
    alliance_id: input.allianceId,
    verified: input.verified,
    status: input.status,
    founded_at: input.foundedAt,
    listed: input.listed,
    contact_email: input.contactEmail,
    chat_server_id: input.chatServerId,
    notes: input.notes,
    name_sort: foldText(input.name),
    search_text: searchText(input.name, input.tag, input.slug, input.description),
  };
}

export function toOrganisation(row: OrgRow, baseUrl: string): Organisation {
  return {
    id: row.id,
    slug: row.slug,
    name: row.name,
    tag: row.tag,
    description: row.description,
    primaryActivity: row.primary_activity,
    secondaryActivity: row.secondary_activity,
    commitment: row.commitment,
    recruiting: row.recruiting,
    language: row.language,
    timezone: row.timezone,
    location: row.location,
    memberCount: row.member_count,
    logoUrl: row.logo_url,
    bannerUrl: row.banner_url,
    links: linksOf(row.links),
    alliance: allianceOf(row),
    verified: row.verified,
    status: row.status,
    foundedAt: iso(row.founded_at),
    url: `${baseUrl}/api/v1/orgs/${row.slug}`,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
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
