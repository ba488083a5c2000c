import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql, type Transaction } from '../../../src/database/database.ts';
import { findOrg } from '../../../src/directory/orgs.ts';
import { dropExpiredKeys } from '../../../src/events/idempotency-keys.ts';
import { put } from '../../support/directory.ts';
import { eventually } from '../../support/eventually.ts';
import { startInternalApi } from '../../support/internal-api.ts';
import { loopbackAllowed, startReceiver } from '../../support/receiver.ts';
import { makeKey, startTestService } from '../../support/service.ts';

const service = await startTestService({ worker: true, env: loopbackAllowed });
const { database } = service;
const internal = await startInternalApi(service);
await put(database, 'orgs', [
  { slug: 'acme', name: 'Acme' },
  { slug: 'hidden', name: 'Hidden', listed: false },
]);
await put(database, 'alliances', [{ slug: 'league', name: 'League' }]);
const acme = (await findOrg(database, 'acme'))!;

const application = (id: string) => ({
  id,
  applicantHandle: 'h',
  submittedAt: '2026-11-20T12:00:00.000Z',
});
const applied = (id: string) => ({
  event: 'application.created',
  org: 'acme',
  data: application(id),
});

const post = (json: object, headers: Record<string, string> = {}) =>
  internal.call('/events', { method: 'POST', json, headers });

