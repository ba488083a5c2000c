import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bindApp } from '../../src/access/bindings.ts';
import { addManager, removeManager } from '../../src/access/managers.ts';
import { sql } from '../../src/database/database.ts';
import { findOrg } from '../../src/directory/orgs.ts';
import { publishEvent } from '../../src/directory/publish-in-groups.ts';
import { recordEvent, recordEvents } from '../../src/events/record-event.ts';
import { testActor } from '../support/actor.ts';
import { put } from '../support/directory.ts';
import { fanOutParked } from '../support/queue.ts';
import { makeKey, startTestService, testPublicUrl } from '../support/service.ts';

// No worker runs: the tests call fan-out themselves.
const service = await startTestService();
const { database } = service;
await put(database, 'orgs', [
  { slug: 'acme', name: 'Acme' },
  { slug: 'rival', name: 'Rival' },
]);
const acme = (await findOrg(database, 'acme'))!;
const application = (id: string) => ({
  id,
  applicantHandle: 'h',
  submittedAt: '2026-11-20T12:00:00.000Z',
});

const publish = (name: string, org: string, data: unknown = null) =>
  database
    .transaction()
    .execute((tx) =>
      publishEvent(tx, { name, org, alliance: null, data, publicUrl: testPublicUrl }),
    );

async function pull(key: string, query = '') {
  const { status, body } = await service.call(`/events${query}`, { key });
  assert.equal(status, 200);
  return body as {
    data: { id: string; event: string; data: any }[];
    pagination: { nextCursor: string | null; hasMore: boolean };
  };
}

test('the event stream starts empty, and a cursor continues where it ended', async () => {
  const empty = await pull(service.key);
  assert.deepEqual(
    [empty.data, empty.pagination],
    [[], { limit: 20, nextCursor: null, hasMore: false }],
  );
  const ids = [
    await publish('org.created', 'acme'),
    await publish('org.created', 'rival'),
    await publish('org.created', 'acme'),
  ];
  assert.equal(
    (await pull(service.key)).data.length,
    0,
    'what has not been fanned out is not there yet',
  );
  await fanOutParked(database);
  const first = await pull(service.key, '?limit=2');
  assert.deepEqual(
    [first.data.map(({ id }) => id), first.pagination.hasMore],
    [ids.slice(0, 2), true],
  );
  const second = await pull(service.key, `?limit=2&after=${first.pagination.nextCursor}`);
  assert.deepEqual(
    [second.data.map(({ id }) => id), second.pagination.hasMore],
    [ids.slice(2), false],
  );
  const third = await pull(service.key, `?after=${second.pagination.nextCursor}`);
  assert.deepEqual([third.data, third.pagination.nextCursor], [[], second.pagination.nextCursor]);
  assert.equal((await pull(service.key, '?event=alliance.created')).data.length, 0);
});

test('a reader does not skip an event that commits late', async () => {
  const { pagination } = await pull(service.key, '?limit=100');
  let commit: () => void = () => {};
  let recorded: () => void = () => {};
  const hasRecorded = new Promise<void>((resolve) => (recorded = resolve));
  const mayCommit = new Promise<void>((resolve) => (commit = resolve));
  const late = database.transaction().execute(async (tx) => {
    const id = await recordEvent(tx, {
      name: 'system.maintenance.disabled',
      data: { since: '2026-11-20T12:00:00.000Z', endedAt: '2026-11-20T12:00:00.000Z' },
    });
    recorded();
    await mayCommit;
    return id;
  });
  await hasRecorded;
  const early = await publish('org.created', 'acme');
  await fanOutParked(database);
  const first = await pull(service.key, `?after=${pagination.nextCursor}`);
  assert.deepEqual(
    first.data.map(({ id }) => id),
    [early],
  );
  commit();
  const lateId = await late;
  await fanOutParked(database);
  const second = await pull(service.key, `?after=${first.pagination.nextCursor}`);
  assert.deepEqual(
    second.data.map(({ id }) => id),
    [lateId],
  );
});

