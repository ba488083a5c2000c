/**
 * After any history of edits, every way to read shows exactly the public entries, in two processes, and nothing of the
 * others. The model (`read-histories/`) compares every entry. A new way to read is a function in `ways`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { createClient } from '@orgdir/client';
import { createMemoryStore } from '../../../client/test/support/memory-store.ts';
import { Downloads } from '../../src/directory/downloads.ts';
import { foldEntryChanges } from '../../src/directory/fold-entry-changes.ts';
import { createSealedCursors } from '../../src/events/cursors.ts';
import { createLogger } from '../../src/runtime/log.ts';
import { DirectoryModel, kinds, type Entry, type Kind } from '../read-histories/directory-model.ts';
import { perform, sizes, transaction } from '../read-histories/edits.ts';
import { expectPage, expectSuggestions, type ListQuery } from '../read-histories/expected-pages.ts';
import { query } from '../read-histories/queries.ts';
import { openTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, testPublicUrl, type Answer } from '../support/service.ts';

/** Each goes on in the directory that the one before it left. */
const histories = Number(process.env['READ_HISTORIES'] ?? 15);
/** A failure prints its seed; with the seed in the environment, the same histories run again. */
const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 30));

const shared = await openTestDatabase();
const first = await startTestService({ beside: shared });
const second = await startTestService({
  beside: { ...shared, secretKeys: first.secretKeys },
});
const processes = [first, second];
const { database } = first;
const model = new DirectoryModel(sizes);

type Options = Parameters<typeof first.call>[1];

/** The response of both processes, which is the same, byte for byte. */
async function read(path: string, options: Options = {}): Promise<Answer> {
  // Compressed pages have other tags, and which request is the second one differs.
  const plain = { ...options, headers: { 'accept-encoding': 'identity', ...options.headers } };
  const [one, other] = await Promise.all(processes.map((each) => each.call(path, plain)));
  assert.ok(one && other);
  assert.deepEqual(shown(other), shown(one), path);
  return one;
}

/** What does not differ between two requests for the same. */
function shown({ status, headers, text: bytes }: Answer) {
  const own = ['x-request-id', 'date', 'keep-alive'];
  return { status, bytes, headers: [...headers].filter(([name]) => !own.includes(name)) };
}

async function readsLists(queries: (ListQuery & { kind: Kind })[]): Promise<void> {
  const everything = kinds.map((kind) => ({ ...wholeList, kind }));
  for (const { kind, ...asked } of [...everything, ...queries]) {
    const path = `/${kind}?${toParameters(asked)}`;
    const { body } = await read(path);
    assert.deepEqual(body, expectPage(model.entries(kind), asked), path);
  }
}

const wholeList = { filters: [], facets: [], page: 1, limit: 100 };

function toParameters({ filters, facets, ...rest }: ListQuery): string {
  const facetList = facets.length > 0 ? { facets: facets.join(',') } : {};
  const single = Object.entries({ ...rest, ...facetList }).filter(
    ([, value]) => value !== undefined,
  );
  return new URLSearchParams([
    ...filters,
    ...single.map(([name, value]) => [name, String(value)]),
  ] as [string, string][]).toString();
}

async function readsDetails(): Promise<void> {
  for (const kind of kinds)
    for (const entry of model.entries(kind)) {
      const { body } = await read(`/${kind}/${entry.slug}`);
      assert.deepEqual(body.data, { ...entry, ...(kind === 'alliances' && membersOf(entry)) });
    }
}

function membersOf({ id: allianceId }: Entry) {
  const members = model
    .entries('orgs')
    .filter(({ alliance }) => (alliance as { id: string } | null)?.id === allianceId);
  const { data } = expectPage(members, wholeList);
  return {
    orgs: data.map(({ id, slug, name, tag, memberCount }) => ({
      id,
      slug,
      name,
      tag,
      memberCount,
    })),
  };
}

/** An entry that the public must not know is the same as one that nobody has. */
async function hides(): Promise<void> {
  for (const kind of kinds) {
    const hidden = model.hiddenSlugs(kind);
    await readsSame(hidden, (slug) => `/${kind}/${slug}`);
    await readsSame(hidden.slice(0, 2), (slug) => `/${kind}?slug=${slug}`);
    for (const options of [{ method: 'HEAD' }, { headers: { 'if-none-match': '*' } }])
      await readsSame(hidden.slice(0, 1), (slug) => `/${kind}/${slug}?page=1`, options);
  }
  await readsSame(model.hiddenSlugs('alliances'), (slug) => `/orgs?alliance=${slug}`);
}

async function readsSame(slugs: string[], path: (slug: string) => string, options?: Options) {
  const unknown = shown(await read(path('nobody'), options));
  for (const slug of slugs)
    assert.deepEqual(shown(await read(path(slug), options)), unknown, path(slug));
}

async function suggests(queries: ListQuery[]): Promise<void> {
  for (const typed of new Set(queries.flatMap(({ search }) => search ?? []))) {
    const expected = expectSuggestions((kind) => model.entries(kind), typed);
    const { body } = await read(`/suggest?q=${encodeURIComponent(typed)}`);
    assert.deepEqual(body.data, expected, typed);
    const page = await (await fetch(`${second.url}/?q=${encodeURIComponent(typed)}`)).text();
    const links = [...page.matchAll(/<code>\/api\/v1\/\w+\/([^<]+)<\/code>/g)];
    assert.deepEqual(
      links.map(([, slug]) => slug),
      expected.map(({ slug }) => slug),
    );
  }
}

type Cursor = { step: number; cursor: string };
const cursors: Record<Kind, Cursor[]> = { orgs: [], alliances: [], blueprints: [] };

