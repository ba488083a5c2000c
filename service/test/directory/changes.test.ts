/** What `changedSince` shows: docs/reference/reads.md#changes */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changesKeptDays } from '../../src/contract/periods.ts';
import { sql } from '../../src/database/database.ts';
import {
  dropOldEntryChanges,
  foldedMax,
  foldEntryChanges,
} from '../../src/directory/fold-entry-changes.ts';
import type { ImportKind } from '../../src/directory/import.ts';
import { blueprint, put } from '../support/directory.ts';
import { openTestDatabase } from '../support/database.ts';
import { startTestService } from '../support/service.ts';

const shared = await openTestDatabase();
const service = await startTestService({ beside: shared });
const neighbour = await startTestService({ beside: { ...shared, secretKeys: service.secretKeys } });
const { database } = service;
const otherDatabase = await openTestDatabase();
const stranger = await startTestService({
  beside: { ...otherDatabase, secretKeys: service.secretKeys },
});

type Entry = { id: string; slug: string; name: string; alliance?: { name: string } | null };
type Page = {
  changed: Entry[];
  removed: string[];
  nextCursor: string;
  hasMore: boolean;
};

async function page(path: string, from = service): Promise<Page> {
  const { status, body } = await from.call(path);
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.pagination.total, body.data.length);
  return { changed: body.data, ...body.meta.changes };
}
const since = (cursor: string, kind: ImportKind = 'orgs', limit = 100, from = service) =>
  page(`/${kind}?changedSince=${cursor}&limit=${limit}`, from);

/** The cursor of now. */
async function now(kind: ImportKind = 'orgs'): Promise<string> {
  await service.settled();
  return (await since('now', kind)).nextCursor;
}
async function changesSince(cursor: string, kind: ImportKind = 'orgs') {
  await service.settled();
  const { changed, removed, hasMore } = await since(cursor, kind);
  assert.equal(hasMore, false);
  return { changed: changed.map(({ slug }) => slug).sort(), removed };
}
const idOf = async (slug: string, table = 'orgs') => {
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(table)} where slug = ${slug}
  `.execute(database);
  return rows[0]?.id as string;
};
const update = (slug: string, set: ReturnType<typeof sql>, table = 'orgs') =>
  sql`update ${sql.table(table)} set ${set} where slug = ${slug}`.execute(database);
/** Both ways to the same changes: from the notes of transactions, and from what a worker made of them. */
const foldAll = async () => {
  while ((await foldEntryChanges(database)).more);
};

const hidden = { slug: 'never-listed', name: 'Never listed', listed: false };
await put(database, 'alliances', [{ slug: 'north', name: 'North' }]);
await put(database, 'orgs', [
  { slug: 'acme', name: 'Acme', alliance: 'north' },
  { slug: 'beta', name: 'Beta', alliance: 'north' },
  { slug: 'gamma', name: 'Gamma' },
  hidden,
]);
const fixtures = [blueprint({ key: 'granite' }), blueprint({ key: 'marble' })];
await put(database, 'blueprints', fixtures);

for (const folded of [false, true]) {
  const which = folded ? 'after the worker has taken the notes' : 'from the notes of transactions';
  const settle = async () => {
    if (folded) await foldAll();
  };

  test(`a change of an alliance's name is one of its organisations, but not of their \`updatedAt\`, ${which}`, async () => {
    const start = await now();
    const updatedAt = async () => (await service.call('/orgs/acme')).body.data.updatedAt;
    const before = await updatedAt();
    await update('north', sql`name = name || ' again'`, 'alliances');
    await settle();
    await service.settled();
    const { changed } = await since(start);
    assert.deepEqual(changed.map(({ slug }) => slug).sort(), ['acme', 'beta']);
    for (const { alliance } of changed) assert.match(alliance?.name ?? '', /again$/);
    assert.equal(await updatedAt(), before);
    await update('north', sql`description = gen_random_uuid()::text`, 'alliances');
    await settle();
    assert.deepEqual((await changesSince(start)).changed, ['acme', 'beta']);
  });

  test(`what was never listed is nowhere, whatever happens to it, ${which}`, async () => {
    const start = await now();
    await update('never-listed', sql`name = name || ' changed'`);
    await update('acme', sql`notes = gen_random_uuid()::text, contact_email = 'a@example.org'`);
    await database.transaction().execute(async (tx) => {
      await sql`update orgs set listed = true where slug = 'never-listed'`.execute(tx);
      await sql`update orgs set name = 'Shown' where slug = 'never-listed'`.execute(tx);
      await sql`update alliances set name = name || ' more' where slug = 'north'`.execute(tx);
      await sql`update orgs set listed = false where slug = 'never-listed'`.execute(tx);
    });
    await put(database, 'orgs', [{ ...hidden, slug: 'hidden-too' }]);
    await sql`delete from orgs where slug = 'hidden-too'`.execute(database);
    await settle();
    await service.settled();
    const { changed, removed, nextCursor } = await since(start);
    assert.deepEqual(changed.map(({ slug }) => slug).sort(), ['acme', 'beta'], 'the alliance');
    assert.deepEqual(removed, []);
    const before = (await service.call(`/orgs?changedSince=${nextCursor}`)).headers.get('etag');
    await update('never-listed', sql`name = name || ' again'`);
    await settle();
    await service.settled();
    const after = await service.call(`/orgs?changedSince=${nextCursor}`);
    assert.equal(after.headers.get('etag'), before, 'nobody can tell that something has changed');
    assert.deepEqual((await since('now')).nextCursor, nextCursor);
  });

  test(`what is shown and hidden in one transaction moves no cursor, ${which}`, async () => {
    const before = await now();
    await database.transaction().execute(async (tx) => {
      await sql`update orgs set listed = true where slug = 'never-listed'`.execute(tx);
      await sql`update orgs set listed = false where slug = 'never-listed'`.execute(tx);
    });
    await settle();
    assert.equal(await now(), before);
  });

  test(`a listed entry that is hidden and shown in one transaction has changed, ${which}`, async () => {
    const [start, beta] = [await now(), await idOf('beta')];
    await database.transaction().execute(async (tx) => {
      await sql`update orgs set listed = false where slug in ('acme', 'beta')`.execute(tx);
      await sql`update orgs set listed = true where slug in ('acme', 'beta')`.execute(tx);
      await sql`update orgs set listed = false where slug = 'beta'`.execute(tx);
    });
    await settle();
    assert.deepEqual(await changesSince(start), { changed: ['acme'], removed: [beta] });
    await update('beta', sql`listed = true`);
  });
}