async function countEvents(applicationId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count
    from (select name, data from events union all select name, data from outbox) e
    where name = 'application.created' and data::json->'application'->>'id' = ${applicationId}
  `.execute(database);
  return rows[0]?.count ?? 0;
}

test('a published event is delivered with the ids and names that the service adds', async () => {
  const { key } = await makeKey(service, { bindTo: { kind: 'organization', id: acme.id } });
  const receiver = await startReceiver();
  await service.call('/webhooks', { method: 'POST', key, json: { url: receiver.url } });
  const { status, body, headers } = await post({ id: 'first', ...applied('first') });
  assert.equal(status, 201);
  assert.equal(body.data.event, 'application.created');
  assert.equal(headers.get('idempotent-replayed'), null);
  const [received] = await receiver.waitFor(1);
  assert.deepEqual(JSON.parse(String(received?.body)).data, {
    organizationId: acme.id,
    organization: { id: acme.id, slug: 'acme', name: 'Acme' },
    application: application('first'),
  });
  const pulled = await service.call('/events', { key });
  assert.deepEqual(
    pulled.body.data.map(({ id }: { id: string }) => id),
    [body.data.id],
  );
});

test('a repeated request, by id or by header, gets the same response and records nothing', async () => {
  const first = await post({ id: 'again', ...applied('again') });
  const answers = [
    await post({ id: 'again', ...applied('again') }),
    await post(applied('again'), { 'idempotency-key': 'again' }),
    await post({ id: 'again', ...applied('again') }, { 'idempotency-key': 'again' }),
    // The order of fields, and what is left out or null, is no part of the content.
    await post({
      data: { submittedAt: '2026-11-20T12:00:00.000Z', applicantHandle: 'h', id: 'again' },
      alliance: null,
      org: 'acme',
      event: 'application.created',
      id: 'again',
    }),
  ];
  for (const { status, text, headers } of answers) {
    assert.deepEqual([status, text], [201, first.text]);
    assert.equal(headers.get('idempotent-replayed'), 'true');
  }
  assert.equal(await countEvents('again'), 1);
});

test('without a key, each request publishes an event', async () => {
  const ids = [await post(applied('plain')), await post(applied('plain'))];
  assert.equal(new Set(ids.map(({ body }) => body.data.id)).size, 2);
  assert.equal(await countEvents('plain'), 2);
});

test('the same key with different content is a conflict, and two different keys are rejected', async () => {
  await post({ id: 'mine', ...applied('mine') });
  for (const other of [
    { ...applied('mine'), data: application('yours') },
    { ...applied('mine'), org: 'hidden' },
    { event: 'org.created', org: 'acme' },
  ]) {
    const { status, body } = await post({ id: 'mine', ...other });
    assert.deepEqual([status, body.error.code], [409, 'conflict']);
  }
  const { status, body } = await post(
    { id: 'one', ...applied('two') },
    { 'idempotency-key': 'two' },
  );
  assert.equal(status, 400);
  assert.equal(body.error.details.issues[0].path, 'body.id');
  assert.equal(await countEvents('yours'), 0);
  assert.equal(await countEvents('two'), 0);
});

test('ten concurrent requests with one key publish one event', async () => {
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => post({ id: 'at-once', ...applied('at-once') })),
  );
  assert.deepEqual(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size, 1);
  const fresh = answers.filter(({ headers }) => !headers.has('idempotent-replayed'));
  assert.equal(fresh.length, 1);
  assert.equal(await countEvents('at-once'), 1);
});

test('a refused publication leaves its key free', async () => {
  const json = {
    id: 'early',
    event: 'application.created',
    org: 'later',
    data: application('early'),
  };
  assert.equal((await post(json)).status, 404);
  await put(database, 'orgs', [{ slug: 'later', name: 'Later' }]);
  const { status, headers } = await post(json);
  assert.deepEqual([status, headers.get('idempotent-replayed')], [201, null]);
  assert.equal(await countEvents('early'), 1);
});

/** Takes a key like another process whose statement has not ended. */
const holdKey = (tx: Transaction, key: string) =>
  sql`
    insert into idempotency_keys (key, content, event_id, expires_at)
    values (${key}, sha256('other'), gen_random_uuid(), now() + interval '1 day')
  `.execute(tx);

test('if a process dies before its commit, the next request can use the key', async () => {
  let waiting: ReturnType<typeof post> | undefined;
  await assert.rejects(
    database.transaction().execute(async (tx) => {
      await holdKey(tx, 'crash');
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
      const pid = rows[0]?.pid ?? 0;
      waiting = post({ id: 'crash', ...applied('crash') });
      await eventually(async () => {
        const { rows: blocked } = await sql`
          select 1 from pg_stat_activity where ${pid}::int = any(pg_blocking_pids(pid))
        `.execute(database);
        return blocked.length > 0;
      });
      await sql`select pg_terminate_backend(${pid}::int)`.execute(database);
      await sql`select 1`.execute(tx);
    }),
  );
  const answer = await waiting;
  assert.deepEqual([answer?.status, answer?.headers.get('idempotent-replayed')], [201, null]);
  assert.equal(await countEvents('crash'), 1);
});

test('a request that waits too long for its key gets a 503, and delays no other for long', async () => {
  await database.transaction().execute(async (tx) => {
    await holdKey(tx, 'held');
    const held = post({ id: 'held', ...applied('held') });
    const others = Array.from({ length: 20 }, (_, index) =>
      post({ id: `beside-${index}`, ...applied('beside') }),
    );
    for (const { status } of await Promise.all(others)) assert.equal(status, 201);
    assert.equal((await held).status, 503);
    await sql`delete from idempotency_keys where key = 'held'`.execute(tx);
  });
  assert.equal((await post({ id: 'held', ...applied('held') })).status, 201);
  assert.equal(await countEvents('held'), 1);
  assert.equal(await countEvents('beside'), 20);
});

test('an expired key can be used again, before and after it is deleted', async () => {
  const json = { id: 'old', ...applied('old') };
  const expire = () =>
    sql`
      update idempotency_keys set created_at = now() - interval '9 days', expires_at = now() - interval '1 day'
      where key = 'old'
    `.execute(database);
  await post(json);
  await expire();
  assert.equal((await post(json)).headers.get('idempotent-replayed'), null);
  assert.equal((await post(json)).headers.get('idempotent-replayed'), 'true');
  await expire();
  assert.equal(await dropExpiredKeys(database), 1);
  assert.equal(await dropExpiredKeys(database), 0);
  assert.equal((await post(json)).headers.get('idempotent-replayed'), null);
  assert.equal(await countEvents('old'), 3);
});

test('an invalid request is rejected with the path of the error', async () => {
  const refused: [object, number, string | null][] = [
    [{ ...applied('x'), event: 'nothing' }, 400, 'body.event'],
    [{ ...applied('x'), event: 'system.maintenance.enabled' }, 400, 'body.event'],
    [{ ...applied('x'), event: 'webhook.test' }, 400, 'body.event'],
    [{ ...applied('x'), data: { id: 'x' } }, 400, 'body.data.applicantHandle'],
    [{ ...applied('x'), data: { ...application('x'), secret: 1 } }, 400, 'body.data.secret'],
    [{ event: 'application.created', org: 'acme' }, 400, 'body.data'],
    [{ ...applied('x'), alliance: 'league' }, 400, 'body.alliance'],
    [{ event: 'application.created', data: application('x') }, 400, 'body.org'],
    [{ event: 'org.created', org: 'acme', data: { name: 'Private' } }, 400, 'body.data'],
    [{ ...applied('x'), more: 1 }, 400, 'body.more'],
    [{ ...applied('x'), id: '' }, 400, 'body.id'],
    [{ ...applied('x'), id: 'with a space' }, 400, 'body.id'],
    [{ ...applied('x'), id: 'x'.repeat(256) }, 400, 'body.id'],
    [{ ...applied('x'), org: 'nobody' }, 404, null],
    [{ event: 'org.created', org: 'hidden' }, 409, null],
  ];
  for (const [json, status, path] of refused) {
    const answer = await post(json);
    assert.equal(answer.status, status, JSON.stringify(json));
    if (path) assert.equal(answer.body.error.details.issues[0].path, path);
  }
  const { status, body } = await post(applied('x'), { 'idempotency-key': 'with a space' });
  assert.equal(status, 400);
  assert.equal(body.error.details.issues[0].path, 'headers.idempotency-key');
  assert.equal(await countEvents('x'), 0);
});