/** From the first, the last and some cursor between. */
async function followsChanges(): Promise<void> {
  for (const kind of kinds) {
    const known = cursors[kind];
    const between = known[Math.floor(known.length / 2)];
    for (const from of new Set([known[0], between, known.at(-1)]))
      if (from) await compareChanges(kind, from);
    const { body } = await read(`/${kind}?changedSince=now`);
    const { nextCursor: cursor } = body.meta.changes;
    const last = known.at(-1);
    if (last && !model.hasChanged(kind, last.step)) assert.equal(cursor, last.cursor);
    known.push({ step: model.steps.length - 1, cursor });
  }
}

async function compareChanges(kind: Kind, from: Cursor): Promise<void> {
  const { mustChange, mayChange, mustGo, mayGo, entries } = model.changesSince(kind, from.step);
  const changed = new Map<string, object>();
  const removed = new Set<string>();
  let { cursor } = from;
  for (let hasMore = true; hasMore;) {
    const { body } = await read(`/${kind}?changedSince=${cursor}&limit=3`);
    for (const entry of body.data as Entry[]) {
      assert.ok(!changed.has(entry.id), 'once');
      changed.set(entry.id, entry);
    }
    for (const id of body.meta.changes.removed as string[]) removed.add(id);
    cursor = body.meta.changes.nextCursor;
    hasMore = body.meta.changes.hasMore;
  }
  if (!model.hasChanged(kind, from.step)) assert.equal(cursor, from.cursor);
  for (const [id, entry] of changed) assert.deepEqual(entry, entries.get(id));
  assert.deepEqual(
    [...changed.keys()].filter((id) => !mayChange.has(id)),
    [],
    'changed for nobody',
  );
  assert.deepEqual(
    [...removed].filter((id) => !mayGo.has(id)),
    [],
    'never public',
  );
  assert.deepEqual(
    mustChange.filter((id) => !changed.has(id)),
    [],
    'missed',
  );
  assert.deepEqual(
    mustGo.filter((id) => !removed.has(id)),
    [],
    'not removed',
  );
}

const downloads = processes.map(
  ({ database: own, revisions, secretKeys }) =>
    new Downloads({
      database: own,
      revisions,
      cursors: createSealedCursors(secretKeys),
      publicUrl: testPublicUrl,
      log: createLogger('silent'),
      renderEveryMs: 0,
    }),
);

/** Those of the API may be a minute old. */
async function downloadsAll(): Promise<void> {
  for (const kind of kinds) {
    const lines = model.entries(kind).sort((a, b) => (a.id < b.id ? -1 : 1));
    for (const each of downloads)
      assert.deepEqual(parse(await text((await each.get(kind)).read(false))), lines);
    for (const { url, key } of processes) {
      const response = await fetch(`${url}/api/v1/${kind}.ndjson`, {
        headers: { authorization: `Bearer ${key}` },
      });
      const copy = new Map(parse(await response.text()).map((entry) => [entry.id, entry]));
      assert.ok(model.wasPublic(kind, copy), 'the public entries of no moment');
      const { body } = await read(
        `/${kind}?limit=100&changedSince=${response.headers.get('x-next-cursor')}`,
      );
      for (const entry of body.data as Entry[]) copy.set(entry.id, entry);
      for (const id of body.meta.changes.removed as string[]) copy.delete(id);
      assert.deepEqual(byId([...copy.values()]), lines);
    }
  }
}

const parse = (lines: string) =>
  lines
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Entry);
const byId = (entries: Entry[]) => entries.sort((a, b) => (a.id < b.id ? -1 : 1));

const store = createMemoryStore();
let requests = 0;
const client = createClient({
  baseUrl: testPublicUrl,
  apiKey: first.key,
  // Every request goes to the other process than the one before.
  async fetch(input, init) {
    requests += 1;
    const { url } = processes[requests % processes.length] ?? first;
    return fetch((input as string).replace(testPublicUrl, url), init);
  },
});
async function mirrors(): Promise<void> {
  for (const kind of kinds) {
    const expected = byId(model.entries(kind));
    await eventually(async () =>
      isDeepStrictEqual(byId([...store.copies[kind].values()] as Entry[]), expected),
    );
  }
}

async function counts(): Promise<void> {
  for (const each of processes)
    await eventually(async () => {
      const { body } = await each.call('/status');
      return kinds.every((kind) => model.entries(kind).length === body.data.counts[kind]);
    });
}

const ways = [
  readsLists,
  readsDetails,
  hides,
  suggests,
  followsChanges,
  downloadsAll,
  mirrors,
  counts,
];

test('every way to read shows what is public, and nothing else, after any history of edits', async (t) => {
  t.diagnostic(`seed ${seed}`);
  const history = fc.array(
    fc.record({
      transactions: fc.array(transaction, { minLength: 1, maxLength: 3 }),
      folds: fc.boolean(),
      queries: fc.array(query, { minLength: 4, maxLength: 12 }),
    }),
    { minLength: 1, maxLength: 2 },
  );
  const stopping = new AbortController();
  const mirroring = client.mirror({ store, pollMs: 100, signal: stopping.signal });
  try {
    await fc.assert(
      fc.asyncProperty(history, async (batches) => {
        for (const { transactions, folds, queries } of batches) {
          for (const edits of transactions) await perform(database, model, edits);
          if (folds) while ((await foldEntryChanges(database)).more);
          for (const each of processes) await each.settled();
          for (const way of ways) await way(queries);
        }
      }),
      // A history goes on from where the last one ended, so a failure cannot be made shorter.
      { seed, numRuns: histories, endOnFailure: true },
    );
  } finally {
    stopping.abort();
    await assert.rejects(mirroring, { name: 'AbortError' });
  }
});
