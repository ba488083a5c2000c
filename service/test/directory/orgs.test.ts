import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { sql } from '../../src/database/database.ts';
import { foldText } from '../../src/directory/fold-text.ts';
import { termsOf } from '../../src/directory/search/terms.ts';
import { BadLinesError } from '../../src/directory/import.ts';
import { put } from '../support/directory.ts';
import { startTestService, testPublicUrl } from '../support/service.ts';

const service = await startTestService();
const { database } = service;

type Org = { name: string };

const orgs = [
  {
    name: 'Zebra Works',
    tag: 'ZBR',
    description: 'Stripes in black',
    primaryActivity: 'trading',
    language: 'en',
    recruiting: true,
    memberCount: 7,
    alliance: 'league',
  },
  { name: 'Éclair', tag: 'ECL', primaryActivity: 'baking', language: 'fr', memberCount: 7 },
  {
    name: 'echo',
    primaryActivity: 'music',
    secondaryActivity: 'trading',
    recruiting: true,
    alliance: 'league',
    memberCount: 3,
  },
  { name: '100% Wool', description: 'under_score and back\\slash', language: 'en', memberCount: 7 },
  { name: '1000 Wolves', description: 'underXscore, backslash', memberCount: 1 },
  { name: '北京 Société', description: 'Straße der Łódź', tag: "O'Neil" },
  { name: 'Black Zebra', description: 'no stripes' },
  { name: 'Hidden Zebra', listed: false, language: 'en', alliance: 'league' },
  { name: 'Ancient', foundedAt: '1200-01-01T00:00:00Z', status: 'closed' },
];
await put(database, 'alliances', [
  { slug: 'league', name: 'League', tag: 'LG' },
  { slug: 'empty', name: 'Empty' },
]);
await put(database, 'orgs', orgs);
await service.settled();

