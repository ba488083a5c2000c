/** Tests what filters match, in PostgreSQL, and what is refused. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { sql } from '../../../src/database/database.ts';
import {
  compileFilters,
  filterContainedMax,
  filterDepthMax,
  filterNodesMax,
  filterTextMax,
  type Schema,
} from '../../../src/webhooks/filters/compile-filters.ts';
import { openTestDatabase } from '../../support/database.ts';

const { database } = await openTestDatabase();
const text = { type: 'string' };
const number = { type: 'number' };
/** Of the examples. */
const schema: Schema = {
  type: 'object',
  properties: {
    type: text,
    product: {
      type: 'object',
      properties: {
        title: text,
        inventory: number,
        old_inventory: number,
        tags: { type: 'array', items: text },
        discount: { type: ['number', 'null'] },
      },
    },
    order: {
      anyOf: [
        {
          type: 'object',
          properties: {
            id: number,
            items: {
              type: 'array',
              items: { type: 'object', properties: { id: number, title: text } },
            },
          },
        },
        { type: 'null' },
      ],
    },
  },
};

async function matches(filter: unknown, data: unknown, name = 'e'): Promise<boolean> {
  const { path, issues } = compileFilters({ e: filter }, 'filters', () => schema);
  assert.deepEqual(issues, []);
  const json = typeof data === 'string' ? data : JSON.stringify(data);
  const { rows } = await sql<{ passes: boolean }>`
    select passes_filter(${path}::jsonpath, ${name}, filterable(${json})) as passes
  `.execute(database);
  return rows[0]?.passes ?? assert.fail();
}

const gift = { product: { title: 'Gift Card', inventory: 5, tags: ['gift', 'something'] } };
const order = { order: { id: 123, items: [{ id: 456, title: 'My product' }] } };

// https://hookdeck.com/docs/filters, as far as it uses these operators.
const documented: [filter: unknown, data: unknown, matches: boolean][] = [
  [{ type: 'order/created' }, { type: 'order/created', order: { id: 123 } }, true],
  [{ product: { inventory: 0 } }, { product: { title: 'A product', inventory: 0 } }, true],
  [{ order: { items: { id: 456 } } }, order, true],
  [{ product: { tags: 'gift' } }, gift, true],
  [{ product: { tags: ['gift', 'something'] } }, gift, true],
  [{ product: { tags: ['gift', 'another'] } }, gift, false],
  [{ product: { inventory: { $lte: 10 } } }, gift, true],
  [{ product: { inventory: { $or: [1, 5] } } }, gift, true],
  [{ $or: [{ type: 'johny' }, { type: 'mark' }] }, { type: 'world' }, false],
  [{ product: { inventory: { $gte: 5 }, title: { $startsWith: ['Gift', 'Card'] } } }, gift, true],
  [{ $and: [{ type: { $neq: 'a' } }, { type: { $in: ['b', 'c'] } }] }, { type: 'c' }, true],
  [{ type: { $in: 'created' } }, { type: 'order/created' }, true],
  [{ product: { old_inventory: { $exist: false } } }, gift, true],
  [{ product: { title: { $exist: true } } }, gift, true],
  [{ $not: { product: { inventory: 1 } } }, { product: { inventory: 0 } }, true],
  [{ $not: { product: { inventory: 0 } } }, { product: { inventory: 0 } }, false],
];

test("documented examples of Hookdeck's filters give the same results", async () => {
  for (const [filter, data, expected] of documented)
    assert.equal(await matches(filter, data), expected, JSON.stringify([filter, data]));
});

test('each operator matches what it says, and values of another kind never', async () => {
  const is = async (filter: unknown, product: object, expected: boolean) =>
    assert.equal(await matches({ product: filter }, { product }), expected, JSON.stringify(filter));
  await is({ inventory: { $eq: 5 } }, { inventory: 5 }, true);
  await is({ inventory: { $gt: 5 } }, { inventory: 5 }, false);
  await is({ inventory: { $gt: -5, $lt: 0.5 } }, { inventory: 0 }, true);
  await is({ inventory: { $lt: 1e21 } }, { inventory: 1e20 }, true);
  await is({ inventory: { $gt: 1 } }, { inventory: '5' }, false);
  await is({ inventory: { $neq: 5 } }, { inventory: '5' }, true);
  await is({ inventory: { $neq: 5 } }, {}, false);
  await is({ discount: null }, { discount: null }, true);
  await is({ discount: null }, {}, false);
  await is({ discount: { $neq: null } }, { discount: 0 }, true);
  await is({ discount: { $gt: 0 } }, { discount: null }, false);
  await is({ title: { $gte: 'b' } }, { title: 'é' }, true);
  await is({ title: { $gt: '2026-01-01' } }, { title: '2026-01-01T00:00:00.000Z' }, true);
  await is({ title: { $startsWith: 'a"\\b' } }, { title: 'a"\\bc' }, true);
  await is({ title: { $in: '.*' } }, { title: 'anything' }, false);
  await is({ title: { $in: '.*' } }, { title: 'a.*b' }, true);
  await is({ title: '😀' }, { title: '😀' }, true);
});

