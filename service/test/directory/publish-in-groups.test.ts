import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import fc from 'fast-check';
import { sql } from '../../src/database/database.ts';
import { findOrg } from '../../src/directory/orgs.ts';
import { Publisher } from '../../src/directory/publish-in-groups.ts';
import type { Published } from '../../src/directory/publications.ts';
import { put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { startInternalApi } from '../support/internal-api.ts';
import { startTestService, testPublicUrl } from '../support/service.ts';

// Without a worker, events stay in the outbox.
const service = await startTestService();
const { database, publisher } = service;
const internal = await startInternalApi(service);
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
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
const publication = (data: object, key: string | null = null) => ({
  name: 'application.created',
  org: 'acme',
  alliance: null,
  data,
  key,
  publicUrl: testPublicUrl,
});
const offer = (id: string) => ({
  event: 'resource.offer.created',
  alliance: 'league',
  data: { id, organization: null, title: 't', items: [], availableUntil: null },
});

const post = (json: unknown, headers: Record<string, string> = {}) =>
  internal.call('/events', { method: 'POST', json, headers });
const postLines = (body: string | Buffer) =>
  internal.call('/events', {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/x-ndjson' },
  });

type Stored = { id: string; xid: string; name: string; data: string };

/** In the order in which fan-out takes them. */
async function outbox(): Promise<Stored[]> {
  const { rows } = await sql<Stored>`
    select id, xid::text as xid, name, data from outbox order by outbox.xid, id
  `.execute(database);
  return rows;
}

const commitsOf = (events: Stored[]) => new Set(events.map(({ xid }) => xid)).size;
const idOf = ({ data }: Stored) => {
  const { application: given, offer: offered } = JSON.parse(data) as Record<string, { id: string }>;
  return (given ?? offered)?.id;
};
const kindsOf = (results: Published[]) => results.map(({ kind }) => kind);
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `n-${index}`);

beforeEach(async () => {
  await sql`delete from outbox`.execute(database);
  await sql`delete from idempotency_keys`.execute(database);
});

test('publications of one turn are stored by one commit, each once', async () => {
  const names = numbered(100);
  const results = await Promise.all(
    names.map((name) => publisher.publish([publication(application(name))])),
  );
  const stored = await outbox();
  assert.equal(commitsOf(stored), 1);
  assert.deepEqual(stored.map(idOf), names);
  assert.deepEqual(
    results.flat(),
    stored.map(({ id }) => ({ kind: 'published', id })),
  );
});

test('a hundred concurrent requests share commits', async () => {
  const answers = await Promise.all(numbered(100).map((id) => post({ id, ...applied(id) })));
  const stored = await outbox();
  assert.deepEqual(
    answers.map(({ status, body }) => `${status} ${body.data.id}`).toSorted(),
    stored.map(({ id }) => `201 ${id}`).toSorted(),
  );
  assert.deepEqual(stored.map(idOf).toSorted(), numbered(100).toSorted());
  assert.ok(commitsOf(stored) < 100);
});

test('onPublished is called once for a group, and not if nothing was published', async () => {
  let calls = 0;
  const counted = new Publisher(service.publishing, () => (calls += 1));
  const both = [application('one'), application('two')].map((data) => publication(data, data.id));
  await counted.publish(both);
  assert.equal(calls, 1);
  assert.deepEqual(kindsOf(await counted.publish(both)), ['repeated', 'repeated']);
  assert.deepEqual(kindsOf(await counted.publish([{ ...publication({}), org: 'nobody' }])), [
    'failed',
  ]);
  assert.equal(calls, 1);
});

test('a thousand events in one request keep their order', async () => {
  const events = numbered(1_000).map((id, index) => (index % 3 === 0 ? offer(id) : applied(id)));
  const { status, body } = await post(events);
  assert.deepEqual([status, body.data.published, body.data.failed], [200, 1_000, 0]);
  const stored = await outbox();
  assert.deepEqual(stored.map(idOf), numbered(1_000));
  assert.deepEqual(
    body.data.results,
    stored.map(({ id, name }) => ({ id, event: name, replayed: false })),
  );
  assert.ok(commitsOf(stored) <= 4);
});