const list = async (query: Record<string, string | number>) => {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) search.set(name, String(value));
  const { status, body } = await service.call(`/orgs?${search.toString()}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body as { data: Org[]; pagination: { total: number } };
};
const names = async (query: Record<string, string | number>) =>
  (await list(query)).data.map(({ name }) => name);
const sorted = async (query: Record<string, string | number>) => (await names(query)).sort();

test('a page is an envelope with exactly data, meta and pagination', async () => {
  const { body, text, headers } = await service.call('/orgs?limit=3&page=2');
  assert.deepEqual(Object.keys(body), ['success', 'data', 'meta', 'pagination']);
  assert.equal(body.success, true);
  assert.deepEqual(body.meta, { apiVersion: 'v1' });
  assert.deepEqual(body.pagination, { page: 2, limit: 3, total: 8, totalPages: 3 });
  assert.equal(body.data.length, 3);
  assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
  assert.equal(Number(headers.get('content-length')), Buffer.byteLength(text));
  assert.equal(headers.get('cache-control'), 'private, max-age=0, must-revalidate');
});

test('an organisation has every public field and nothing else', async () => {
  const { body } = await service.call('/orgs/zebra-works');
  const { id, createdAt, updatedAt, alliance, ...rest } = body.data;
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  for (const time of [createdAt, updatedAt]) assert.equal(new Date(time).toISOString(), time);
  assert.deepEqual(
    { ...alliance, id: null },
    { id: null, slug: 'league', name: 'League', tag: 'LG' },
  );
  assert.deepEqual(rest, {
    slug: 'zebra-works',
    name: 'Zebra Works',
    tag: 'ZBR',
    aliases: [],
    description: 'Stripes in black',
    primaryActivity: 'trading',
    secondaryActivity: null,
    commitment: null,
    recruiting: true,
    language: 'en',
    timezone: null,
    location: null,
    memberCount: 7,
    logoUrl: null,
    bannerUrl: null,
    links: { website: null, chat: null, video: null, social: null },
    verified: false,
    status: 'active',
    foundedAt: null,
    url: `${testPublicUrl}/api/v1/orgs/zebra-works`,
  });
  const old = await service.call('/orgs/ancient');
  assert.equal(old.body.data.foundedAt, '1200-01-01T00:00:00.000Z');
  assert.equal(old.body.data.status, 'closed');
});

test('search looks in name, tag, slug and description, regardless of case and accents', async () => {
  const expected: Record<string, string[]> = {
    ZEBRA: ['Black Zebra', 'Zebra Works'],
    eclair: ['Éclair'],
    ÉCLAIR: ['Éclair'],
    'e\u0301clair': ['Éclair'],
    zbr: ['Zebra Works'],
    'zebra-w': ['Zebra Works'],
    'STRIPES IN': ['Zebra Works'],
    societe: ['北京 Société'],
    strasse: ['北京 Société'],
    lodz: ['北京 Société'],
    京: ['北京 Société'],
    北京: ['北京 Société'],
    "o'neil": ['北京 Société'],
  };
  for (const [search, found] of Object.entries(expected))
    assert.deepEqual(await sorted({ search }), found, search);
});

test('per cent and backslash are ordinary characters, and an underscore separates words', async () => {
  assert.deepEqual(await names({ search: '100%' }), ['100% Wool']);
  assert.deepEqual(await names({ search: '%' }), ['100% Wool']);
  assert.deepEqual(await names({ search: 'under_score' }), ['100% Wool', '1000 Wolves']);
  assert.deepEqual(await names({ search: 'back\\slash' }), ['100% Wool']);
  assert.deepEqual(await names({ search: '\\' }), ['100% Wool']);
  assert.deepEqual(await names({ search: '_%' }), ['100% Wool']);
});

test('one and two characters are enough', async () => {
  assert.deepEqual(await names({ search: '%' }), ['100% Wool']);
  assert.deepEqual(await sorted({ search: 'ze' }), ['Black Zebra', 'Zebra Works']);
  assert.equal((await list({ search: 'e' })).pagination.total, 8);
});

test('the words of a search may be in different fields, and none reaches across two', async () => {
  assert.deepEqual(await names({ search: 'zebra works\nzbr' }), ['Zebra Works']);
  assert.deepEqual(await names({ search: 'orkszb' }), []);
});

test('search finds the texts that contain each of its words', async () => {
  const fields = orgs
    .filter(({ listed }) => listed !== false)
    .map((org) => ({ name: org.name, texts: [org.name, org.tag ?? '', org.description ?? ''] }));
  const piece = fc.oneof(
    fc.constantFrom(...new Set(fields.map(({ texts }) => texts.join('')).join(''))),
    fc.constantFrom('%', '_', '\\', "'", '"', ' ', 'É', 'ß', 'İ', '\u0301', '😀', '京'),
  );
  const text = fc.array(piece, { minLength: 1, maxLength: 4 }).map((pieces) => pieces.join(''));
  await fc.assert(
    fc.asyncProperty(text, async (search) => {
      const found = await names({ search, limit: 100, sort: 'name' });
      const terms = termsOf(search).map((term) => term.text);
      for (const { name, texts } of fields) {
        const folded = texts.map(foldText);
        const expected = terms.every((term) => folded.some((each) => each.includes(term)));
        // Slugs are searched too, so more may be found than by the texts alone.
        if (expected) assert.ok(found.includes(name), `${JSON.stringify(search)} finds ${name}`);
        else if (!terms.some((term) => /[a-z0-9]/.test(term)))
          assert.ok(!found.includes(name), `${JSON.stringify(search)} finds no ${name}`);
      }
    }),
    { numRuns: 60 },
  );
});

test("names are sorted bytewise after folding, regardless of the database's collation", async () => {
  const all = await names({});
  assert.deepEqual(
    all,
    all.toSorted((a, b) => Buffer.compare(Buffer.from(foldText(a)), Buffer.from(foldText(b)))),
  );
});

test('an impossible time is an error of its line, not of the database', async () => {
  const refused = [
    '2026-02-30T00:00:00Z',
    '2026-12-31T23:58:60Z',
    '2026-12-31T24:00:00Z',
    '0000-01-01T00:00:00Z',
    '2026-01-01T00:00:00+24:00',
    '9999-12-31T23:59:59-10:00',
    '2026-01-01 00:00:00Z',
    '2026-01-01T00:00:00',
    '2026-01-01',
  ];
  for (const foundedAt of refused) {
    const error = (await put(database, 'orgs', [{ name: 'Timeless', foundedAt }]).catch(
      (thrown: unknown) => thrown,
    )) as BadLinesError;
    assert.ok(error instanceof BadLinesError, foundedAt);
    assert.match(error.result.badLines[0]?.reason ?? '', /foundedAt/);
  }
  for (const [foundedAt, utc] of [
    ['2024-02-29T23:59:59.9999+14:00', '2024-02-29T10:00:00.000Z'],
    ['2024-02-29T12:00:00+23:59', '2024-02-28T12:01:00.000Z'],
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
  ]) {
    await put(database, 'orgs', [{ slug: 'timely', name: 'Timely', foundedAt }]);
    await service.settled();
    const { body } = await service.call('/orgs/timely');
    assert.equal(body.data.foundedAt, utc);
  }
  await sql`delete from orgs where slug = 'timely'`.execute(database);
  await service.settled();
});
