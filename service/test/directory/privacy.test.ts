import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { sql } from '../../src/database/database.ts';
import { put } from '../support/directory.ts';
import { withinASecond } from '../support/eventually.ts';
import { startTestService, type Answer } from '../support/service.ts';

const service = await startTestService({ env: { RATE_LIMIT_PER_MINUTE: '1000000' } });
const { database } = service;

type Org = {
  slug: string;
  name: string;
  memberCount: number;
  alliance: string | null;
  listed: boolean;
  [field: string]: unknown;
};

const alliances = ['north', 'south', 'east'];
await put(
  database,
  'alliances',
  alliances.map((slug) => ({ slug, name: `Alliance ${slug}` })),
);
const listed: Org[] = alliances.flatMap((alliance, index) =>
  ['a', 'b'].map((letter) => ({
    slug: `${alliance}-${letter}`,
    name: `Open ${letter} of ${alliance}`,
    memberCount: 10 + index,
    alliance,
    listed: true,
    language: 'en',
    recruiting: true,
    primaryActivity: 'trading',
  })),
);
const hiddenSlugs = ['hidden-1', 'hidden-2', 'hidden-3'];
await put(database, 'orgs', listed);
await service.settled();

async function cursorOfNow(): Promise<string> {
  return (await service.call('/orgs?changedSince=now')).body.meta.changes.nextCursor;
}

const paths = [
  ...['', '&sort=name', '&sort=-updatedAt', '&sort=createdAt', '&sort=-memberCount'].map(
    (rest) => `/orgs?limit=100${rest}`,
  ),
  ...['open', 'hidden', 'o', 'north-a', 'sentinel', 'en'].map((text) => `/orgs?search=${text}`),
  ...['hidden', 'hiddne', 'sentinel', 'alliance', 'open'].map((text) => `/suggest?q=${text}`),
  '/orgs?search=hiddne',
  '/orgs?facets=activity,language,recruiting,alliance,verified,status',
  '/orgs?search=open&facets=activity,language,recruiting,alliance',
  '/orgs?limit=3&page=2',
  '/orgs?language=en',
  '/orgs?recruiting=true',
  '/orgs?activity=trading',
  '/orgs?slug=hidden-1&slug=north-a',
  '/orgs?verified=false&status=active&memberCountMin=11&facets=status',
  '/orgs?changedSince=now',
  `/orgs?changedSince=${await cursorOfNow()}`,
  ...alliances.map((slug) => `/orgs?alliance=${slug}`),
  ...listed.map(({ slug }) => `/orgs/${slug}`),
  ...hiddenSlugs.map((slug) => `/orgs/${slug}`),
  '/alliances?sort=-updatedAt',
  '/alliances?sort=-memberCount',
  '/alliances?search=hidden',
  ...alliances.map((slug) => `/alliances/${slug}`),
];

/** All that the public can see, tags included, once this process has seen every change. */
async function everything(): Promise<Record<string, string>> {
  await service.settled();
  // `fetch` accepts gzip by itself, and a compressed page has another tag.
  const plain = { headers: { 'accept-encoding': 'identity' } };
  const answers = await Promise.all(paths.map((path) => service.call(path, plain)));
  return Object.fromEntries(
    answers.map(({ status, headers, text }, index) => [
      String(paths[index]),
      `${status} ${headers.get('etag')} ${text}`,
    ]),
  );
}

const secrets = fc.record({
  contactEmail: fc.constantFrom('sentinel@example.org', 'other-sentinel@example.org', null),
  chatServerId: fc.constantFrom('sentinel-chat', null),
  notes: fc.constantFrom('sentinel notes', 'more sentinel notes', null),
});
/** A change that the public must not notice. */
const privateChange = fc.oneof(
  fc.record({
    kind: fc.constant('private fields of a listed one' as const),
    org: fc.constantFrom(...listed),
    secrets,
  }),
  fc.record({
    kind: fc.constant('an unlisted one, written' as const),
    org: fc.record({
      slug: fc.constantFrom(...hiddenSlugs),
      name: fc.constantFrom('Hidden', 'Open sentinel', 'Alliance north'),
      memberCount: fc.integer({ min: 0, max: 10_000 }),
      alliance: fc.constantFrom(...alliances, null),
      language: fc.constantFrom('en', null),
      recruiting: fc.boolean(),
    }),
    secrets,
  }),
  fc.record({
    kind: fc.constant('an unlisted one, deleted' as const),
    slug: fc.constantFrom(...hiddenSlugs),
  }),
);

test('changes of private data never change public bytes or tags', async () => {
  const before = await everything();
  const { revisions } = await revisionsOf();
  await fc.assert(
    fc.asyncProperty(fc.array(privateChange, { minLength: 1, maxLength: 4 }), async (changes) => {
      for (const change of changes) {
        if (change.kind === 'an unlisted one, deleted')
          await sql`delete from orgs where slug = ${change.slug}`.execute(database);
        else
          await put(database, 'orgs', [
            {
              ...change.org,
              ...change.secrets,
              listed: change.kind === 'private fields of a listed one',
            },
          ]);
      }
      assert.deepEqual(await everything(), before);
    }),
    { numRuns: 25 },
  );
  assert.notDeepEqual((await revisionsOf()).revisions, revisions, 'the pages were read anew');
});

async function revisionsOf() {
  const { rows } = await sql`select * from revisions order by scope`.execute(database);
  return { revisions: rows };
}

test('an unlisted organisation gets the same response as a missing one', async () => {
  await put(database, 'orgs', [
    { slug: 'hidden-1', name: 'Hidden', listed: false, alliance: 'north' },
  ]);
  await service.settled();
  const told = ({ status, headers, text }: Answer) => {
    const own = ['x-request-id', 'date', 'x-ratelimit-remaining', 'x-ratelimit-reset'];
    return {
      status,
      text,
      headers: [...headers].filter(([name]) => !own.includes(name)),
    };
  };
  const variants: Parameters<typeof service.call>[1][] = [
    {},
    { method: 'HEAD' },
    { method: 'PUT' },
    { headers: { 'if-none-match': '*' } },
    { key: null },
  ];
  for (const suffix of ['', '?page=1', '/'])
    for (const options of variants) {
      const unlisted = await service.call(`/orgs/hidden-1${suffix}`, options);
      const missing = await service.call(`/orgs/missing1${suffix}`, options);
      assert.deepEqual(told(unlisted), told(missing));
    }
  assert.equal((await service.call('/orgs/hidden-1')).status, 404);
});

test('an organisation that becomes unlisted disappears at once, also from the cache', async () => {
  await put(database, 'orgs', [{ slug: 'fading', name: 'Fading', alliance: 'east' }]);
  await service.settled();
  const shown = [
    '/orgs/fading',
    '/orgs?search=fading',
    '/orgs?alliance=east&search=fading',
    '/alliances/east',
  ];
  const has = async (path: string) => {
    const { status, text } = await service.call(path);
    return status === 200 && text.includes('"fading"');
  };
  for (const path of shown) assert.ok(await has(path), path);
  const tags = await Promise.all(
    shown.map(async (path) => (await service.call(path)).headers.get('etag') ?? ''),
  );
  await put(database, 'orgs', [
    { slug: 'fading', name: 'Fading', alliance: 'east', listed: false },
  ]);
  await withinASecond(async () => !(await Promise.all(shown.map(has))).includes(true));
  for (const [index, path] of shown.entries()) {
    const { status } = await service.call(path, {
      headers: { 'if-none-match': tags[index] ?? '' },
    });
    assert.notEqual(status, 304, path);
  }
});
