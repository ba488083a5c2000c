/** Syncs by the internal API: started, rejected, and read until they end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listAudit } from '../../../src/access/audit-log.ts';
import { blueprint, put } from '../../support/directory.ts';
import { startDiscord } from '../../support/discord-server.ts';
import { eventually } from '../../support/eventually.ts';
import { startInternalApi, type TestInternalApi } from '../../support/internal-api.ts';
import { startReceiver } from '../../support/receiver.ts';
import { startTestService } from '../../support/service.ts';

const receiver = await startReceiver();
const discord = await startDiscord();
const env = {
  SYNC_BLUEPRINTS_URL: receiver.url,
  CHAT_TOKEN: discord.token,
  CHAT_BASE_URL: discord.baseUrl,
};
const service = await startTestService({ env });
const internal = await startInternalApi(service);
const beside = await startInternalApi(await startTestService({ env, beside: service }));
const rows = Array.from({ length: 4 }, () => blueprint());
const textOf = (some: object[]) => some.map((row) => `${JSON.stringify(row)}\n`).join('');

const everything = { actor: null, action: null, appId: null, since: null, limit: 1 };

const start = (kind: string, json?: unknown, on: TestInternalApi = internal) =>
  on.call(`/syncs/${kind}`, { method: 'POST', ...(json === undefined ? {} : { json }) });

/** The run after it has ended, as any process returns it. */
const ended = (id: string) =>
  eventually(async () => {
    const { body } = await beside.call(`/syncs/${id}`);
    return body.data.status === 'running' ? null : body.data;
  });

test('a run is started and returned at once, a second one is rejected, and the result can be read', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  receiver.respond = (response) => void released.then(() => response.end(textOf(rows)));
  const begun = await start('blueprints');
  assert.equal(begun.status, 202);
  const { id, status, source, trigger } = begun.body.data;
  assert.deepEqual([status, source, trigger], ['running', receiver.url, 'api']);
  for (const api of [internal, beside]) {
    const refused = await start('blueprints', {}, api);
    assert.deepEqual(
      [refused.status, refused.body.error.code, refused.body.error.details],
      [409, 'conflict', { runId: id }],
    );
  }
  assert.equal((await beside.call(`/syncs/${id}`)).body.data.status, 'running');
  release();
  const run = await ended(id);
  assert.deepEqual([run.status, run.counts.created], ['succeeded', 4]);
  const [entry] = await listAudit(service.database, { ...everything, subjectId: id });
  assert.deepEqual(
    [entry?.action, entry?.actor.kind, entry?.details],
    ['sync.started', 'key', { kind: 'blueprints' }],
  );
  await service.settled();
  assert.equal((await service.call('/blueprints')).body.pagination.total, 4);
});

test('a failed run has its reason, and the caller can set force and skipBad', async () => {
  receiver.respond = (response) => response.end(`${textOf(rows.slice(0, 1))}{"key":"half"}\n`);
  const plain = await ended((await start('blueprints')).body.data.id);
  assert.deepEqual([plain.reason, plain.problems[0].subject], ['bad_rows', 'line 2']);
  const skipped = await ended((await start('blueprints', { skipBad: true })).body.data.id);
  assert.equal(skipped.reason, 'shrunk');
  const forced = await start('blueprints', { skipBad: true, force: true });
  assert.equal((await ended(forced.body.data.id)).counts.retired, 3);
});

test('a request cannot set the source', async () => {
  for (const json of [
    { url: 'http://127.0.0.1/' },
    { source: '/etc/passwd' },
    { force: 'yes' },
    [],
  ])
    assert.equal((await start('blueprints', json)).status, 400);
  assert.equal((await start('chat', { force: true })).status, 400);
});

test('a chat run lists failed servers to the platform only', async () => {
  discord.guilds.set('11', 42);
  await put(service.database, 'orgs', [
    { slug: 'acme', name: 'Acme', chatServerId: '11' },
    { slug: 'lost', name: 'Lost', chatServerId: '12' },
  ]);
  const begun = await start('chat');
  assert.equal(begun.status, 202);
  const run = await ended(begun.body.data.id);
  assert.deepEqual([run.kind, run.source, run.counts.members], ['chat', 'discord', 42]);
  assert.deepEqual(
    run.problems.map(({ subject }: { subject: string }) => subject),
    ['lost'],
  );
  assert.equal((await internal.call('/orgs/acme')).body.data.memberCount, 42);
});

test('runs are listed newest first, by kind and page', async () => {
  const all = await internal.call('/syncs?limit=2');
  assert.deepEqual([all.status, all.body.data.length, all.body.pagination.limit], [200, 2, 2]);
  const ids = (await internal.call('/syncs?limit=100')).body.data.map(
    ({ id }: { id: string }) => id,
  );
  assert.deepEqual(ids, ids.toSorted().toReversed());
  const blueprints = await internal.call('/syncs?kind=blueprints');
  assert.equal(blueprints.body.pagination.total, 4);
  assert.equal((await internal.call('/syncs?kind=orgs')).status, 400);
  assert.equal((await internal.call('/syncs/0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f')).status, 404);
  assert.equal((await internal.call('/syncs/nonsense')).status, 404);
  assert.equal((await internal.call('/syncs', { key: service.key })).status, 403);
});

test('a sync that is not configured is a conflict', async () => {
  const bare = await startInternalApi(await startTestService({ beside: service }));
  for (const [kind, variable] of [
    ['blueprints', 'SYNC_BLUEPRINTS_URL'],
    ['chat', 'CHAT_TOKEN'],
  ] as const) {
    const { status, body } = await start(kind, undefined, bare);
    assert.deepEqual([status, body.error.code], [409, 'conflict']);
    assert.match(body.error.message, new RegExp(`Set ${variable}`));
  }
});
