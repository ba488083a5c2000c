/** Suggests entries of all kinds while somebody types. */
import type { Suggestion } from '../contract/list-meta.ts';
import { arrayLiteral } from '../database/array-literal.ts';
import { sql } from '../database/database.ts';
import type { DirectoryReads } from './list.ts';

export const suggestionsMax = 8;
const window = { offset: 0, limit: suggestionsMax, pageSize: suggestionsMax };
const kinds = ['orgs', 'alliances', 'blueprints'] as const;

type Hit = { kind: (typeof kinds)[number]; ordinal: number; level: number; place: number };

/** The most relevant entries, at most eight. None for a text without words. Relaxes only if no kind has a hit. */
export async function suggest(reads: DirectoryReads, text: string): Promise<Suggestion[]> {
  const exact = await findAll(reads, text, false);
  const found = exact.length > 0 ? exact : await findAll(reads, text, true);
  const hits = found
    .sort((a, b) => a.level - b.level || a.place - b.place)
    .slice(0, suggestionsMax);
  // Also without hits: without the statement, the time would tell words of unlisted names from those that nobody has.
  return readNames(reads, hits);
}

async function findAll(reads: DirectoryReads, text: string, relaxes: boolean): Promise<Hit[]> {
  const found = await Promise.all(kinds.map((kind) => findHits(reads, kind, text, relaxes)));
  return found.flat();
}

async function findHits(
  { search }: DirectoryReads,
  kind: Hit['kind'],
  text: string,
  relaxes: boolean,
): Promise<Hit[]> {
  const found = await search.find(kind, text, { ...window, relaxes });
  if (!found) return [];
  return found.ordinals.map((ordinal, place) => ({
    kind,
    ordinal,
    level: found.levels[place] as number,
    place,
  }));
}

async function readNames({ database }: DirectoryReads, hits: Hit[]): Promise<Suggestion[]> {
  const { rows } = await sql<Suggestion>`-- prepared: suggest
    with hit as materialized (
      select * from unnest(
        ${arrayLiteral(hits.map(({ kind }) => kind))}::text[],
        ${arrayLiteral(hits.map(({ ordinal }) => ordinal))}::integer[]
      ) with ordinality as hit(kind, ordinal, number)
    ),
    entries as (
      select hit.number, 'organization' as kind, t.slug, t.name
      from hit join searchable_orgs s on s.ordinal = hit.ordinal join orgs t on t.id = s.id
      where hit.kind = 'orgs' and t.listed
      union all
      select hit.number, 'alliance', t.slug, t.name
      from hit join searchable_alliances s on s.ordinal = hit.ordinal join alliances t on t.id = s.id
      where hit.kind = 'alliances'
      union all
      select hit.number, 'blueprint', t.slug, t.name
      from hit join searchable_blueprints s on s.ordinal = hit.ordinal join blueprints t on t.id = s.id
      where hit.kind = 'blueprints'
    )
    select kind, slug, name from entries order by number
  `.execute(database);
  return rows;
}
