/** Search engines that find names: each returns the indexes of the first ten. */
import { create, insertMultiple, search as searchOrama } from '@orama/orama';
import Fuse from 'fuse.js';
import MiniSearch from 'minisearch';
import { searchText } from '../../service/src/directory/fold-text.ts';
import { nameField } from '../../service/src/directory/search/segment.ts';
import { createIndexBuilder } from '../../service/src/directory/search/search-index.ts';
import { finish } from '../../service/src/directory/search/steps.ts';
import { termsOf } from '../../service/src/directory/search/terms.ts';
import type { openClient } from '../../service/src/database/database.ts';

export type Engine = { name: string; find: (text: string) => number[] | Promise<number[]> };
const first = 10;

export function openOwn(names: string[]): Engine {
  const builder = createIndexBuilder();
  const entries = names
    .map((name, ordinal) => ({ ordinal, text: searchText(name) }))
    .sort((a, b) => (a.text < b.text ? -1 : 1));
  for (const { ordinal, text } of entries)
    builder.add({ ordinal, members: 0, listed: true, texts: [{ field: nameField, text }] });
  const index = finish(builder.build());
  const window = { offset: 0, limit: first, pageSize: first };
  return { name: 'this service', find: (text) => index.find(termsOf(text), window).ordinals };
}

/** With typing errors and starts of words, as its documentation does. */
export function openMiniSearch(names: string[]): Engine {
  const index = new MiniSearch<{ id: number; name: string }>({ fields: ['name'] });
  index.addAll(names.map((name, id) => ({ id, name })));
  const options = { fuzzy: 0.2, prefix: true };
  return {
    name: 'MiniSearch',
    find: (text) =>
      index
        .search(text, options)
        .slice(0, first)
        .map(({ id }) => id as number),
  };
}

export async function openOrama(names: string[]): Promise<Engine> {
  const index = create({ schema: { id: 'string', name: 'string' } as const });
  await insertMultiple(
    index,
    names.map((name, id) => ({ id: String(id), name })),
    names.length,
  );
  return {
    name: 'Orama',
    async find(term) {
      const { hits } = await searchOrama(index, { term, tolerance: 1, limit: first });
      return hits.map(({ id }) => Number(id));
    },
  };
}

export function openFuse(names: string[]): Engine {
  const index = new Fuse(names, { ignoreLocation: true });
  return {
    name: 'Fuse.js',
    find: (text) => index.search(text, { limit: first }).map(({ refIndex }) => refIndex),
  };
}

/** Whole words by `tsvector` first, then what `pg_trgm` finds similar. */
export async function openPostgres(
  client: ReturnType<typeof openClient>,
  names: string[],
): Promise<Engine> {
  await client.query(`
    create extension pg_trgm;
    create extension unaccent;
    create table names (id integer primary key, name text not null, words tsvector not null);
  `);
  await client.query(
    `insert into names select id - 1, name, to_tsvector('simple', unaccent(name)) from unnest($1::text[]) with ordinality as n(name, id)`,
    [names],
  );
  await client.query(`
    create index on names using gin (words);
    create index on names using gin (lower(name) gin_trgm_ops);
    analyze names;
  `);
  return {
    name: 'tsvector, pg_trgm',
    async find(text) {
      const { rows } = await client.query<{ id: number }>(
        `select id from names, plainto_tsquery('simple', unaccent($1)) as query
         where words @@ query or lower(name) % lower($1) or lower($1) <% lower(name)
         order by words @@ query desc, ts_rank(words, query) desc,
           greatest(similarity(lower(name), lower($1)), word_similarity(lower($1), lower(name))) desc, id
         limit ${first}`,
        [text],
      );
      return rows.map(({ id }) => id);
    },
  };
}
