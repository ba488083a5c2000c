/** What `GET /events` gives away of events that an app may not have: nothing, in any response, and no time. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { sql, type Database } from '../../src/database/database.ts';
import { publishEvent } from '../../src/directory/publish-in-groups.ts';
import { findOrg } from '../../src/directory/orgs.ts';
import { createCursors } from '../../src/events/cursors.ts';
import { pullEvents, readEvents } from '../../src/events/pull-events.ts';
import { openTestDatabase, toUrl } from '../support/database.ts';
import { put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { fanOutParked } from '../support/queue.ts';
import { makeKey, startTestService, testPublicUrl } from '../support/service.ts';
import { startProcess } from '../support/start-process.ts';

const publish = (database: Database, name: string, org: string, data: unknown = null) =>
  database
    .transaction()
    .execute((tx) =>
      publishEvent(tx, { name, org, alliance: null, data, publicUrl: testPublicUrl }),
    );
const application = {
  id: 'a-1',
  applicantHandle: 'h',
  submittedAt: '2026-11-20T12:00:00.000Z',
};

test('a cursor has a fixed length, is the same bytes every time, and belongs to one app and one key', () => {
  const [one, other] = [randomBytes(32), randomBytes(32)];
  const [app, otherApp] = [randomUUID(), randomUUID()];
  const cursors = createCursors([one]);
  const positions = [0, 1, 2, 255, 256, 1e9, Number.MAX_SAFE_INTEGER];
  const made = positions.map((position) => cursors.encode(app, position));
  assert.deepEqual([...new Set(made.map(({ length }) => length))], [32]);
  assert.equal(new Set(made).size, positions.length);
  assert.deepEqual(
    made,
    positions.map((position) => createCursors([one, other]).encode(app, position)),
  );
  assert.deepEqual(
    made.map((cursor) => createCursors([other, one]).decode(app, cursor)),
    positions,
  );
  for (const cursor of made) {
    assert.equal(createCursors([other]).decode(app, cursor), null);
    assert.equal(cursors.decode(otherApp, cursor), null);
    for (let bit = 0; bit < 24 * 8; bit += 1) {
      const bytes = Buffer.from(cursor, 'base64url');
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      assert.equal(cursors.decode(app, bytes.toString('base64url')), null);
    }
  }
});

test('a cursor stays valid while SECRET_KEY contains its key, and then says how to go on', async () => {
  const service = await startTestService();
  const { database, connection, secretKeys, key } = service;
  await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
  const ids = [await publish(database, 'org.created', 'acme')];
  ids.push(await publish(database, 'org.created', 'acme'));
  await fanOutParked(database);
  const rotated = (keys: Buffer[]) =>
    startTestService({ beside: { database, connection, secretKeys: keys } });
  const newest = randomBytes(32);
  const [same, both, without] = [
    await rotated(secretKeys),
    await rotated([newest, ...secretKeys]),
    await rotated([newest]),
  ];

  const first = await service.call('/events?limit=1');
  const { nextCursor } = first.body.pagination;
  assert.equal((await same.call('/events?limit=1', { key })).text, first.text);
  const second = await both.call(`/events?after=${nextCursor}`, { key });
  assert.deepEqual([second.body.data[0].id, second.body.pagination.hasMore], [ids[1], false]);
  const refused = await without.call(`/events?after=${nextCursor}`, { key });
  assert.equal(refused.status, 400);
  const [{ path, message }] = refused.body.error.details.issues;
  assert.equal(path, 'query.after');
  assert.match(message, /start again without after, and skip the events whose ids you know/);
  // Of the release before.
  const old = Buffer.from('1:1').toString('base64url');
  assert.equal((await service.call(`/events?after=${old}`)).text, refused.text);
  const foreign = await makeKey(service);
  assert.equal(
    (await service.call(`/events?after=${nextCursor}`, { key: foreign.key })).status,
    400,
  );
});

/** All responses that an unbound app gets, in the order of its requests. */
async function run(privateEvents: number): Promise<string[]> {
  const opened = await openTestDatabase();
  const { database, connection } = opened;
  const env = {
    DATABASE_URL: toUrl(connection),
    SECRET_KEY: randomBytes(32).toString('base64'),
    PUBLIC_URL: testPublicUrl,
    WORKERS: '2',
  };
  await put(database, 'orgs', [
    { slug: 'acme', name: 'Acme' },
    { slug: 'shy', name: 'Shy' },
  ]);
  const { key } = await makeKey(opened);
  const numbers = new Map<string, number>();
  const responses: string[] = [];
  let after: string | null = null;
  let etag = '';

  /** Reads to the end as a client does, then asks again. */
  async function poll(url: string): Promise<void> {
    for (let more = true; more;) {
      const query: string = after === null ? '' : `&after=${after}`;
      const response = await fetch(`${url}/api/v1/events?limit=2${query}`, {
        headers: {
          authorization: `Bearer ${key}`,
          ...(etag === '' ? {} : { 'if-none-match': etag }),
        },
      });
      const text = await response.text();
      responses.push(normalise(response, text));
      etag = response.headers.get('etag') ?? '';
      if (response.status === 304) return;
      const { pagination } = JSON.parse(text) as {
        pagination: { nextCursor: string | null; hasMore: boolean };
      };
      after = pagination.nextCursor;
      more = pagination.hasMore;
    }
  }

  /** Ids, times, cursors and tags become the number of their first appearance. */
  function normalise(response: Response, text: string): string {
    const varies = new Set(['date', 'x-request-id', 'x-ratelimit-remaining', 'x-ratelimit-reset']);
    const headers = [...response.headers].filter(([name]) => !varies.has(name));
    const numbered = (found: string) => {
      if (!numbers.has(found)) numbers.set(found, numbers.size);
      return `#${numbers.get(found)}`;
    };
    return JSON.stringify({ status: response.status, headers, text })
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, numbered)
      .replaceAll(/(?<=nextCursor\\":\\")[\w-]+/g, numbered)
      .replaceAll(/(?<=\["etag",")(\\"|[^"])+/g, numbered);
  }

  const distributed = () =>
    eventually(async () => {
      const { rows } = await sql<{ done: boolean }>`
        select not exists (select from outbox) as done
      `.execute(database);
      return rows[0]?.done;
    });
  async function addPrivate(): Promise<void> {
    await put(database, 'orgs', [{ slug: 'shy', name: 'Shy', listed: true }]);
    for (let count = 0; count < privateEvents / 8; count += 1) {
      await publish(database, 'application.created', 'acme', application);
      await publish(database, 'org.created', 'shy');
    }
    await distributed();
    await put(database, 'orgs', [{ slug: 'shy', name: 'Shy', listed: false }]);
  }

  const worker = await startProcess('worker', env);
  let api = await startProcess('api', env);
  for (const restart of [false, true]) {
    await addPrivate();
    await poll(api.url);
    for (let count = 0; count < 3; count += 1) await publish(database, 'org.created', 'acme');
    await addPrivate();
    await poll(api.url);
    if (restart) break;
    api.command.signal('SIGTERM');
    await api.command.ended;
    api = await startProcess('api', env);
    await poll(api.url);
  }
  for (const { command } of [api, worker]) {
    command.signal('SIGTERM');
    await command.ended;
  }
  const { rows } = await sql<{ count: number }>`
    select count(*) from events where position is not null
  `.execute(database);
  assert.equal(rows[0]?.count, privateEvents + 6);
  return responses;
}

test('with 0 and with 1,000 private events an unbound app gets the same responses', async () => {
  const [none, many] = [await run(0), await run(1_000)];
  assert.deepEqual(many, none);
  assert.ok(none.length >= 7 && none.some((response) => response.includes('"status":304')));
});

test('reading on reads no more rows with thousands of events behind the cursor that the app may not have', async () => {
  const service = await startTestService();
  const { database, appId } = service;
  await put(database, 'orgs', [
    { slug: 'acme', name: 'Acme' },
    { slug: 'shy', name: 'Shy' },
  ]);
  const [acme, shy] = [await findOrg(database, 'acme'), await findOrg(database, 'shy')];
  await publish(database, 'org.created', 'acme');
  await fanOutParked(database);
  const cursors = createCursors(service.secretKeys);

  /** Rows of events that a page reads, and the names of the events that it has. */
  const read = (app: string, limit = 100) =>
    database.transaction().execute(async (tx) => {
      const count = async () =>
        (
          await sql<{ rows: number }>`
            select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::int8 as rows
            from pg_stat_xact_all_tables where schemaname = 'orgdir' and relname like 'events%'
          `.execute(tx)
        ).rows[0]?.rows ?? 0;
      const before = await count();
      const { events } = await pullEvents(tx, cursors, app, {
        after: null,
        limit,
        event: null,
        webhookId: null,
      });
      return { rows: (await count()) - before, names: events.map(({ event }) => event) };
    });
  assert.deepEqual((await read(appId)).names, ['org.created']);

  const many = 10_000;
  await sql`
    insert into events (id, name, audience, org_id, data, position)
    select uuid_v7(), name, audience, org_id, '{}', nextval('event_positions')
    from generate_series(1, ${many}::int), (values
      ('application.created', 'organization', ${acme?.id}::uuid), ('org.created', 'global', ${shy?.id}::uuid)
    ) as e(name, audience, org_id)
  `.execute(database);
  await put(database, 'orgs', [{ slug: 'shy', name: 'Shy', listed: false }]);
  // And as many while it was unlisted already.
  await sql`
    insert into events (id, name, audience, org_id, data, position)
    select uuid_v7(), 'org.created', 'global', ${shy?.id}::uuid, '{}', nextval('event_positions')
    from generate_series(1, ${many}::int)
  `.execute(database);
  // They happened before this app was bound.
  const bound = await makeKey(service, { bindTo: { kind: 'organization', id: acme?.id ?? '' } });
  await publish(database, 'application.created', 'acme', application);
  await publish(database, 'org.created', 'acme');
  await fanOutParked(database);
  for (const analysed of [false, true]) {
    if (analysed) await sql`analyze events`.execute(database);
    const [unbound, ofBound] = [await read(appId), await read(bound.appId)];
    assert.deepEqual(unbound.names, ['org.created', 'org.created']);
    assert.deepEqual(ofBound.names, ['org.created', 'application.created', 'org.created']);
    // PostgreSQL may read partitions of a few rows as a whole.
    assert.ok(unbound.rows + ofBound.rows < many / 100, `${unbound.rows}, ${ofBound.rows}`);
  }
  // Nor does a page read more of those that it leaves for the next.
  await sql`
    insert into events (id, name, audience, data, position)
    select uuid_v7(), 'alliance.created', 'global', '{}', nextval('event_positions') from generate_series(1, ${many}::int)
  `.execute(database);
  await sql`analyze events`.execute(database);
  const { rows, names } = await read(bound.appId, 5);
  assert.equal(names.length, 5);
  assert.ok(rows < many / 100, `${rows}`);
});

test('a page of events reads no more of them than it has, whatever the history', async () => {
  const { database } = await openTestDatabase();
  const [days, perDay, limit] = [40, 200, 100];
  await sql`select ensure_partitions(current_date - ${days}::int, current_date)`.execute(database);
  await sql`
    insert into events (id, name, audience, data, created_at, position)
    select uuid_v7(at), 'alliance.created', 'global', '{}', at, nextval('event_positions')
    from (
      select now() - n * interval '1 day' / ${perDay}::int as at from generate_series(${days * perDay}::int, 1, -1) n
    ) t
  `.execute(database);
  await sql`analyze events`.execute(database);
  await database.transaction().execute(async (tx) => {
    const page = { start: 0, limit, event: null, webhookId: null };
    for (const newest of [false, true]) {
      const { events } = await readEvents(tx, randomUUID(), { ...page, newest });
      assert.equal(events.length, limit);
    }
    const { rows } = await sql<{ read: number }>`
      select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int8 as read
      from pg_stat_xact_user_tables where relname like 'events\\_2%'
    `.execute(tx);
    const read = rows[0]?.read ?? assert.fail();
    // Each day may have to show its first.
    assert.ok(read < 2 * (limit + days + 10), `${read}`);
  });
});