test('an id counts once within a request, over requests, and next to single requests', async () => {
  const event = { id: 'same', ...applied('same') };
  const requests = [post([event, event]), post(event), post([event]), post(event, {})];
  const answers = await Promise.all(requests);
  const results = answers.flatMap(({ body, headers }): { id: string; replayed: boolean }[] =>
    'results' in body.data
      ? body.data.results
      : [{ id: body.data.id, replayed: headers.has('idempotent-replayed') }],
  );
  assert.equal(results.length, 5);
  assert.equal(results.filter(({ replayed }) => !replayed).length, 1);
  assert.equal(new Set(results.map(({ id }) => id)).size, 1);
  assert.equal((await outbox()).length, 1);
});

test('an id is found although its organisation has been renamed since, and a free one is not taken', async () => {
  await put(database, 'orgs', [{ slug: 'before', name: 'Before' }]);
  const event = { ...applied('moved'), org: 'before' };
  const first = await post({ id: 'moved', ...event });
  await sql`update orgs set slug = 'after' where slug = 'before'`.execute(database);
  const again = await post({ id: 'moved', ...event });
  assert.deepEqual([again.status, again.text], [201, first.text]);
  assert.equal((await post({ id: 'moved', ...event, org: 'nobody' })).status, 409);
  const { status, body } = await post({ id: 'other', ...event });
  assert.deepEqual([status, body.error.message], [404, 'There is no organisation before.']);
  assert.equal((await post({ id: 'other', ...event, org: 'after' })).status, 201);
});

test('a bad event fails alone, and its error names the field', async () => {
  const { status, body } = await post([
    applied('good'),
    { ...applied('bad'), data: { id: 'bad' } },
    'nothing',
    { ...applied('bad'), org: 'nobody' },
    { ...applied('bad'), alliance: 'league' },
    { event: 'org.created', org: 'acme' },
    { id: 'twice', ...applied('good') },
    { id: 'twice', ...applied('other') },
    applied('good'),
  ]);
  assert.equal(status, 200);
  const { published, repeated, failed, results } = body.data;
  assert.deepEqual([published, repeated, failed], [4, 0, 5]);
  const errors = (results as { error?: { code: string; details: { issues?: any[] } } }[]).map(
    ({ error }) => error && [error.code, error.details.issues?.[0].path],
  );
  assert.deepEqual(errors, [
    undefined,
    ['validation_failed', 'body.1.data.applicantHandle'],
    ['validation_failed', 'body.2'],
    ['not_found', undefined],
    ['validation_failed', 'body.4.alliance'],
    undefined,
    undefined,
    ['conflict', undefined],
    undefined,
  ]);
  assert.equal((await outbox()).length, 4);
});

test('an event that the database refuses fails alone', async () => {
  await sql`
    alter table outbox add constraint refused check (data not like '%refuse-me%')
  `.execute(database);
  try {
    const ids = ['n-1', 'refuse-me', 'n-2', 'n-3'];
    const results = await publisher.publish(ids.map((id) => publication(application(id), id)));
    assert.deepEqual(kindsOf(results), ['published', 'failed', 'published', 'published']);
    assert.deepEqual((await outbox()).map(idOf), ['n-1', 'n-2', 'n-3']);
    assert.equal((await post(applied('refuse-me'))).status, 500);
  } finally {
    await sql`alter table outbox drop constraint refused`.execute(database);
  }
  assert.equal((await post({ id: 'refuse-me', ...applied('refuse-me') })).status, 201);
});

