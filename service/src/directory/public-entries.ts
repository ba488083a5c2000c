/** Reads the entries of each kind as the public sees them. */
import type { Alliance, AllianceDetail } from '../contract/alliance.ts';
import type { Blueprint } from '../contract/blueprint.ts';
import { requestedFacets } from '../contract/list-meta.ts';
import type { Organisation } from '../contract/organisation.ts';
import { sql, type Database, type Executor } from '../database/database.ts';
import { publicUrlOr } from '../database/public-url.ts';
import {
  allianceFilters,
  allianceSource,
  listedMembers,
  toAlliance,
  type AllianceRow,
} from './alliances.ts';
import { blueprintFilters, blueprintSource, toBlueprint } from './blueprints.ts';
import type { AllianceQuery, PublicBlueprintQuery, PublicOrgQuery } from './list-query.ts';
import {
  findPage,
  readOne,
  readPage,
  type DirectoryReads,
  type ListPlan,
  type Page,
  type Sql,
} from './list.ts';
import type { SlugTable } from './lock-directory.ts';
import { orgFilters, orgSource, toOrganisation, type OrgRow } from './orgs.ts';
import type { Row } from './rows.ts';
import { isReserved } from './slug.ts';
import type { Filter } from './search/values.ts';

type Entries = { orgs: Organisation; alliances: Alliance; blueprints: Blueprint };
export type PublicQueries = {
  orgs: PublicOrgQuery;
  alliances: AllianceQuery & { facets?: undefined };
  blueprints: PublicBlueprintQuery;
};
/** How entries of a kind are listed and read. */
export type EntrySource<Query, Entry> = Pick<
  ListPlan,
  'scope' | 'kind' | 'fields' | 'always' | 'columns' | 'joins'
> & {
  filtersOf: (query: Query) => Filter[];
  /** `baseUrl` goes into `url`. */
  toEntry: (row: Row, baseUrl: string) => Entry;
};

export const publicEntries: {
  [Kind in SlugTable]: EntrySource<PublicQueries[Kind], Entries[Kind]>;
} = {
  orgs: {
    ...orgSource,
    filtersOf: orgFilters,
    toEntry: (row, baseUrl) => toOrganisation(row as OrgRow, baseUrl),
  },
  alliances: {
    ...allianceSource,
    filtersOf: allianceFilters,
    toEntry: (row, baseUrl) => toAlliance(row as AllianceRow, baseUrl),
  },
  blueprints: { ...blueprintSource, filtersOf: blueprintFilters, toEntry: toBlueprint },
};

/** One page. */
export async function listPublic<Kind extends SlugTable>(
  reads: DirectoryReads,
  kind: Kind,
  query: PublicQueries[Kind],
  baseUrl: string,
): Promise<Page<Entries[Kind]>> {
  const { filtersOf, toEntry, ...source } = publicEntries[kind];
  const plan = {
    ...query,
    ...source,
    filters: filtersOf(query),
    facets: query.facets === undefined ? undefined : requestedFacets(query.facets),
  };
  const page = await readPage<Row>(reads.database, await findPage(reads.search, plan));
  return { ...page, rows: page.rows.map((row) => toEntry(row, baseUrl)) };
}

/** The entry with this slug, an alliance with its listed organisations; or a null row. */
export async function readPublic(
  database: Database,
  kind: SlugTable,
  slug: string,
  baseUrl: string,
): Promise<{ revision: number; row: object | null }> {
  const { toEntry, ...source } = publicEntries[kind];
  if (kind !== 'alliances') {
    const { revision, row } = await readOne<Row>(database, { ...source, slug });
    return { revision, row: row && toEntry(row, baseUrl) };
  }
  const columns: Sql = sql`${source.columns}, ${listedMembers}`;
  const { revision, row } = await readOne<Row & Pick<AllianceDetail, 'orgs'>>(database, {
    ...source,
    columns,
    slug,
  });
  return { revision, row: row && { ...toEntry(row, baseUrl), orgs: row.orgs } };
}

/** The entries with these ids for an event, as they stand in the caller's transaction, in the order of ids. */
export async function publicById<Kind extends SlugTable>(
  tx: Executor,
  kind: Kind,
  ids: string[],
  ownUrl: string,
): Promise<Entries[Kind][]> {
  const { always, columns, joins, toEntry } = publicEntries[kind];
  const { rows } = await sql<Row & { public_url: string }>`
    select ${columns}, ${publicUrlOr(ownUrl)} as public_url from ${sql.table(kind)} t ${joins}
    where t.id = any(${ids}::uuid[]) and ${always} order by t.id
  `.execute(tx);
  return rows.map((row) => toEntry(row, row.public_url));
}

/**
 * For pages, because readers of the API get a 404: the slug of the public entry that had this one, while nobody else may take it.
 * Otherwise null, also if it left the slug before it was public: nobody can have a link, and the slug may tell what nobody should
 * know.
 */
export async function findRenamed(
  database: Database,
  kind: 'orgs' | 'alliances',
  slug: string,
): Promise<string | null> {
  const { rows } = await sql<{ slug: string }>`
    select t.slug from (
      select entry_id, left_at from former_slugs where kind = ${kind} and slug = ${slug} and ${isReserved}
    ) former
    join ${sql.table(kind)} t on t.id = former.entry_id where ${publicEntries[kind].always}
      ${kind === 'orgs' ? sql`and former.left_at > t.first_listed_at` : sql``}
  `.execute(database);
  return rows[0]?.slug ?? null;
}

type Place = { slug: string; updated_at: Date };

/** Where public entries are, for the sitemap: the oldest first, so that a new one changes the last part only. */
export function listSlugs(
  database: Database,
  kind: 'orgs' | 'alliances',
  paging: { page: number; limit: number },
): Promise<Page<Place>> {
  return readPage<Place>(database, {
    ...publicEntries[kind],
    ...paging,
    columns: sql`t.id, t.slug, t.updated_at`,
    joins: sql``,
    sort: 'createdAt',
    filters: [],
    found: null,
  });
}
