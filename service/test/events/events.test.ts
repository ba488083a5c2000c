import assert from 'node:assert/strict';
import { test } from 'node:test';
import { publishEvent } from '../../src/directory/publish-in-groups.ts';
import { recordEvents } from '../../src/events/record-event.ts';
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

const publish = (name: string, org: string) =>
  database
    .transaction()
    .execute((tx) =>
      publishEvent(tx, { name, org, alliance: null, data: null, publicUrl: testPublicUrl }),
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
