/** What a search finds, and in which order: docs/reference/reads.md#search */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { sql, type Database } from '../../src/database/database.ts';
import { blueprint, put } from '../support/directory.ts';
import { eventually, withinASecond } from '../support/eventually.ts';
import { startInternalApi } from '../support/internal-api.ts';
import { startTestService } from '../support/service.ts';

const service = await startTestService({ env: { RATE_LIMIT_PER_MINUTE: '1000000' } });
const { database } = service;

await put(database, 'orgs', [
  { slug: 'nokia-solutions', name: 'Nokia Solutions', memberCount: 5 },
  { slug: 'nokia-networks', name: 'Nokia Networks', memberCount: 50 },
  { slug: 'nokian', name: 'Nokian Tyres', memberCount: 900 },
  { slug: 'technokia', name: 'Technokia', memberCount: 900 },
  { slug: 'tagged', name: 'Tagged', tag: 'NOKIA', memberCount: 900 },
  { slug: 'described', name: 'Described', description: 'Sells to Nokia.', memberCount: 900 },
  { slug: 'a-same', name: 'Same B', memberCount: 1 },
  { slug: 'b-same', name: 'Same A', memberCount: 1 },
  { slug: 'hidden', name: 'Nokia Zyzzyva', listed: false },
  { slug: 'electronics', name: 'Continental Electronics', memberCount: 1 },
]);
await service.settled();