test('a list matches if an entry does, and what is denied holds for all entries', async () => {
  const tags = (filter: unknown) => matches({ product: { tags: filter } }, gift);
  assert.equal(await tags({ $startsWith: 'some' }), true);
  assert.equal(await tags({ $neq: 'gift' }), false);
  assert.equal(await tags({ $not: { $startsWith: 'x' } }), true);
  assert.equal(
    await matches({ product: { tags: { $exist: true } } }, { product: { tags: [] } }),
    true,
  );
  const items = (filter: unknown) =>
    matches(
      { order: { items: filter } },
      {
        order: {
          items: [
            { id: 1, title: 'a' },
            { id: 2, title: 'b' },
          ],
        },
      },
    );
  assert.equal(await items({ id: 1, title: 'a' }), true);
  assert.equal(await items({ id: 1, title: 'b' }), false, 'one entry must match all of it');
  assert.equal(await items([{ id: 1 }, { title: 'b' }]), true, 'each of them, of any entry');
});

test('a filter is only for its event, and data that cannot be read does not match', async () => {
  assert.equal(await matches({ type: 'a' }, { type: 'b' }, 'other'), true);
  for (const unreadable of ['{"type":1e-999999}', '{"type":"\\u0000"}', '"text"', '[]'])
    for (const filter of [{ type: 'a' }, { $not: { type: 'a' } }]) {
      assert.equal(await matches(filter, unreadable), false, unreadable);
      assert.equal(await matches(filter, unreadable, 'other'), true, unreadable);
    }
});

test('what is wrong with a filter is said where it is', () => {
  const issuesOf = (filter: unknown) =>
    compileFilters({ 'org.created': filter }, 'body.filters').issues.map(
      ({ path, message }) => `${path.replace('body.filters.org.created', '')}: ${message}`,
    );
  assert.deepEqual(issuesOf({ recruting: true }), [
    '.recruting: is no field of org.created; did you mean "recruiting"?',
  ]);
  assert.match(issuesOf({ x: 1 })[0] ?? '', /^\.x: is no field of org\.created; use one of id, /);
  assert.deepEqual(issuesOf({ $nin: [1] }), ['.$nin: is no operator; did you mean "$in"?']);
  assert.deepEqual(issuesOf({ alliance: { slug: { name: 'a' } } }), [
    '.alliance.slug.name: is a field of a value that has no fields',
  ]);
  assert.deepEqual(issuesOf({ recruiting: 'yes', memberCount: { $gte: true }, name: ['a'] }), [
    '.recruiting: must be true or false, as in the event',
    '.memberCount.$gte: must be a number or a text',
    '.name: must not be a list: use $in for one of several values',
  ]);
  assert.deepEqual(issuesOf({ memberCount: { $startsWith: '1' }, name: { $in: [] } }), [
    '.memberCount.$startsWith: must not be a text, because the field is none',
    '.name.$in: must be a list of at least one',
  ]);
  assert.deepEqual(issuesOf({ name: { $exist: 'yes', $in: '' } }), [
    '.name.$exist: must be true or false',
    '.name.$in: must not be empty',
  ]);
  assert.deepEqual(issuesOf({ name: 'a'.repeat(filterTextMax + 1) }), [
    `.name: must have at most ${filterTextMax} characters`,
  ]);
  for (const empty of [{}, { alliance: {} }])
    assert.match(issuesOf(empty)[0] ?? '', /: must have a field or an operator$/);
  for (const value of [
    { $eq: {} },
    { alliance: { $neq: { slug: 'a' } } },
    { alliance: { $in: [{}] } },
  ])
    assert.match(
      issuesOf(value)[0] ?? '',
      /must be (null|an object of fields and operators), as in the event$/,
    );
  assert.deepEqual(issuesOf({ memberCount: { $lt: Number.POSITIVE_INFINITY } }), [
    '.memberCount.$lt: must be a smaller number',
  ]);
  const contains = {
    $or: Array.from({ length: filterContainedMax + 1 }, () => ({ name: { $in: 'a' } })),
  };
  assert.match(
    issuesOf(contains)[0] ?? '',
    /^\.\$or\.4\.name\.\$in: must not be a text more than 4 times/,
  );
  for (const none of [null, [], 'a', 5])
    assert.deepEqual(issuesOf(none), [': must be an object of fields and operators']);
});

