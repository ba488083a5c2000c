/** Finds where an entry is whose slug has changed, for pages: readers of the API get a 404. */
import { sql, type Database } from '../database/database.ts';
import { publicEntries } from './public-entries.ts';
import { isReserved } from './slug.ts';

/** The slug of the public entry that had this one, while nobody else may take it. Otherwise null. */
export async function findRenamed(
  database: Database,
  kind: 'orgs' | 'alliances',
  slug: string,
): Promise<string | null> {
  const { rows } = await sql<{ slug: string }>`
    select t.slug from (
      select entry_id from former_slugs where kind = ${kind} and slug = ${slug} and ${isReserved}
    ) former
    join ${sql.table(kind)} t on t.id = former.entry_id where ${publicEntries[kind].always}
  `.execute(database);
  return rows[0]?.slug ?? null;
}
