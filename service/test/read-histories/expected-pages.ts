/** The page of a list, and suggestions, by comparing every entry: what the service must return. */
import { foldText } from '../../src/directory/fold-text.ts';
import { mistypedLevel } from '../../src/directory/search/match.ts';
import { createIndexBuilder } from '../../src/directory/search/search-index.ts';
import type { FieldText } from '../../src/directory/search/segment.ts';
import { finish } from '../../src/directory/search/steps.ts';
import { termsOf, type Term } from '../../src/directory/search/terms.ts';
import { suggestionsMax } from '../../src/directory/suggest.ts';
import { levelOf } from '../support/rank-by-comparison.ts';
import { kinds, type Entry, type Kind } from './directory-model.ts';

export type ListQuery = {
  search?: string | undefined;
  /** Names and values of parameters. */
  filters: [string, string][];
  sort?: string | undefined;
  facets: string[];
  page: number;
  limit: number;
};
type Hit = { entry: Entry; level: number };
type Found = { hits: Hit[]; relaxed: boolean; ignored: string[] };

export function expectPage(entries: Entry[], query: ListQuery) {
  const { search, sort, facets, page, limit } = query;
  const terms = termsOf(search ?? '');
  const found = find(entries, terms, { pageSize: limit, relaxes: true });
  const met = found.hits.filter(({ entry }) => meets(entry, query.filters));
  const sorted = sort === undefined ? met : sortBy(met, sort);
  const hits = sorted.slice((page - 1) * limit, page * limit);
  const mistyped = hits.filter(({ level }) => level >= mistypedLevel);
  const { relaxed, ignored } = found;
  return {
    success: true,
    data: hits.map(({ entry }) => entry),
    meta: {
      apiVersion: 'v1',
      ...(facets.length > 0 && { facets: countFacets(met, facets) }),
      ...(search !== undefined && {
        search: { relaxed, ignored, typos: mistyped.map(({ entry }) => entry.id) },
      }),
    },
    pagination: { page, limit, total: met.length, totalPages: Math.ceil(met.length / limit) },
  };
}

const namesOfKinds = { orgs: 'organization', alliances: 'alliance', blueprints: 'blueprint' };

export function expectSuggestions(entriesOf: (kind: Kind) => Entry[], text: string) {
  const terms = termsOf(text);
  if (terms.length === 0) return [];
  const findAll = (relaxes: boolean) =>
    kinds.flatMap((kind) =>
      find(entriesOf(kind), terms, { pageSize: suggestionsMax, relaxes })
        .hits.slice(0, suggestionsMax)
        .map(({ entry, level }, place) => ({ kind, entry, level, place })),
    );
  const exact = findAll(false);
  return (exact.length > 0 ? exact : findAll(true))
    .sort((a, b) => a.level - b.level || a.place - b.place)
    .slice(0, suggestionsMax)
    .map(({ kind, entry: { slug, name } }) => ({ kind: namesOfKinds[kind], slug, name }));
}

/** All entries that match, the most relevant first. */
function find(
  all: Entry[],
  terms: Term[],
  { pageSize, relaxes }: { pageSize: number; relaxes: boolean },
): Found {
  const entries = sortBy(
    all.map((entry) => ({ entry, level: 0 })),
    'name',
  ).map(({ entry }) => entry);
  const asTyped = { relaxed: false, ignored: [] };
  if (terms.length === 0)
    return { hits: entries.map((entry) => ({ entry, level: 0 })), ...asTyped };
  const exact = rank(entries, terms, false);
  const hits = exact.length >= pageSize ? exact : rank(entries, terms, true);
  return hits.length > 0 || !relaxes ? { hits, ...asTyped } : relax(entries, terms);
}

function rank(entries: Entry[], terms: Term[], typos: boolean): Hit[] {
  return entries
    .map((entry) => ({ entry, level: levelOf(textsOf(entry), terms, typos) }))
    .filter(({ level }) => level < Number.POSITIVE_INFINITY)
    .sort((a, b) => a.level - b.level || membersOf(b.entry) - membersOf(a.entry));
}