/** A transaction with two events, which ends when it is told to. */
async function openTransaction(): Promise<{ ids: string[]; commit: () => Promise<void> }> {
  const data = { since: '2026-11-20T12:00:00.000Z', endedAt: '2026-11-20T12:00:00.000Z' };
  const event = { name: 'system.maintenance.disabled', data } as const;
  const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
  const { promise: recorded, resolve: record } = Promise.withResolvers<string[]>();
  const done = database.transaction().execute(async (tx) => {
    record(await recordEvents(tx, [event, event]));
    await mayEnd;
  });
  const ids = await recorded;
  return {
    ids,
    commit: async () => {
      end();
      await done;
    },
  };
}

test('a reader gets every event once while transactions commit in another order than they began', async () => {
  const start = (await pull(service.key, '?limit=100')).pagination.nextCursor;
  const count = 8;
  const open = [];
  for (let index = 0; index < count; index += 1) open.push(await openTransaction());
  const committed: string[] = [];
  const read: string[] = [];
  let cursor = start;
  let floor = '0';
  // 5 and 8 have no common factor, so each one has its turn.
  for (let turn = 0; turn < count; turn += 1) {
    const { ids, commit } = open[(turn * 5) % count] as (typeof open)[number];
    await commit();
    committed.push(...ids);
    floor = (await fanOutParked(database, floor)).floor ?? floor;
    const page = await pull(service.key, `?after=${cursor}`);
    read.push(...page.data.map(({ id }) => id));
    cursor = page.pagination.nextCursor;
  }
  assert.deepEqual(read, committed);
});

test("an app sees its organisation's events since its binding, and only while it is bound", async () => {
  const names = async (key: string) =>
    (await pull(key, '?limit=100')).data
      .filter(({ event }) => event === 'application.created')
      .map(({ data }) => data.application.id);
  const { key, appId, owner } = await makeKey(service);
  await publish('application.created', 'acme', application('before'));
  await fanOutParked(database);
  const subject = { kind: 'organization', id: acme.id } as const;
  const bind = () =>
    database.transaction().execute(async (tx) => {
      await addManager(tx, testActor, subject, owner);
      await bindApp(tx, testActor, appId, subject);
    });
  await bind();
  await publish('application.created', 'acme', application('during'));
  await publish('application.created', 'rival', application('elsewhere'));
  await fanOutParked(database);
  assert.deepEqual(await names(key), ['during']);
  assert.deepEqual(await names(service.key), [], 'an app without a binding');
  await database.transaction().execute((tx) => removeManager(tx, testActor, subject, owner));
  assert.deepEqual(await names(key), []);
  await bind();
  assert.deepEqual(await names(key), [], 'a new binding revives nothing');
});

test('the stream has no events of unlisted organisations and no tests', async () => {
  await put(database, 'orgs', [{ slug: 'shy', name: 'Shy' }]);
  await publish('org.created', 'shy');
  await fanOutParked(database);
  const slugs = async () =>
    (await pull(service.key, '?limit=100&event=org.created')).data.map(({ data }) => data.slug);
  assert.ok((await slugs()).includes('shy'));
  await put(database, 'orgs', [{ slug: 'shy', name: 'Shy', listed: false }]);
  assert.ok(!(await slugs()).includes('shy'));
  const { rows } = await sql<{
    count: number;
  }>`select count(*) from events where audience = 'webhook' and position is not null`.execute(
    database,
  );
  assert.equal(rows[0]?.count, 0);
});

test('an invalid cursor is rejected', async () => {
  for (const after of [
    'x',
    'MTow!',
    Buffer.from('1:-1').toString('base64url'),
    Buffer.from('2:1').toString('base64url'),
    '9'.repeat(64),
    '%00',
  ]) {
    const { status, body } = await service.call(`/events?after=${after}`);
    assert.deepEqual([status, body.error.details.issues[0].path], [400, 'query.after'], after);
  }
  const { key } = await makeKey(service, { scopes: ['read:directory'] });
  assert.deepEqual((await service.call('/events', { key })).body.error.details, {
    requiredScope: 'read:events',
  });
});
