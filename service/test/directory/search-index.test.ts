/** The index in memory finds what a comparison of all texts finds, in the same order, through any history. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Unlisted } from '../../src/directory/search/entries.ts';
import type { FieldText } from '../../src/directory/search/segment.ts';
import { createIndexBuilder, type SearchIndex } from '../../src/directory/search/search-index.ts';
import { finish } from '../../src/directory/search/steps.ts';
import { isMistyped } from '../../src/directory/search/vocabulary.ts';
import { termsOf, type Term } from '../../src/directory/search/terms.ts';
import { levelOf } from '../support/rank-by-comparison.ts';

type Entry = { name: string; tag: string; text: string; members: number; listed: boolean };
type Model = Map<number, Entry>;

const everything = { offset: 0, limit: Number.POSITIVE_INFINITY };

const texts = fc.array(
  fc.constantFrom(
    'a',
    'ab',
    'abcde',
    'abced',
    'bcdea',
    'xabcde',
    'zebra',
    'é',
    'ltd',
    '&',
    'ut',
    'king',
  ),
  { maxLength: 3 },
);
const entry: fc.Arbitrary<Entry> = fc.record({
  name: texts.map((words) => ['n', ...words].join(' ')),
  tag: texts.map((words) => words.join('-')),
  text: texts.map((words) => words.join(', ')),
  members: fc.constantFrom(0, 1, 2),
  listed: fc.boolean(),
});
const change = fc.record({ ordinal: fc.integer({ min: 1, max: 12 }), entry: fc.option(entry) });
const search = fc
  .array(
    fc.constantFrom(
      'a',
      'b',
      'ab',
      'abcde',
      'bc',
      'zebar',
      'n',
      'q',
      'é',
      'limited',
      'and',
      'utking',
      'zebras',
      'kong',
    ),
    {
      minLength: 1,
      maxLength: 3,
    },
  )
  .map((words) => words.join(' '));

test('an index finds and ranks as a comparison of all entries does, through any history', () => {
  fc.assert(
    fc.property(
      fc.array(entry, { maxLength: 8 }),
      fc.array(fc.array(change, { minLength: 1, maxLength: 4 }), { maxLength: 4 }),
      fc.array(search, { minLength: 1, maxLength: 4 }),
      (first, history, searches) => {
        const model: Model = new Map(first.map((each, index) => [index + 1, each]));
        const index = build(model);
        compare(index, model, searches);
        for (const changes of history) {
          assert.ok(index.apply(applyTo(model, changes)));
          compare(index, model, searches);
        }
      },
    ),
  );
});

test('an index that lacks the entry before a new one says so, and has to be loaded again', () => {
  const nokia = { name: 'Nokia', tag: '', text: '', members: 1, listed: true };
  const index = build(new Map([[1, nokia]]));
  const written = [{ ordinal: 3, ...indexed({ ...nokia, name: 'Siemens' }), after: 2 }];
  assert.equal(index.apply({ written, adjusted: [], removed: [] }), false);
});

function build(model: Model): SearchIndex {
  const builder = createIndexBuilder();
  for (const [ordinal, each] of byName(model)) builder.add({ ordinal, ...indexed(each) });
  return finish(builder.build());
}

/** Changes the model, and returns what the database would report. */
function applyTo(model: Model, changes: { ordinal: number; entry: Entry | null }[]) {
  const before = new Map(model);
  for (const { ordinal, entry: each } of changes) {
    if (each) model.set(ordinal, each);
    else model.delete(ordinal);
  }
  const changed = new Set(changes.map(({ ordinal }) => ordinal));
  const order = byName(model);
  const isAdjusted = (ordinal: number) => {
    const [old, now] = [before.get(ordinal), model.get(ordinal)];
    return old && now && old.name === now.name && old.tag === now.tag && old.text === now.text;
  };
  return {
    written: order.flatMap(([ordinal, each], position) =>
      changed.has(ordinal) && !isAdjusted(ordinal)
        ? [{ ordinal, ...indexed(each), after: order[position - 1]?.[0] ?? null }]
        : [],
    ),
    adjusted: order.flatMap(([ordinal, { members, listed }]) =>
      changed.has(ordinal) && isAdjusted(ordinal) ? [{ ordinal, members, listed }] : [],
    ),
    removed: [...changed].filter((ordinal) => !model.has(ordinal)),
  };
}

function byName(model: Model): [number, Entry][] {
  return [...model].sort(
    ([a, first], [b, second]) => compareTexts(first.name, second.name) || a - b,
  );
}

function compareTexts(a: string, b: string): number {
  return Number(a > b) - Number(a < b);
}

function indexed({ name, tag, text, members, listed }: Entry) {
  return { members, listed, texts: fieldsOf({ name, tag, text }) };
}

function fieldsOf({ name, tag, text }: Pick<Entry, 'name' | 'tag' | 'text'>): FieldText[] {
  return [
    { field: 0, text: name },
    { field: 1, text: tag },
    { field: 2, text },
  ];
}