/** As an index does that has never known other entries. `search-index.test.ts` has the rules of relaxing. */
function relax(entries: Entry[], terms: Term[]): Found {
  const builder = createIndexBuilder();
  for (const [ordinal, entry] of entries.entries())
    builder.add({ ordinal, members: membersOf(entry), listed: true, texts: textsOf(entry) });
  const { ordinals, levels, isRelaxed, ignored } = finish(builder.build()).find(terms, {
    offset: 0,
    limit: Number.POSITIVE_INFINITY,
    pageSize: 1,
  });
  const hits = ordinals.map((ordinal, place) => ({
    entry: entries[ordinal] as Entry,
    level: levels[place] ?? 0,
  }));
  return { hits, relaxed: isRelaxed, ignored };
}

type Item = { item: string; name: string };
const isBlueprint = (entry: Entry) => 'ingredients' in entry;
const membersOf = (entry: Entry) => (isBlueprint(entry) ? 0 : Number(entry['memberCount']));
const itemsOf = (entry: Entry) => entry['ingredients'] as Item[];
const textsIn = (values: unknown[]) => values.filter((value) => typeof value === 'string');

function textsOf(entry: Entry): FieldText[] {
  const { name, slug, tag, aliases, description, key, output } = entry;
  const short = isBlueprint(entry) ? [] : [tag, slug, ...(aliases as string[])];
  const named = (items: Item[]) => items.flatMap((item) => [item.item, item.name]);
  const other = isBlueprint(entry)
    ? [key, ...named([output as Item, ...itemsOf(entry)])]
    : [description];
  return [
    ...[name].map((text) => ({ field: 0, text }) as const),
    ...textsIn(short).map((text) => ({ field: 1, text }) as const),
    ...textsIn(other).map((text) => ({ field: 2, text }) as const),
  ].map(({ field, text }) => ({ field, text: foldText(text) }));
}

function meets(entry: Entry, filters: [string, string][]): boolean {
  return [...new Set(filters.map(([name]) => name))].every((name) => {
    const wanted = filters.filter(([other]) => other === name).map(([, value]) => foldText(value));
    if (name === 'memberCountMin') return membersOf(entry) >= Number(wanted[0]);
    if (name === 'memberCountMax') return membersOf(entry) <= Number(wanted[0]);
    return valuesOf(entry, name).some((value) => wanted.includes(foldText(value)));
  });
}

function valuesOf(entry: Entry, name: string): string[] {
  const alliance = entry['alliance'] as { slug: string } | null;
  if (name === 'alliance') return alliance ? [alliance.slug] : [];
  if (name === 'ingredient') return itemsOf(entry).flatMap((item) => [item.item, item.name]);
  const values =
    name === 'activity' ? [entry['primaryActivity'], entry['secondaryActivity']] : [entry[name]];
  return values.filter((value) => value !== null).map(String);
}

function sortBy(hits: Hit[], sort: string): Hit[] {
  const field = sort.replace('-', '');
  const keyOf = ({ entry }: Hit) =>
    field === 'name' ? foldText(entry.name) : (entry[field] as string | number);
  const compare = (a: string | number, b: string | number) => Number(a > b) - Number(a < b);
  const sorted = hits.toSorted(
    (a, b) => compare(keyOf(a), keyOf(b)) || compare(a.entry.id, b.entry.id),
  );
  return sort.startsWith('-') ? sorted.toReversed() : sorted;
}

function countFacets(hits: Hit[], facets: string[]) {
  return Object.fromEntries(facets.map((name) => [name, countValues(hits, name)]));
}

function countValues(hits: Hit[], name: string): { value: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const { entry } of hits)
    for (const value of valuesOf(entry, name)) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .sort((a, b) => b.count - a.count || Number(a.value > b.value) - Number(a.value < b.value));
}