type Entry = { slug: string; name: string };
async function find(query: string, path = '/orgs') {
  const { status, body } = await service.call(`${path}?${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return {
    slugs: (body.data as Entry[]).map(({ slug }) => slug),
    total: body.pagination.total as number,
  };
}
const slugs = async (search: string, rest = '') =>
  (await find(`search=${encodeURIComponent(search)}${rest}`)).slugs;

test('whole words come before starts and parts of words, names before tags and descriptions', async () => {
  assert.deepEqual(await slugs('nokia'), [
    'nokia-networks',
    'nokia-solutions',
    'tagged',
    'described',
    'nokian',
    'technokia',
  ]);
});

test('a typing error is forgiven in words of five letters, two in words of nine', async () => {
  for (const typo of ['nokai', 'noki', 'onkia', 'nokxia', 'mokia'])
    if (typo.length >= 5) assert.ok((await slugs(typo)).includes('nokia-solutions'), typo);
  assert.ok(!(await slugs('nkoi')).includes('nokia-solutions'), 'four letters');
  for (const typo of ['contnietal', 'contiinentall', 'kontinentl'])
    assert.deepEqual(await slugs(typo), ['electronics'], typo);
  assert.deepEqual(await slugs('kontynntal'), [], 'three errors');
  assert.deepEqual(await slugs('nokai solutinos'), ['nokia-solutions']);
});

test('mistyped words do not match if the exact ones fill a page', async () => {
  assert.deepEqual((await slugs('nokian')).slice(0, 1), ['nokian']);
  assert.ok((await slugs('nokian')).includes('nokia-solutions'));
  assert.deepEqual(await find('search=nokian&limit=1'), { slugs: ['nokian'], total: 1 });
});

const spelled = [
  { slug: 'gongye', name: 'Beijing Gongye Science & Technology' },
  { slug: 'kiesel', name: 'Kiesel Sand and Gravel' },
  { slug: 'dragonchip', name: 'Dragonchip Limited' },
  { slug: 'ceia', name: 'C.E.I.A. S.p.A.' },
  { slug: 'ut-king-company', name: 'UT-KING' },
  { slug: 'motus', name: 'Motus Global' },
  { slug: 'lilo', name: 'LILO Technology' },
  { slug: 'qulsar', name: 'Qulsar Inc' },
  { slug: 'kuka-roboter', name: 'KUKA' },
  { slug: 'loewe', name: 'Loewe' },
  { slug: 'mueller', name: 'Müller' },
  { slug: 'oebb', name: 'OEBB Holding' },
  { slug: 'boeing', name: 'Boeing' },
  { slug: 'telekom', name: 'Ростелеком' },
  { slug: 'kremlin', name: 'Shokolad' },
];

test('an entry is found however its name is spelled', async () => {
  await put(database, 'orgs', spelled);
  await service.settled();
  const asTyped = { relaxed: false, ignored: [], typos: [] };
  for (const [typed, slug] of [
    ['Beijing Gongye Science and Technology', 'gongye'],
    ['kiesel sand & gravel', 'kiesel'],
    ['Dragonchip Ltd', 'dragonchip'],
    ['CEIA SpA', 'ceia'],
    ['c.e.i.a', 'ceia'],
    ['löwe', 'loewe'],
    ['mueller', 'mueller'],
    ['Ö.B.B. Holding', 'oebb'],
    ['rostelekom', 'telekom'],
    ['шоколад', 'kremlin'],
  ] as const) {
    const { body } = await service.call(`/orgs?search=${encodeURIComponent(typed)}`);
    assert.deepEqual(
      body.data.map((entry: Entry) => entry.slug),
      [slug],
      typed,
    );
    assert.deepEqual(body.meta.search, asTyped, typed);
  }
  const { body } = await service.call('/orgs?search=dargonchip');
  assert.deepEqual(body.meta.search, { ...asTyped, typos: [body.data[0].id] });
  for (const rest of ['', '&sort=-updatedAt', '&recruiting=false', '&facets=status']) {
    const wordless = await service.call(`/orgs?search=-${rest}`);
    assert.deepEqual(wordless.body.meta.search, asTyped, `a text without words${rest}`);
  }
});

test('a search that finds nothing is relaxed step by step, and says so', async () => {
  const search = async (typed: string, rest = '', path = '/orgs?search') => {
    const { body } = await service.call(`${path}=${encodeURIComponent(typed)}${rest}`);
    return { slugs: body.data.map(({ slug }: Entry) => slug), ...body.meta.search };
  };
  for (const [typed, slug, ignored] of [
    ['Dragonchip GmbH', 'dragonchip', ['gmbh']],
    ['the gongye science', 'gongye', ['the']],
    ['utking', 'ut-king-company', []],
    ['motusglobal', 'motus', []],
    ['motusglobal corp', 'motus', ['corp']],
    ['lilo technologies', 'lilo', []],
    ['kuwa', 'kuka-roboter', []],
    ['qulsar official', 'qulsar', ['official']],
  ] as const) {
    const { typos, ...found } = await search(typed);
    assert.deepEqual(found, { slugs: [slug], relaxed: true, ignored }, typed);
    assert.equal(typos.length, typed === 'kuwa' ? 1 : 0);
    const suggested = await search(typed, '', '/suggest?q');
    assert.deepEqual(suggested.slugs, [slug]);
    // The same on a page that is empty, next to a filter that nothing meets, and in another order.
    const state = { relaxed: true, ignored };
    assert.deepEqual(await search(typed, '&page=7'), { slugs: [], ...state, typos: [] });
    assert.deepEqual(await search(typed, '&recruiting=true'), { slugs: [], ...state, typos: [] });
    assert.deepEqual(await search(typed, '&sort=-name'), { ...found, typos });
  }
  const nothing = { slugs: [], relaxed: false, ignored: [], typos: [] };
  for (const typed of ['xqzvbnrt', 'wvxkq bzqtr', 'nokia nothing', 'qulsarnothing'])
    assert.deepEqual(await search(typed), nothing, typed);
});

test('a change is found in every process within a second', async () => {
  const other = await startTestService({ beside: service });
  assert.equal((await other.call('/orgs?search=quokka')).body.pagination.total, 0);
  await put(database, 'orgs', [{ slug: 'quokka', name: 'Quokka' }]);
  await withinASecond(async () => {
    const { body } = await other.call('/orgs?search=quokka');
    return body.pagination.total === 1;
  });
});

test('searches do not wait for a large import, except those of the platform', async () => {
  const many = Array.from({ length: 2_500 }, (_, index) => ({
    slug: `bulk-${index}`,
    name: `Bulk ${index}`,
  }));
  const page = { offset: 0, limit: 1, pageSize: 1 };
  const total = async (query: { isNewest: boolean }) =>
    (await service.search.find('orgs', 'bulk', { ...page, ...query }))?.total;
  assert.equal(await total({ isNewest: true }), 0);
  await put(database, 'orgs', many);
  await service.settled();
  // The first one returns when the index is about to be loaded.
  const older = total({ isNewest: false });
  const newest = total({ isNewest: true });
  assert.equal(await older, 0);
  assert.equal(await newest, 2_500);
  assert.equal((await find('search=bulk')).total, 2_500);
  assert.deepEqual(await slugs('bulk 1234'), ['bulk-1234']);
  await sql`delete from orgs where slug like 'bulk-%'`.execute(database);
  await service.settled();
  await eventually(async () => (await find('search=bulk')).total === 0);
});

test('a transaction that took longer than changes are kept for is found', async () => {
  const other = await startTestService({ beside: service });
  const totals = async () => {
    await Promise.all([service.settled(), other.settled()]);
    const answers = [service, other].map((each) => each.call('/orgs?search=dugong'));
    return (await Promise.all(answers)).map(({ body }) => body.pagination.total as number);
  };
  assert.deepEqual(await totals(), [0, 0]);
  await database.transaction().execute(async (tx) => {
    await insertOrg(tx, 'dugong');
    // As if the transaction had begun then.
    await sql`
      update search_changes set at = now() - interval '16 minutes' where revision is null
    `.execute(tx);
  });
  assert.deepEqual(await totals(), [1, 1]);
  await sql`delete from orgs where slug = 'dugong'`.execute(database);
});

test('changes after the move of the revision have their own time, not that of the transaction', async () => {
  const isLater = await database.transaction().execute(async (tx) => {
    await insertOrg(tx, 'manatee');
    await sql`set constraints all immediate`.execute(tx);
    await sql`delete from orgs where slug = 'manatee'`.execute(tx);
    const { rows } = await sql<{ isLater: boolean }>`
      select bool_and(at > now()) as "isLater" from search_changes
      where revision = (select revision from revisions where scope = 'directory')
    `.execute(tx);
    return rows[0]?.isLater;
  });
  assert.equal(isLater, true);
});

async function insertOrg(tx: Database, slug: string): Promise<void> {
  await sql`
    insert into orgs (id, slug, name, name_sort, search_text) values (uuid_v7(), ${slug}, ${slug}, ${slug}, ${slug})
  `.execute(tx);
}

test('a description without spaces is found in all of its parts', async () => {
  const description = Array.from({ length: 1_000 }, (_, index) => String(1_000 + index)).join('');
  await put(database, 'orgs', [{ slug: 'endless', name: 'Endless', description }]);
  await service.settled();
  for (const start of [0, 1, 99, 100, 1_777, 3_900])
    assert.deepEqual(await slugs(description.slice(start, start + 100)), ['endless']);
});

test('the platform finds unlisted organisations too, and what it has just written', async () => {
  const { call } = await startInternalApi(service);
  const platformFinds = async (query: string) => {
    const { body } = await call(`/orgs?${query}`);
    return (body.data as Entry[]).map(({ slug }) => slug);
  };
  assert.deepEqual(await platformFinds('search=zyzzyva%20nokia'), ['hidden']);
  assert.deepEqual(await platformFinds('search=zyzzyav'), ['hidden']);
  assert.deepEqual(await platformFinds('search=zyzzyva&listed=true'), []);
  assert.deepEqual(await slugs('zyzzyva'), []);
  assert.deepEqual(await slugs('zyzzyav'), []);
  for (const name of ['Numbat', 'Bilby', 'Quoll']) {
    await call('/orgs/marsupial', { method: 'PUT', json: { name, listed: false } });
    assert.deepEqual(await platformFinds(`search=${name}`), ['marsupial']);
  }
  await call('/orgs/marsupial', { method: 'PATCH', json: { listed: true } });
  await service.settled();
  assert.deepEqual(await slugs('quoll'), ['marsupial']);
  await call('/orgs/marsupial', { method: 'PATCH', json: { listed: false } });
  await service.settled();
  assert.deepEqual(await slugs('quoll'), []);
  await call('/orgs/marsupial', { method: 'DELETE' });
  assert.deepEqual(await platformFinds('search=quoll'), []);
});

test('blueprints are found by name before their ingredients', async () => {
  const made = (name: string, ingredient: string) =>
    blueprint({
      key: name,
      name,
      slug: name,
      ingredients: [{ item: ingredient, name: ingredient, quantity: 1 }],
    });
  await put(database, 'blueprints', [made('axe', 'granite'), made('granite', 'quartz')]);
  await service.settled();
  assert.deepEqual((await find('search=granite', '/blueprints')).slugs, ['granite', 'axe']);
});

test('filters that are none are refused', async () => {
  const tooMany = Array.from({ length: 101 }, (_, at) => `slug=a-${at}`).join('&');
  for (const [query, message] of [
    [tooMany, 'query.slug: must NOT have more than 100 items'],
    ['language=en&language=', 'query.language.1: must NOT have fewer than 1 characters'],
    ['status=gone', 'query.status: must be one of active, closed'],
    ['status=active&status=gone', 'query.status.1: must be one of active, closed'],
    ['verified=true&verified=false', 'query.verified: must be given once only'],
    ['memberCountMin=-1', 'query.memberCountMin: must be >= 0'],
    [
      'memberCountMin=9&memberCountMax=3',
      'query.memberCountMax: must not be less than memberCountMin',
    ],
  ]) {
    const { status, body } = await service.call(`/orgs?${query}`);
    assert.equal(status, 400);
    assert.equal(body.error.message, message);
  }
});

test('facets that are none are refused', async () => {
  for (const text of ['notes', 'activity,', 'activity;language', '']) {
    const { status, body } = await service.call(`/orgs?facets=${text}`);
    assert.equal(status, 400);
    assert.equal(
      body.error.message,
      'query.facets: must be one or more of activity, language, recruiting, alliance, verified, status, separated by commas',
    );
  }
  const wrong = await service.call('/blueprints?facets=active');
  assert.equal(wrong.body.error.message, 'query.facets: must be category');
});

test('2,000 odd texts are found or not, and none is an error', { timeout: 300_000 }, async () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '😀',
      '👩‍👩‍👧',
      'שלום',
      'مرحبا',
      '\u202e',
      'e\u0301',
      '\u0301',
      'ﷺ',
      'İ',
      '京',
      '\u200d',
    ),
    fc.constantFrom(
      '%',
      '_',
      '\\',
      '*',
      '.*',
      '[a',
      '(',
      '^',
      '$',
      '&',
      '|',
      '!',
      ':*',
      '<->',
      "'",
      '"',
    ),
    fc.constantFrom(' ', 'nokia', 'a', 'constructor', '__proto__'),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }),
  );
  const text = fc.oneof(
    fc.array(piece, { minLength: 1, maxLength: 12 }).map((pieces) => pieces.join('')),
    fc.constantFrom('a', '京', '%', '😀').map((letter) => letter.repeat(50)),
    fc.constant('a'.repeat(100)),
  );
  const odd = text
    .map((each) => each.replaceAll('\0', '').slice(0, 100))
    .filter((each) => each !== '' && each.isWellFormed());
  const paths = ['/orgs?search', '/alliances?search', '/blueprints?search', '/suggest?q'];
  await fc.assert(
    fc.asyncProperty(fc.array(odd, { minLength: 20, maxLength: 20 }), async (texts) => {
      await Promise.all(
        texts.map(async (each, index) => {
          const path = `${paths[index % paths.length]}=${encodeURIComponent(each)}`;
          const { status, text: said } = await service.call(path);
          assert.equal(status, 200, said);
        }),
      );
    }),
    { numRuns: 100 },
  );
});
