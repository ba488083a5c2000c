import { slugReservedDays } from '../../contract/periods.ts';
import { sql } from '../../database/database.ts';

type Statement = ReturnType<typeof sql>;

/**
 * An expression for the id of the organisation or alliance that has this slug, or had it while nobody else can get it. For an
 * event of everybody, a slug from before the organisation was listed does not count: nobody outside may know it.
 */
export function idBySlug(kind: 'orgs' | 'alliances', slug: string, audience: Statement): Statement {
  const mayBeKnown =
    kind === 'orgs' ? sql`(${audience} <> 'global' or f.left_at > t.first_listed_at)` : sql`true`;
  return sql`coalesce(
    (select id from ${sql.table(kind)} where slug = ${slug}),
    (
      select t.id from former_slugs f join ${sql.table(kind)} t on t.id = f.entry_id
      where f.kind = ${kind} and f.slug = ${slug} and ${mayBeKnown}
        and f.left_at > now() - make_interval(days => ${slugReservedDays})
    )
  )`;
}
