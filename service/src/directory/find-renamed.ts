/** Finds where an entry is whose slug has changed, for pages: readers of the API get a 404. */
import { sql, type Database } from '../database/database.ts';
import { publicEntries } from './public-entries.ts';
import { isReserved } from './slug.ts';

/**
 * The slug of the public entry that had this one, while nobody else may take it. Otherwise null, also if it left the slug before
 * it was public: nobody can have a link, and the slug may tell what nobody should know.
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
