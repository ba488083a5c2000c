import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { foldText } from '../../src/directory/fold-text.ts';
import { slugBase, SlugAllocator } from '../../src/directory/slug.ts';
import { put } from '../support/directory.ts';
import { openTestDatabase } from '../support/database.ts';
import { sql } from '../../src/database/database.ts';

const { database } = await openTestDatabase();
const form = /^[a-z0-9]+(-[a-z0-9]+)*$/;

test('any name has a slug', () => {
  assert.equal(slugBase('Türk Telekom A.Ş.'), 'turk-telekom-a-s');
  assert.equal(slugBase('北京小米'), 'beijingxiaomi');
  assert.equal(slugBase("  O'Reilly & Söhne — GmbH  "), 'oreilly-sohne-gmbh');
  assert.equal(slugBase('!!!'), 'unnamed');
  assert.equal(slugBase('Search'), 'search-1', 'a word that routes use is not given out');
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }), (name) => {
      const slug = slugBase(name);
      assert.match(slug, form);
      assert.ok(slug.length <= 72);
    }),
  );
});

test('slugs stay unique over batches, over what is stored, and over names that look numbered', async () => {
  await put(database, 'orgs', [
    { name: 'Nokia' },
    { name: 'Nokia' },
    { name: 'Nokia 2' },
    { slug: 'taken-7', name: 'Other' },
  ]);
  const { rows } = await sql<{ slug: string }>`select slug from orgs order by id`.execute(database);
  assert.deepEqual(rows.map(({ slug }) => slug).sort(), [
    'nokia',
    'nokia-2',
    'nokia-2-2',
    'taken-7',
  ]);
  await database.transaction().execute(async (tx) => {
    const slugs = await SlugAllocator.start(tx, 'orgs');
    assert.deepEqual(await slugs.allocate(['Nokia', 'Nokia', 'Taken']), [
      'nokia-3',
      'nokia-4',
      'taken-8',
    ]);
    assert.deepEqual(await slugs.allocate(['Nokia', 'Taken 8']), ['nokia-5', 'taken-8-2']);
  });
});

test('a number that is too long to be counted from is not given out again', async () => {
  for (const name of ['Squad 999999', 'Squad', 'SQUAD']) await put(database, 'orgs', [{ name }]);
  const { rows } = await sql<{ slug: string }>`
    select slug from orgs where slug like 'squad%' order by id
  `.execute(database);
  assert.deepEqual(
    rows.map(({ slug }) => slug),
    ['squad-999999', 'squad-1000000', 'squad-1000001'],
  );
});

test('any names make distinct, well-formed slugs', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('a', 'A!', 'a 2', 'a-2', 'a 2 2', 'ä', 'b', 'b 1', '1', ''), {
        minLength: 1,
        maxLength: 40,
      }),
      async (names) => {
        await database.transaction().execute(async (tx) => {
          const slugs = await SlugAllocator.start(tx, 'alliances');
          const made = [
            ...(await slugs.allocate(names.slice(0, 10))),
            ...(await slugs.allocate(names.slice(10))),
          ];
          assert.equal(new Set(made).size, names.length);
          for (const slug of made) assert.match(slug, form);
        });
      },
    ),
    { numRuns: 30 },
  );
});

test('folding removes case and accents, and is idempotent', () => {
  assert.equal(foldText('ÉCLAIR'), 'eclair');
  assert.equal(foldText('Straße İstanbul ØRSTED Łódź'), 'strasse istanbul orsted lodz');
  assert.equal(foldText('ﬁne ①'), 'fine 1');
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) =>
      assert.equal(foldText(foldText(text)), foldText(text)),
    ),
  );
});
