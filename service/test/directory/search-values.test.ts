/** Filters, facets and sorts in memory find what a comparison of all entries finds, through any history. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createIndexBuilder, type SearchIndex } from '../../src/directory/search/search-index.ts';
import { finish } from '../../src/directory/search/steps.ts';
import { termsOf } from '../../src/directory/search/terms.ts';
import { valueSeparator, type Filter } from '../../src/directory/search/values.ts';

type Entry = {
  name: string;
  activities: string[];
  tag: string | null;
  members: number;
  at: number;
  listed: boolean;
};
type Model = Map<number, Entry>;

/** In another order than that of the ordinals. */
const idOf = (ordinal: number) =>
  `00000000-0000-7000-8000-${String((ordinal * 7_919) % 100_003).padStart(12, '0')}`;
const entry: fc.Arbitrary<Entry> = fc.record({
  name: fc.constantFrom('red fox', 'red ant', 'blue fox'),
  activities: fc.uniqueArray(fc.constantFrom('a', 'b', 'a\n'), { maxLength: 2 }),
  tag: fc.constantFrom(null, 't', 'u'),
  members: fc.constantFrom(0, 7, 2 ** 31),
  at: fc.constantFrom(1.5, 2),
  listed: fc.boolean(),
});
const filter: fc.Arbitrary<Filter> = fc.oneof(
  fc.record({
    name: fc.constantFrom('activity', 'tag'),
    values: fc.array(fc.constantFrom('a', 'b', 't', 'nobody', ''), { minLength: 1, maxLength: 2 }),
  }),
  fc.record({
    name: fc.constantFrom('memberCount', 'at'),
    min: fc.constantFrom(0, 2, 8),
    max: fc.constantFrom(1, 7, Number.POSITIVE_INFINITY),
  }),
);
const query = fc.record({
  text: fc.constantFrom('', 'red', 'fox red', 'nothing'),
  filters: fc.array(filter, { maxLength: 2 }),
  sort: fc.option(fc.constantFrom('name', '-name', 'memberCount', '-memberCount', 'at', '-at'), {
    nil: undefined,
  }),
  offset: fc.nat({ max: 4 }),
  limit: fc.integer({ min: 1, max: 4 }),
});
const change = fc.record({ ordinal: fc.integer({ min: 1, max: 12 }), entry: fc.option(entry) });

test('filters, facets and sorts find what a comparison of all entries does, through any history', () => {
  fc.assert(
    fc.property(
      fc.array(entry, { maxLength: 12 }),
      fc.array(fc.array(change, { minLength: 1, maxLength: 4 }), { maxLength: 4 }),
      fc.array(query, { minLength: 1, maxLength: 4 }),
      (first, history, queries) => {
        const model: Model = new Map(first.map((each, index) => [index + 1, each]));
        const index = build(model);
        for (const changes of [[], ...history]) {
          if (changes.length > 0) assert.ok(index.apply(applyTo(model, changes)));
          for (const each of queries) compare(index, model, each);
        }
      },
    ),
    { numRuns: 300 },
  );
});

test('pages of a sort with many equal keys do not overlap', () => {
  const count = 5_000;
  const model: Model = new Map();
  for (let ordinal = 1; ordinal <= count; ordinal += 1)
    model.set(ordinal, {
      name: 'same',
      activities: ordinal % 2 ? ['a'] : [`only ${ordinal}`],
      tag: null,
      members: ordinal % 3,
      at: 1,
      listed: true,
    });
  const index = build(model);
  const page = (offset: number, sort: string) =>
    index.find([], { offset, limit: 500, pageSize: 500, sort, filters: [] }).ordinals;
  for (const sort of ['at', '-memberCount', 'name']) {
    const all = Array.from({ length: count / 500 }, (_, at) => page(at * 500, sort)).flat();
    assert.equal(new Set(all).size, count);
    const expected = ordered(model, sort);
    assert.deepEqual(
      all,
      expected.map(([ordinal]) => ordinal),
    );
  }
  const { facets } = index.find([], { offset: 0, limit: 1, pageSize: 1, facets: ['activity'] });
  assert.equal(facets['activity']?.length, 1 + count / 2);
  assert.equal(facets['activity']?.find(({ value }) => value === 'a')?.count, count / 2);
});

