/** Lists where public entries are, for the sitemap: the oldest first, so that a new one changes the last part only. */
import { sql, type Database } from '../database/database.ts';
import { allianceSource } from './alliances.ts';
import { readPage, type Page } from './list.ts';
import { orgSource } from './orgs.ts';

type Place = { slug: string; updated_at: Date };

const sources = { orgs: orgSource, alliances: allianceSource };

export function listSlugs(
  database: Database,
  kind: keyof typeof sources,
  paging: { page: number; limit: number },
): Promise<Page<Place>> {
  return readPage<Place>(database, {
    ...sources[kind],
    ...paging,
    columns: sql`t.id, t.slug, t.updated_at`,
    joins: sql``,
    sort: 'createdAt',
    filters: [],
    found: null,
  });
}