test('pages follow each other, of one transaction too, and end with a cursor for later', async () => {
  const start = await now();
  const many = Array.from({ length: 7 }, (_, index) => ({ slug: `many-${index}`, name: 'Many' }));
  await put(database, 'orgs', many);
  await foldAll();
  await update('many-3', sql`name = 'Many more'`);
  await service.settled();
  const seen: string[] = [];
  let cursor = start;
  for (let hasMore = true; hasMore;) {
    const { changed, ...rest } = await since(cursor, 'orgs', 3);
    assert.ok(changed.length > 0 && changed.length <= 3);
    seen.push(...changed.map(({ slug }) => slug));
    cursor = rest.nextCursor;
    hasMore = rest.hasMore;
  }
  assert.deepEqual(seen.slice().sort(), many.map(({ slug }) => slug).sort());
  assert.equal(seen.at(-1), 'many-3');
  assert.deepEqual(await changesSince(cursor), { changed: [], removed: [] });
});

test('changes name the entry that left the list while pages were read, but not the one that moved to an earlier page', async () => {
  const some = Array.from({ length: 4 }, (_, index) => ({ slug: `paged-${index}`, name: 'Paged' }));
  await put(database, 'orgs', some);
  const start = await now();
  const pageOf = async (number: number): Promise<string[]> => {
    const { body } = await service.call(`/orgs?search=paged&sort=createdAt&limit=2&page=${number}`);
    return body.data.map(({ slug }: Entry) => slug);
  };
  const first = await pageOf(1);
  const left = await idOf('paged-0');
  await update('paged-0', sql`listed = false`);
  await service.settled();
  const seen = [...first, ...(await pageOf(2))];
  assert.deepEqual(await changesSince(start), { changed: [], removed: [left] });
  assert.deepEqual(seen, ['paged-0', 'paged-1', 'paged-3']);
  assert.deepEqual([...(await pageOf(1)), ...(await pageOf(2))], ['paged-1', 'paged-2', 'paged-3']);
});

test('a transaction that began earlier and commits later is not missed', async () => {
  const start = await now();
  let cursor = '';
  await database.transaction().execute(async (tx) => {
    await sql`update orgs set name = 'Slow' where slug = 'acme'`.execute(tx);
    await update('gamma', sql`name = name || '!'`);
    await service.settled();
    const { changed, nextCursor } = await since(start);
    assert.deepEqual(
      changed.map(({ slug }) => slug),
      ['gamma'],
    );
    cursor = nextCursor;
  });
  assert.deepEqual(await changesSince(cursor), { changed: ['acme'], removed: [] });
});

test('a cursor is valid in every process, but for its kind and database only', async () => {
  const cursor = await now();
  await neighbour.settled();
  assert.deepEqual((await since(cursor, 'orgs', 20, neighbour)).changed, []);
  const { status, body } = await service.call(`/alliances?changedSince=${cursor}`);
  assert.equal(status, 400);
  assert.equal(body.error.details.issues[0].path, 'query.changedSince');
  const elsewhere = await stranger.call(`/orgs?changedSince=${cursor}`);
  assert.deepEqual([elsewhere.status, elsewhere.body.error.code], [410, 'cursor_expired']);
});