function build(model: Model): SearchIndex {
  const builder = createIndexBuilder({ choices: ['activity'], texts: ['tag'], numbers: ['at'] });
  for (const [ordinal, each] of ordered(model, 'name')) builder.add(indexed(ordinal, each));
  return finish(builder.build());
}

function indexed(ordinal: number, { name, activities, tag, members, at, listed }: Entry) {
  const values = {
    id: idOf(ordinal),
    choices: [activities.join(valueSeparator)],
    texts: [tag],
    numbers: [at],
  };
  return { ordinal, members, listed, values, texts: [{ field: 0, text: name } as const] };
}

function applyTo(model: Model, changes: { ordinal: number; entry: Entry | null }[]) {
  const before = new Map(model);
  for (const { ordinal, entry: each } of changes) {
    if (each) model.set(ordinal, each);
    else model.delete(ordinal);
  }
  const changed = new Set(changes.map(({ ordinal }) => ordinal));
  const order = ordered(model, 'name');
  const isWritten = (ordinal: number) => before.get(ordinal)?.name !== model.get(ordinal)?.name;
  return {
    written: order.flatMap(([ordinal, each], position) =>
      changed.has(ordinal) && isWritten(ordinal)
        ? [{ ...indexed(ordinal, each), after: order[position - 1]?.[0] ?? null }]
        : [],
    ),
    adjusted: order
      .filter(([ordinal]) => changed.has(ordinal) && !isWritten(ordinal))
      .map(([ordinal, each]) => indexed(ordinal, each)),
    removed: [...changed].filter((ordinal) => !model.has(ordinal)),
  };
}

function ordered(model: Model, sort: string): [number, Entry][] {
  const key = sort.replace('-', '');
  const of = (each: Entry) =>
    key === 'name' ? each.name : key === 'memberCount' ? each.members : each.at;
  const compareKeys = (a: string | number, b: string | number) => Number(a > b) - Number(a < b);
  const sorted = [...model].sort(
    ([a, first], [b, second]) =>
      compareKeys(of(first), of(second)) || compareKeys(idOf(a), idOf(b)),
  );
  return sort.startsWith('-') ? sorted.toReversed() : sorted;
}

function compare(
  index: SearchIndex,
  model: Model,
  { text, filters, sort, offset, limit }: typeof query extends fc.Arbitrary<infer Q> ? Q : never,
): void {
  const words = text.split(' ').filter((word) => word !== '');
  const meets = (each: Entry) =>
    each.listed &&
    words.every((word) => each.name.split(' ').includes(word)) &&
    filters.every((filterOf) => isMet(each, filterOf));
  const order = sort ?? (words.length > 0 ? '-memberCount' : 'name');
  const expected = ordered(model, order).filter(([, each]) => meets(each));
  const window = { offset, limit, pageSize: 1, relaxes: false };
  const facets = ['activity'];
  const found = index.find(termsOf(text), { ...window, filters, sort, facets });
  assert.equal(found.total, expected.length);
  // By relevance, equal numbers of members are in the order of names.
  if (sort !== undefined || words.length === 0)
    assert.deepEqual(
      found.ordinals,
      expected.slice(offset, offset + limit).map(([ordinal]) => ordinal),
    );
  const counts = new Map<string, number>();
  for (const [, { activities }] of expected)
    for (const value of activities) counts.set(value, (counts.get(value) ?? 0) + 1);
  const counted = found.facets['activity']?.map(({ value, count }) => [value, count] as const);
  assert.deepEqual(new Map(counted), counts);
  assert.equal(found.levels.length, found.ordinals.length);
}

function isMet(each: Entry, wanted: Filter): boolean {
  if ('min' in wanted) {
    const number = wanted.name === 'at' ? each.at : each.members;
    return number >= wanted.min && number <= wanted.max;
  }
  const values = wanted.name === 'tag' ? [each.tag] : each.activities;
  return values.some((value) => value !== null && wanted.values.includes(value));
}