test('if the connection breaks, every request of the group gets a 503', async () => {
  await database.transaction().execute(async (tx) => {
    await sql`lock table outbox in access exclusive mode`.execute(tx);
    const group = Promise.allSettled([
      publisher.publish([publication(application('cut'))]),
      publisher.publish([publication(application('cut')), publication(application('cut'))]),
    ]);
    await endWaiting();
    assert.deepEqual(
      (await group).map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    const request = post(applied('cut'));
    await endWaiting();
    assert.equal((await request).status, 503);
  });
  assert.equal((await post(applied('later'))).status, 201);
  assert.deepEqual((await outbox()).map(idOf), ['later']);
});

/** Ends the connection that waits for a lock. */
async function endWaiting(): Promise<void> {
  await eventually(async () => {
    const { rows } = await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pg_blocking_pids(pid) <> '{}'
    `.execute(database);
    return rows.length > 0;
  });
}

test('NDJSON is an array of lines, and a line that is no JSON fails alone', async () => {
  const lines = ['\u{feff}' + JSON.stringify({ id: 'l-1', ...applied('l-1') }), '', '{"event":'];
  lines.push(
    JSON.stringify({ ...applied('l-2'), ['__proto__x']: 1 }),
    JSON.stringify(applied('l-3')),
  );
  const { status, body } = await postLines(lines.join('\n'));
  assert.deepEqual([status, body.data.published, body.data.failed], [200, 2, 2]);
  const [, second, third] = body.data.results;
  assert.equal(second.error.message, 'body.1: is not valid JSON');
  assert.equal(third.error.details.issues[0].path, 'body.2.__proto__x');
  const again = await postLines(`${lines[0]}\r\n`);
  assert.deepEqual([again.body.data.repeated, again.body.data.results[0].replayed], [1, true]);
});

test('a request with too many events, none, or a header for all is refused as a whole', async () => {
  const events = numbered(1_001).map(applied);
  for (const answer of [
    await post(events),
    await postLines(events.map((event) => JSON.stringify(event)).join('\n')),
  ]) {
    assert.deepEqual([answer.status, answer.body.error.code], [413, 'payload_too_large']);
    assert.deepEqual(answer.body.error.details, { eventsMax: 1_000 });
  }
  const large = `[${JSON.stringify(applied('x'))}${' '.repeat(8 * 1024 * 1024)}]`;
  const headers = { 'content-type': 'application/json' };
  const answer = await internal.call('/events', { method: 'POST', body: large, headers });
  assert.deepEqual([answer.status, answer.body.error.code], [413, 'payload_too_large']);
  for (const empty of [await post([]), await postLines('\n')])
    assert.equal(empty.body.error.message, 'body: must have at least one event');
  const keyed = await post([applied('x')], { 'idempotency-key': 'x' });
  assert.equal(keyed.status, 400);
  assert.equal(keyed.body.error.details.issues[0].path, 'headers.idempotency-key');
  assert.deepEqual(await outbox(), []);
});

test('the stored data has the bytes of JSON.stringify, whatever the name and the texts', async () => {
  const unit = fc.oneof(
    fc.constantFrom(
      '"',
      '\\',
      '/',
      '\u2028',
      '\u2029',
      '\u007f',
      '\u0085',
      '\ufeff',
      '🚀',
      "'",
      '{',
    ),
    fc.integer({ min: 1, max: 31 }).map((code) => String.fromCharCode(code)),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  );
  const text = fc
    .string({ unit, minLength: 1, maxLength: 40 })
    .filter((value) => value.isWellFormed() && !value.includes('\0'));
  await fc.assert(
    fc.asyncProperty(text, text, async (name, applicantHandle) => {
      await sql`update orgs set name = ${name} where id = ${acme.id}`.execute(database);
      const data = { ...application('bytes'), applicantHandle };
      const [result] = await publisher.publish([publication(data)]);
      assert.equal(result?.kind, 'published');
      const organization = { id: acme.id, slug: 'acme', name };
      assert.deepEqual(
        (await outbox()).map((stored) => stored.data),
        [JSON.stringify({ organizationId: acme.id, organization, application: data })],
      );
      await sql`delete from outbox`.execute(database);
    }),
  );
});
