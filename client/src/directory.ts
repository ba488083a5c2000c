/** Organisations, alliances and blueprints: three lists with the same methods. */
import type { Connection, Query } from './connection.ts';
import type { RequestOptions } from './options.ts';
import { download, type Download } from './download.ts';
import {
  eachEntry,
  pageLimitMax,
  refuseParameter,
  type AllQuery,
  type Loose,
  type Page,
} from './pages.ts';
import type {
  Alliance,
  AllianceDetail,
  Blueprint,
  BlueprintFacets,
  ChangesMeta,
  ListAlliancesQuery,
  ListBlueprintsQuery,
  ListOrgsQuery,
  Organisation,
  OrganisationFacets,
} from './types.ts';

/** A list whose entries have slugs. Requires the scope `read:directory`. */
export type Directory<Entry, Detail, Q, Facets = object> = {
  /** Returns one page, with `meta.facets` if the query asks for facets, and `meta.changes` with `changedSince`. */
  list(
    query?: Loose<Q>,
    options?: RequestOptions,
  ): Promise<Page<Entry> & { meta: { facets?: Facets; changes?: ChangesMeta } }>;
  /**
   * Iterates over all entries, page by page. If the directory changes meanwhile, an entry that moves between pages may
   * come twice or not at all; `sort: 'createdAt'` keeps new entries at the end.
   */
  all(query?: Loose<AllQuery<Q>>, options?: RequestOptions): AsyncGenerator<Entry, void, undefined>;
  /** Returns the entry with this slug. Rejects with `not_found` if there is none. */
  get(slug: string, options?: RequestOptions): Promise<Detail>;
  /** Returns everything at once, at most a minute old. `timeoutMs` is the longest pause. */
  download(options?: RequestOptions): Promise<Download<Entry>>;
};

export type Orgs = Directory<Organisation, Organisation, ListOrgsQuery, OrganisationFacets>;
export type Alliances = Directory<Alliance, AllianceDetail, ListAlliancesQuery>;
export type Blueprints = Directory<Blueprint, Blueprint, ListBlueprintsQuery, BlueprintFacets>;

export function directory<Entry, Detail, Q, Facets>(
  connection: Connection,
  name: 'orgs' | 'alliances' | 'blueprints',
): Directory<Entry, Detail, Q, Facets> {
  const { send } = connection;
  return {
    list: (query, options) => send({ path: [name], query: query as Query, options }),
    async *all(query = {}, options) {
      refuseParameter(query, 'changedSince', 'list() has the changes, also what was removed');
      yield* eachEntry<Entry>((page) =>
        send({
          path: [name],
          query: { limit: pageLimitMax, ...(query as Query), page },
          options,
        }),
      );
    },
    async get(slug, options) {
      const { data } = await send<{ data: Detail }>({ path: [name, slug], options });
      return data;
    },
    download: (options) => download(connection, name, options),
  };
}