test('a cursor from after the copy that was put back in place of its database is refused', async () => {
  const before = await now();
  await update('acme', sql`name = 'Lost'`);
  const after = await now();
  const move = (by: number) =>
    sql`update revisions set revision = revision + ${by} where scope = 'directory'`.execute(
      database,
    );
  await move(-1);
  await service.settled();
  const { status, body } = await service.call(`/orgs?changedSince=${after}`);
  assert.deepEqual([status, body.error.code], [410, 'cursor_expired']);
  assert.equal((await service.call(`/orgs?changedSince=${before}`)).status, 200);
  await move(1);
  assert.deepEqual(await changesSince(after), { changed: [], removed: [] });
});

test('changedSince takes a cursor and a limit, and nothing else', async () => {
  const cursor = await now();
  for (const [query, path] of [
    ['changedSince=x', 'changedSince'],
    [`changedSince=${cursor}x`, 'changedSince'],
    ['changedSince=', 'changedSince'],
    [`changedSince=${cursor}&changedSince=${cursor}`, 'changedSince'],
    [`changedSince=${cursor}&search=acme`, 'search'],
    [`changedSince=${cursor}&slug=acme`, 'slug'],
    [`changedSince=${cursor}&sort=name`, 'sort'],
    [`changedSince=${cursor}&facets=status`, 'facets'],
    [`changedSince=${cursor}&page=2`, 'page'],
    [`changedSince=${cursor}&limit=101`, 'limit'],
  ] as const) {
    const { status, body } = await service.call(`/orgs?${query}`);
    assert.equal(status, 400, query);
    assert.equal(body.error.details.issues[0].path, `query.${path}`, query);
  }
});

test('a cursor works for 30 days at least, and for as long as no change since is lost', async () => {
  const age = (slug: string, days: number) =>
    sql`update entry_changes set at = now() - ${days} * interval '1 day'
        where id = (select id from orgs where slug = ${slug})`.execute(database);
  const first = await now();
  await update('acme', sql`name = 'Old change'`);
  const second = await now();
  await update('beta', sql`name = 'New change'`);
  await foldAll();
  await sql`update entry_changes set at = now() - interval '1 year'
            where revision < (select max(revision) - 1 from entry_changes)`.execute(database);
  await age('acme', changesKeptDays - 1);
  while (await dropOldEntryChanges(database));
  assert.deepEqual((await changesSince(first)).changed, ['acme', 'beta']);
  await age('acme', changesKeptDays + 1);
  while (await dropOldEntryChanges(database));
  await update('gamma', sql`name = 'Newest change'`);
  await service.settled();
  const { status, body } = await service.call(`/orgs?changedSince=${first}`);
  assert.deepEqual([status, body.error.code], [410, 'cursor_expired']);
  assert.deepEqual((await changesSince(second)).changed, ['beta', 'gamma']);
});

test('the notes of a change are not deleted before a worker has taken them', async () => {
  const start = await now();
  await update('acme', sql`name = name || '.'`);
  await sql`update search_changes set at = now() - interval '1 hour'`.execute(database);
  await update('beta', sql`name = name || '.'`);
  assert.deepEqual((await changesSince(start)).changed, ['acme', 'beta']);
});

test('a note of more entries than are moved at once is moved in parts, and holds up no later one', async () => {
  await sql`delete from entry_changes where kind = 'alliances'`.execute(database);
  const note = (revision: number, entries: number) =>
    sql`
      insert into search_changes (kind, revision, at, written, adjusted, entries, was_public, is_public)
      select 'alliances', ${revision}, now(), '{}', '{}', array_agg(gen_random_uuid()), true, true
      from generate_series(1, ${entries})
    `.execute(database);
  const moved = async (revision: number): Promise<number> => {
    const { rows } = await sql<{ count: number }>`
      select count(*) from entry_changes where kind = 'alliances' and revision = ${revision}
    `.execute(database);
    return rows[0]?.count ?? 0;
  };
  while ((await foldEntryChanges(database)).more);
  await note(1, foldedMax + 1);
  await note(2, 2);
  assert.equal((await foldEntryChanges(database)).more, true);
  assert.deepEqual([await moved(1), await moved(2)], [foldedMax, 0]);
  assert.equal((await foldEntryChanges(database)).more, false);
  assert.deepEqual([await moved(1), await moved(2)], [foldedMax + 1, 2]);
  await sql`delete from entry_changes where kind = 'alliances'`.execute(database);
});