test('a filter that nothing can match is refused', () => {
  const issuesOf = (filter: unknown, event = 'org.created') =>
    compileFilters({ [event]: filter }, 'f').issues.map(
      ({ path, message }) => `${path.replace(`f.${event}.`, '')}: ${message}`,
    );
  const isRefused = (filter: unknown, ...issues: string[]) =>
    assert.deepEqual(issuesOf(filter), issues, JSON.stringify(filter));
  const time = 'must be a time, such as 2026-11-20T12:00:00.000Z';
  for (const value of ['yesterday', '2026-11-20', '2026-02-30T00:00:00Z'])
    isRefused({ createdAt: value }, `createdAt: ${time}`);
  isRefused({ createdAt: { $in: ['now'] } }, `createdAt.$in: ${time}`);
  const begun = 'must be a time in UTC or its beginning, such as 2026-11-20';
  for (const value of ['yesterday', '2026-13', '2026-11-31', '2026-11-20T12:00:00+01:00'])
    isRefused({ createdAt: { $gte: value } }, `createdAt.$gte: ${begun}`);
  isRefused({ createdAt: { $startsWith: '20.11.' } }, `createdAt.$startsWith: ${begun}`);
  for (const value of [
    '2',
    '2026-1',
    '2026-0',
    '2026-11-3',
    '2026-11-20T1',
    '2026-11-20T12:00:00.1',
  ])
    isRefused({ createdAt: { $gte: value, $startsWith: value } });
  isRefused({ createdAt: '2026-11-20T12:00:00+01:00' });
  isRefused({ createdAt: { $in: 'T12:' } });

  for (const id of ['acme', '0198F2A4-5B7C-7D3E-9F10-2A3B4C5D6E7F'])
    isRefused({ id }, 'id: must be a UUID in lower case, as in the event');
  isRefused({ memberCount: 1.5 }, 'memberCount: must be a whole number, as in the event');
  isRefused({ memberCount: { $gt: 1.5 } });

  isRefused(
    { memberCount: { $gt: 5, $lt: 3 }, name: { $gte: 'b', $lte: 'a' } },
    'memberCount.$lt: must be greater than $gt, or no value matches',
    'name.$lte: must not be less than $gte, or no value matches',
  );
  isRefused(
    { memberCount: { $gte: 5, $lt: 5 } },
    'memberCount.$lt: must be greater than $gte, or no value matches',
  );
  isRefused({ memberCount: { $gte: 5, $lte: 5 } });
  // One entry may be greater and another one less.
  isRefused({ aliases: { $gt: 'b', $lt: 'a' } });
});

test('what was probably meant is suggested', () => {
  const issueOf = (filter: unknown, event = 'org.created') => {
    const [issue] = compileFilters({ [event]: filter }, 'f').issues;
    return `${issue?.path.replace(`f.${event}.`, '')}: ${issue?.message}`;
  };
  for (const filter of [{ memberCount: { gte: 5 } }, { alliance: { gte: 5 } }, { gte: 5 }])
    assert.match(issueOf(filter), /gte: is no field of org\.created; did you mean "\$gte"\?$/);
  assert.equal(
    issueOf({ 'alliance.slug': 'a' }),
    'alliance.slug: is no field of org.created; did you mean {"alliance": {"slug": …}}?',
  );
  assert.match(issueOf({ 'alliances.slug': 'a' }), /; use one of id, /);
  const fields = 'an object of fields and operators';
  assert.equal(
    issueOf({ organization: null }, 'application.created'),
    `organization: must be ${fields}, as in the event; {"$exist": false} matches a field that is not there`,
  );
  assert.equal(issueOf({ alliance: 'a' }), `alliance: must be ${fields} or null, as in the event`);
  assert.equal(issueOf({ alliance: { $eq: 'a' } }), 'alliance.$eq: must be null, as in the event');
});

test('the filters of the documentation are right', async () => {
  const file = new URL('../../../../docs/reference/events.md', import.meta.url);
  const [, section = ''] = (await readFile(file, 'utf8')).split('## Filters');
  const [page = ''] = section.split('\n## ');
  const samples = [...page.matchAll(/```json\n(.*?)```/gs)].map(([, json = '']) =>
    JSON.parse(json),
  );
  assert.ok(samples.length >= 2);
  for (const sample of samples)
    assert.deepEqual(compileFilters(sample.filters ?? sample, '').issues, []);
});

test('a filter is bounded in depth and size', () => {
  const nested = (depth: number): object =>
    depth === 1 ? { name: 'a' } : { $not: nested(depth - 1) };
  const issuesOf = (filter: unknown) =>
    compileFilters({ 'org.created': filter }, 'body.filters').issues;
  assert.deepEqual(issuesOf(nested(filterDepthMax)), []);
  assert.match(issuesOf(nested(filterDepthMax + 1))[0]?.message ?? '', /in each other/);
  const wide = (count: number) => ({ name: { $in: Array.from({ length: count }, () => 'a') } });
  assert.deepEqual(issuesOf(wide(filterNodesMax - 2)), []);
  assert.match(issuesOf(wide(filterNodesMax - 1))[0]?.message ?? '', /at most 50 are allowed/);
  // However many there are, the response is short.
  const fields = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`f${n}`, 1]));
  assert.ok(issuesOf(fields).length <= 20);
});