function compare(index: SearchIndex, model: Model, searches: string[]): void {
  for (const text of searches) {
    const terms = termsOf(text);
    for (const pageSize of [1, 3, 100])
      for (const unlisted of ['none', 'all', [2, 5, 99]] satisfies Unlisted[]) {
        const seen = visible(model, unlisted);
        const exact = rank(seen, terms, false);
        const expected = exact.length >= pageSize ? exact : rank(seen, terms, true);
        const window = { pageSize, unlisted, relaxes: false };
        const all = index.find(terms, { ...window, ...everything });
        assert.deepEqual(all.ordinals, expected, text);
        assert.equal(all.total, expected.length);
        const page = index.find(terms, { ...window, offset: 1, limit: 2 });
        assert.deepEqual(page.ordinals, expected.slice(1, 3));
        compareRelaxed(index, seen, { terms, unlisted, isFound: expected.length > 0 });
      }
  }
}

/** A search that finds something is not relaxed; one that is relaxed finds what it would if nobody else's entries existed. */
function compareRelaxed(
  index: SearchIndex,
  seen: Model,
  { terms, unlisted, isFound }: { terms: Term[]; unlisted: Unlisted; isFound: boolean },
): void {
  const window = { pageSize: 1, unlisted };
  const all = index.find(terms, { ...window, ...everything });
  assert.equal(all.isRelaxed, !isFound && all.total > 0);
  assert.deepEqual(all, build(seen).find(terms, { ...window, ...everything, unlisted: 'all' }));
  const page = index.find(terms, { ...window, offset: 1, limit: 2 });
  const [ordinals, levels] = [all.ordinals.slice(1, 3), all.levels.slice(1, 3)];
  assert.deepEqual(page, { ...all, ordinals, levels });
}

function visible(model: Model, unlisted: Unlisted): Model {
  const isVisible = (ordinal: number) =>
    typeof unlisted === 'string' ? unlisted === 'all' : unlisted.includes(ordinal);
  return new Map([...model].filter(([ordinal, { listed }]) => listed || isVisible(ordinal)));
}

function rank(model: Model, terms: Term[], typos: boolean): number[] {
  return byName(model)
    .map(([ordinal, each]) => ({
      ordinal,
      members: each.members,
      level: levelOf(fieldsOf(each), terms, typos),
    }))
    .filter(({ level }) => level < Number.POSITIVE_INFINITY)
    .sort((a, b) => a.level - b.level || b.members - a.members)
    .map(({ ordinal }) => ordinal);
}

test('typing errors are counted as the textbook does', () => {
  const words = [''];
  for (const word of words) if (word.length < 5) words.push(`${word}a`, `${word}b`);
  for (const word of words)
    for (const term of words)
      for (const typos of [0, 1, 2])
        assert.equal(
          isMistyped(word, term, typos),
          distance(word, term) <= typos,
          `${word} ${term} ${typos}`,
        );
});

/** The optimal string alignment distance. */
function distance(word: string, term: string): number {
  if (word === '' || term === '') return word.length + term.length;
  const [wordRest, termRest] = [word.slice(1), term.slice(1)];
  const isSwap = word.length > 1 && word[0] === term[1] && word[1] === term[0];
  return Math.min(
    distance(wordRest, termRest) + (word[0] === term[0] ? 0 : 1),
    distance(wordRest, term) + 1,
    distance(word, termRest) + 1,
    isSwap ? distance(word.slice(2), term.slice(2)) + 1 : Number.POSITIVE_INFINITY,
  );
}

test('pages far from the first one continue the order', () => {
  const same = { tag: '', text: '', listed: true };
  const model: Model = new Map();
  for (let ordinal = 1; ordinal <= 1_000; ordinal += 1) {
    const name = ordinal % 50 === 0 ? 'same rare' : 'same';
    model.set(ordinal, { ...same, name, members: ordinal % 7 });
  }
  const index = build(model);
  for (const term of ['same', 'rare']) {
    const find = (offset: number, limit: number) =>
      index.find(termsOf(term), { offset, limit, pageSize: limit }).ordinals;
    const all = find(0, 1_000);
    assert.deepEqual(all, rank(model, termsOf(term), false));
    for (const offset of [0, 90, 180, 190, 500, 990, 1_000, 2 ** 38])
      assert.deepEqual(find(offset, 20), all.slice(offset, offset + 20));
  }
});

test('what a search finds does not depend on earlier searches', () => {
  const same = { tag: '', text: '', members: 1, listed: true };
  const model: Model = new Map([
    [1, { ...same, name: 'oe' }],
    [2, { ...same, name: 'oak', members: 2 }],
  ]);
  const window = { ...everything, pageSize: 1 };
  const index = build(model);
  assert.deepEqual(index.find(termsOf('ö'), window).ordinals, [1, 2], 'a whole word first');
  const fresh = build(model).find(termsOf('o'), window);
  assert.deepEqual(fresh.ordinals, [2, 1]);
  assert.deepEqual(index.find(termsOf('o'), window), fresh);
});

test('an index to which many entries were added counts none twice', () => {
  const word = (name: string) => ({ name, tag: '', text: '', members: 1, listed: true });
  const model: Model = new Map();
  for (let ordinal = 1; ordinal <= 500; ordinal += 1)
    model.set(ordinal, word(ordinal % 2 === 0 ? 'ab' : 'xab'));
  const index = build(model);
  compare(index, model, ['ab', 'a']);
  const added = Array.from({ length: 500 }, (_, at) => ({ ordinal: 501 + at, entry: word('ab') }));
  for (let at = 0; at < added.length; at += 100)
    assert.ok(index.apply(applyTo(model, added.slice(at, at + 100))));
  compare(index, model, ['ab', 'a']);
});
