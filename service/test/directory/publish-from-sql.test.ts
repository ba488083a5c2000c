import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { createValidator } from '../../src/contract/validate.ts';
import { openClient, sql, type Transaction } from '../../src/database/database.ts';
import { findAlliance } from '../../src/directory/alliances.ts';
import { findOrg } from '../../src/directory/orgs.ts';
import { publishEvent } from '../../src/directory/publish-in-groups.ts';
import { ingestPublished } from '../../src/directory/ingest-published.ts';
import {
  catalogue,
  listedEvents,
  publishableEvents,
  subscribableEvents,
  type EventName,
} from '../../src/events/catalogue.ts';
import { listRejected } from '../../src/events/published-events.ts';
import { dropOldSetAside, onSetAside, type SetAside } from '../../src/events/set-aside.ts';
import { createMetrics, type Metrics } from '../../src/runtime/metrics.ts';
import { createPing, createQueueReader } from '../../src/system/queue-state.ts';
import { openTestDatabase, testServer, toUrl } from '../support/database.ts';
import { put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { psql, withoutPsql } from '../support/psql.ts';
import { fanOutParked } from '../support/queue.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { runCommand } from '../support/run-command.ts';
import { makeKey, startTestService, testPublicUrl } from '../support/service.ts';

// A worker runs beside the first; in the second each step is taken by hand.
const service = await startTestService({ worker: true, env: loopbackAllowed });
const { database, connection } = await openTestDatabase();

for (const each of [service.database, database]) {
  await put(each, 'orgs', [
    { slug: 'acme', name: 'Acme' },
    { slug: 'hidden', name: 'Hidden', listed: false },
  ]);
  await put(each, 'alliances', [{ slug: 'league', name: 'League' }]);
}
const acme = (await findOrg(service.database, 'acme'))!;
const { key } = await makeKey(service, { bindTo: { kind: 'organization', id: acme.id } });
const receiver = await startReceiver();
await service.call('/webhooks', { method: 'POST', key, json: { url: receiver.url } });

/** The platform's own role, which is given the publisher's and nothing else. */
const platform = `orgdir_test_${randomUUID().replaceAll('-', '')}`;
await sql
  .raw(
    `create role ${platform}; grant orgdir_publisher to ${platform}; grant ${platform} to current_user`,
  )
  .execute(database);
after(async () => {
  // The test's own pools have ended by now.
  const client = openClient(testServer(), { applicationName: 'test' });
  await client.connect();
  await client.query(`drop role ${platform}`);
  await client.end();
});

function asPlatform<T>(act: (tx: Transaction) => Promise<T>): Promise<T> {
  return database.transaction().execute(async (tx) => {
    await sql.raw(`set local role ${platform}`).execute(tx);
    return act(tx);
  });
}

const submittedAt = '2026-11-20T12:00:00.000Z';
const application = (id: string) =>
  `{"id":"${id}","applicantHandle":"h","submittedAt":"${submittedAt}"}`;

async function publish(call: string): Promise<string> {
  const { rows } = await asPlatform((tx) =>
    sql.raw<{ id: string }>(`select orgdir.publish_event(${call}) as id`).execute(tx),
  );
  return rows[0]?.id ?? '';
}

const quote = (text: string) => `'${text.replaceAll("'", "''")}'`;
const take = () => ingestPublished(database, testPublicUrl);

async function events(...ids: string[]) {
  const { rows } = await sql<{ id: string; name: string; data: string }>`
    select id, name, data
    from (select id, name, data from events union all select id, name, data from outbox) e
    where id = any(${ids}::uuid[]) order by id
  `.execute(database);
  return rows;
}

test(
  'publish_event works in psql: committed events are sent, rolled-back ones are not',
  { skip: withoutPsql },
  async () => {
    const { code, stdout, stderr } = await psql(
      service.connection,
      `
    set role ${platform};
    begin;
    select orgdir.publish_event('application.created', '${application('rolled-back')}', 'acme');
    rollback;
    begin;
    select orgdir.publish_event('application.created', '${application('a-1')}', 'acme');
    savepoint s;
    select orgdir.publish_event('application.created', '${application('undone')}'::json, 'acme');
    rollback to savepoint s;
    select orgdir.publish_event(name => 'org.created', org_slug => 'acme');
    commit;
    `,
    );
    assert.equal(code, 0, stderr);
    const [, first, , second] = stdout.trim().split('\n');
    const received = await receiver.waitFor(2);
    const bodies = received.map(({ body }) => JSON.parse(String(body)) as Record<string, any>);
    const names = bodies.map(({ event }) => event as string).toSorted();
    assert.deepEqual(names, ['application.created', 'org.created']);
    const applied = bodies.find(({ event }) => event === 'application.created');
    assert.equal(applied?.['data'].application.id, 'a-1');
    assert.deepEqual(applied?.['data'].organization, { id: acme.id, slug: 'acme', name: 'Acme' });
    const announced = bodies.find(({ event }) => event === 'org.created');
    assert.equal(announced?.['data'].url, `${testPublicUrl}/api/v1/orgs/acme`);
    const pulled = await service.call('/events', { key });
    assert.deepEqual(
      pulled.body.data.map(({ id }: { id: string }) => id).toSorted(),
      [first, second].toSorted(),
      'the ids are those that the calls returned',
    );
  },
);

test('an invalid call of publish_event is rejected with the reason', async () => {
  const big = `repeat('x', 65537)`;
  for (const [call, message, hint] of [
    [
      `'nothing', '{}', 'acme'`,
      /there is no event 'nothing'/,
      /Name one of alliance\.created, application\.created/,
    ],
    [`null, '{}', 'acme'`, /there is no event null/, /Name one of/],
    [`'webhook.test', '{}'`, /there is no event 'webhook.test'/, /Name one of/],
    [
      `'system.maintenance.enabled', '{}'`,
      /comes only from what it tells of/,
      /leave the call out/,
    ],
    [`'chat.sync.completed'`, /comes only from what it tells of/, /leave the call out/],
    [
      `'org.created', '{"name":"Private"}', 'acme'`,
      /the data of org\.created is made by the service/,
      /Give null/,
    ],
    [`'org.created', null, 'hidden'`, /hidden is not listed, so it is not announced/, /List it/],
    [`'org.created'`, /org_slug is null/, /Give its slug/],
    [`'org.created', null, null, 'league'`, /alliance_slug does not go with it/, /give org_slug/],
    [`'alliance.created', '{}', null, 'league'`, /is made by the service/, /Give null/],
    [`'alliance.created', null, 'acme'`, /org_slug does not go with it/, /give alliance_slug/],
    [
      `'application.created', '{}', 'nobody'`,
      /there is no organisation 'nobody'/,
      /into the directory first/,
    ],
    [
      `'application.created', '{}', 'acme', 'league'`,
      /alliance_slug does not go with it/,
      /Leave it null/,
    ],
    [`'application.created', null, 'acme'`, /needs data/, /API reference/],
    [`'application.created', '{', 'acme'`, /data is not JSON/, /json_build_object/],
    [
      `'application.created', repeat('[', 65536), 'acme'`,
      /data is nested too deep/,
      /fewer levels/,
    ],
    [
      `'application.created', ${big}, 'acme'`,
      /data has 65537 bytes, and at most 65536/,
      /an address/,
    ],
    [
      `'resource.offer.created', '{}', null, 'nobody'`,
      /there is no alliance 'nobody'/,
      /into the directory first/,
    ],
  ] as const) {
    await assert.rejects(publish(call), (error: Error & { hint?: string }) => {
      assert.match(error.message, message);
      assert.match(error.hint ?? '', hint);
      return true;
    });
  }
  assert.deepEqual(await take(), { accepted: 0, rejected: [], more: false });
});

test('published data keeps its bytes, with ids and names around it', async () => {
  const given = `{ "title" : "\\u0041é😀\\/",\n "items":[{"unit":null,"quantity":123456789012.12345678901234567890,"name":"x"},{"quantity":1E2,"name":"y","unit":null}],"deadline":null,"organization":null,"id":"r-1"}`;
  const quoted = `'${given}'`;
  const ids = [
    await publish(`'resource.request.created', ${quoted}, null, 'league'`),
    await publish(`'resource.request.created', ${quoted}::json, alliance_slug => 'league'`),
    await publish(`'resource.request.created', ${quoted}::jsonb, alliance_slug => 'league'`),
  ];
  await take();
  const [text, json, jsonb] = await events(...ids);
  const { id } = (await findAlliance(database, 'league'))!;
  const expected = `{"allianceId":"${id}","alliance":{"id":"${id}","slug":"league","name":"League"},"request":${given}}`;
  assert.equal(text?.data, expected);
  assert.equal(json?.data, expected);
  assert.ok(jsonb?.data.includes('123456789012.12345678901234567890'), 'jsonb keeps numbers too');
  assert.deepEqual(JSON.parse(jsonb?.data ?? ''), JSON.parse(expected));
});

test('SQL and the command announce the same event', async () => {
  const id = await publish(`'org.created', null, 'acme'`);
  const other = await publish(`'alliance.created', null, null, 'league'`);
  const wanted = await database.transaction().execute(async (tx) => [
    await publishEvent(tx, {
      name: 'org.created',
      org: 'acme',
      alliance: null,
      data: null,
      publicUrl: testPublicUrl,
    }),
    await publishEvent(tx, {
      name: 'alliance.created',
      org: null,
      alliance: 'league',
      data: null,
      publicUrl: testPublicUrl,
    }),
  ]);
  await take();
  const fields = (ids: string[]) =>
    sql`select name, audience, org_id, alliance_id, data from outbox where id = any(${ids}::uuid[]) order by name`
      .execute(database)
      .then(({ rows }) => rows);
  assert.deepEqual(await fields([id, other]), await fields(wanted));
});

test('an invalid payload is rejected with its reason, blocks nothing, and is never sent', async () => {
  const bad = [
    [`{"id":"a"}`, /data\.applicantHandle is required; data\.submittedAt is required/],
    [application('x').replace('{', '{"secret":1,'), /data\.secret is not known here/],
    [application('x').replace('{', '{"__proto__":{},'), /data\.__proto__ is not known here/],
    [application('\\u0000'), /must not contain the character U\+0000/],
    [application('\\ud800'), /must be valid Unicode/],
    [application('x').replace('{', '{"id":{"private":1},'), /data names "id" twice in one object/],
    [application('x').replace('{', '{"i\\u0064":"y",'), /data names "id" twice in one object/],
    [`null`, /data must be object/],
    [`[]`, /data must be object/],
    [`${'['.repeat(1_000)}${']'.repeat(1_000)}`, /nested deeper/],
  ] as const;
  const since = new Date(Date.now() - 60_000);
  const ids: string[] = [];
  for (const [data] of bad) ids.push(await publish(`'application.created', '${data}', 'acme'`));
  const good = await publish(`'application.created', '${application('good')}', 'acme'`);
  const { accepted, rejected } = await take();
  assert.equal(accepted, 1);
  assert.deepEqual(
    rejected.map(({ id }) => id),
    ids,
  );
  for (const [index, [, reason]] of bad.entries())
    assert.match(rejected[index]?.reason ?? '', reason);
  await fanOutParked(database);
  assert.deepEqual(
    (await events(...ids, good)).map(({ id }) => id),
    [good],
  );
  const shown = await listRejected(database, { event: null, since, limit: 100 });
  assert.deepEqual(shown.map(({ id }) => id).toSorted(), ids.toSorted());
  assert.deepEqual(
    [shown[0]?.event, shown[0]?.org, shown[0]?.alliance],
    ['application.created', 'acme', null],
  );
  assert.deepEqual(
    await take(),
    { accepted: 0, rejected: [], more: false },
    'it is looked at once',
  );
  const env = { DATABASE_URL: toUrl(connection), SECRET_KEY: Buffer.alloc(32).toString('base64') };
  const { code, stdout, stderr } = await runCommand(['events', 'list', '--rejected'], env);
  assert.equal(code, 0, stderr);
  for (const { id, reason } of shown)
    assert.ok(
      stdout.includes(`${id}  application.created  acme`) && stdout.includes(reason),
      stdout,
    );
  assert.equal(await dropOldSetAside(database, 30), 0);
  assert.equal(await dropOldSetAside(database, 0), ids.length);
});

test('a long name that is cut within a character is reported', async () => {
  const name = `${'a'.repeat(79)}😀`;
  const long = '😀'.repeat(40);
  const fields = Array.from({ length: 20 }, (_, index) => `"x${index}${long}":1`).join(',');
  await publish(`'application.created', json_build_object(${quote(name)}, 1), 'acme'`);
  await publish(`'application.created', '{${fields}}', 'acme'`);
  await publish(`'application.created', '${application('after')}', 'acme'`);
  const { accepted, rejected } = await take();
  assert.deepEqual([accepted, rejected.length], [1, 2]);
  const shown = await listRejected(database, { event: null, since: new Date(0), limit: 2 });
  for (const { reason } of shown) {
    assert.match(reason, /is not known here|…$/);
    assert.ok(reason.isWellFormed() && reason.length <= 1_001);
  }
});

test('an entry that another session has locked waits alone', async () => {
  const [locked, free] = await Promise.all(
    ['locked', 'free'].map((id) =>
      publish(`'application.created', ${quote(application(id))}, 'acme'`),
    ),
  );
  await database.transaction().execute(async (tx) => {
    await sql`select from published_events where id = ${locked} for update`.execute(tx);
    await take();
    assert.deepEqual(
      (await events(locked ?? '', free ?? '')).map(({ id }) => id),
      [free],
    );
  });
  await take();
  assert.equal((await events(locked ?? '', free ?? '')).length, 2);
});

test('an event that cannot be stored is set aside alone', async () => {
  const condition = (column: string) => sql.raw(`check (${column} not like '%cursed%') not valid`);
  await sql`alter table outbox add constraint no_curse ${condition('data')}`.execute(database);
  try {
    const ids: string[] = [];
    for (const data of [
      application('first'),
      application('cursed'),
      application('second'),
      '{}',
      application('third'),
    ])
      ids.push(await publish(`'application.created', '${data}', 'acme'`));
    const aside: SetAside[] = [];
    const stop = onSetAside((row) => aside.push(row));
    const { accepted, rejected, more } = await take();
    stop();
    assert.deepEqual([accepted, more], [3, true]);
    assert.deepEqual(
      (await events(...ids)).map(({ id }) => id),
      [ids[0], ids[2], ids[4]],
    );
    assert.deepEqual(
      rejected.map(({ id }) => id),
      [ids[3]],
    );
    assert.match(rejected[0]?.reason ?? '', /is required/);
    assert.deepEqual(
      aside.map(({ stage, eventId }) => ({ stage, eventId })),
      [{ stage: 'intake', eventId: ids[1] }],
    );
    assert.deepEqual(await take(), { accepted: 0, rejected: [], more: false });
  } finally {
    await sql`alter table outbox drop constraint no_curse`.execute(database);
  }
});

test('a database error rejects nothing', async () => {
  const id = await publish(`'application.created', '${application('waits')}', 'acme'`);
  await sql`alter table outbox rename column data to gone`.execute(database);
  await assert.rejects(take(), /column "data" of relation "outbox" does not exist/);
  await sql`alter table outbox rename column gone to data`.execute(database);
  assert.equal((await take()).accepted, 1);
  assert.equal((await events(id)).length, 1);
});

test('metrics count waiting and rejected events', async () => {
  const figure = async (metrics: Metrics, name: string) =>
    Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await metrics.render())?.[1]);
  const metrics = createMetrics();
  metrics.queue(createQueueReader(database, 30), createPing(database));
  const before = await sql<{ count: number }>`
    select count(*) as count from outbox
  `.execute(database);
  await publish(`'application.created', '${application('waits')}', 'acme'`);
  const waiting = (before.rows[0]?.count ?? 0) + 1;
  assert.equal(await figure(metrics, 'orgdir_events_waiting'), waiting);
  assert.equal((await take()).accepted, 1);
  // In the service with a worker.
  await sql`select publish_event('application.created', '{}', 'acme')`.execute(service.database);
  await eventually(
    async () => (await figure(service.metrics, 'orgdir_events_rejected_total')) === 1,
  );
});

const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '',
    '__proto__',
    '\\u0000',
    '\\ud800',
    '"',
    '\u202e',
    "'; drop table orgs; --",
    '$1',
    '%s',
  ),
);
const applications = fc
  .record({ id: hostile, applicantHandle: hostile, submittedAt: fc.constant(submittedAt) })
  .map((fields) => JSON.stringify(fields));
const hostileCall = fc.record({
  name: fc.oneof(
    { weight: 6, arbitrary: fc.constant('application.created') },
    { weight: 3, arbitrary: fc.constantFrom(...subscribableEvents) },
    hostile,
  ),
  data: fc.oneof(
    { weight: 6, arbitrary: applications },
    fc.dictionary(hostile, fc.jsonValue()).map((fields) => JSON.stringify(fields)),
    fc.json(),
    hostile,
    fc.constant(null),
  ),
  slug: fc.oneof(
    { weight: 6, arbitrary: fc.constant('acme') },
    { weight: 2, arbitrary: fc.constantFrom('hidden', 'league', null) },
    hostile,
  ),
});

test('any input of publish_event is rejected or sent unchanged', async () => {
  const given = new Map<string, { name: string; data: string | null }>();
  await fc.assert(
    fc.asyncProperty(hostileCall, async ({ name, data, slug }) => {
      const isAlliance = slug === 'league';
      const call = sql<{ id: string }>`
        select orgdir.publish_event(${name}::text, ${data}::text, ${isAlliance ? null : slug}::text, ${isAlliance ? slug : null}::text) as id
      `;
      try {
        const { rows } = await asPlatform((tx) => call.execute(tx));
        given.set(rows[0]?.id ?? '', { name, data });
      } catch (error) {
        // What text itself cannot hold is refused by PostgreSQL; all else by the function.
        assert.match((error as Error).message, /^publish_event: |invalid byte sequence/);
      }
    }),
    { numRuns: 400 },
  );
  for (let taken = await take(); taken.accepted + taken.rejected.length > 0; taken = await take());
  const sent = await events(...given.keys());
  for (const { id, name, data } of sent) {
    const entry = catalogue[name as EventName];
    assert.ok(createValidator(entry.data)(JSON.parse(data), 'data').ok, data);
    const text = given.get(id)?.data ?? null;
    if (entry.inner === null) assert.equal(text, null);
    else assert.ok(data.endsWith(`,"${entry.inner}":${text}}`), data);
  }
  const rejected = await listRejected(database, { event: null, since: new Date(0), limit: 1_000 });
  const ended = [...sent, ...rejected].map(({ id }) => id).filter((id) => given.has(id));
  assert.deepEqual(ended.toSorted(), [...given.keys()].toSorted(), 'each ends as one of the two');
  assert.ok(
    sent.length >= 20 && rejected.length >= 20,
    `${sent.length} sent, ${rejected.length} rejected`,
  );
});

test('an event whose subject is unlisted or deleted before fan-out is not sent', async () => {
  await put(database, 'orgs', [
    { slug: 'brief', name: 'Brief' },
    { slug: 'shy', name: 'Shy' },
  ]);
  await publish(`'org.created', null, 'shy'`);
  await publish(`'org.created', null, 'brief'`);
  await publish(`'application.created', '${application('a')}', 'brief'`);
  await sql`update orgs set listed = false where slug = 'shy'`.execute(database);
  await sql`delete from orgs where slug = 'brief'`.execute(database);
  const { accepted, rejected } = await take();
  assert.equal(accepted, 0);
  assert.deepEqual(
    rejected.map(({ reason }) => reason),
    [
      'the subject was deleted, or is no longer listed',
      'the subject was deleted, or is no longer listed',
      'the organization was deleted',
    ],
  );
});

test('events of one transaction keep their order, even within a millisecond', async () => {
  const { rows } = await asPlatform((tx) =>
    sql
      .raw<{ id: string }>(
        `select orgdir.publish_event('application.created', '${application('in-order')}', 'acme') as id from generate_series(1, 200)`,
      )
      .execute(tx),
  );
  const ids = rows.map(({ id }) => id);
  assert.deepEqual(ids, ids.toSorted());
  for (const id of ids)
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-/);
  await eventually(async () => (await take()).accepted === 0);
  assert.equal((await events(...ids)).length, ids.length);
});

test('several workers create one event for each publication', async () => {
  const ids: string[] = [];
  for (let index = 0; index < 120; index += 1)
    ids.push(await publish(`'application.created', '${application(`n-${index}`)}', 'acme'`));
  let accepted = 0;
  await eventually(async () => {
    const taken = await Promise.all([take(), take(), take()]);
    accepted += taken.reduce((sum, each) => sum + each.accepted, 0);
    return accepted >= ids.length;
  });
  assert.equal(accepted, ids.length);
  assert.deepEqual(
    (await events(...ids)).map(({ id }) => id),
    ids.toSorted(),
  );
});

test('a publication that waited for days becomes an event, even if its partitions were dropped', async () => {
  const id = await publish(`'application.created', '${application('old')}', 'acme'`);
  const old = sql`clock_timestamp() - interval '40 days'`;
  const { rows } = await sql<{ id: string }>`
    update published_events set id = uuid_v7(${old}), created_at = ${old} where id = ${id} returning id
  `.execute(database);
  assert.equal((await take()).accepted, 1);
  assert.equal((await events(rows[0]?.id ?? '')).length, 1);
  assert.ok((await fanOutParked(database)).events >= 1);
});

test('the role of publishers may only call publish_event', async () => {
  const { rows: relations } = await sql<{ name: string; kind: string }>`
    select c.oid::regclass::text as name, c.relkind as kind from pg_class c
    where c.relnamespace = 'orgdir'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
      and case c.relkind when 'S' then has_sequence_privilege(${platform}, c.oid, 'usage, select, update')
        else has_table_privilege(${platform}, c.oid, 'select, insert, update, delete, truncate, references, trigger')
          or has_any_column_privilege(${platform}, c.oid, 'select, insert, update, references') end
  `.execute(database);
  assert.deepEqual(relations, []);
  const { rows: routines } = await sql<{ name: string }>`
    select p.oid::regprocedure::text as name from pg_proc p
    where p.pronamespace = 'orgdir'::regnamespace and has_function_privilege(${platform}, p.oid, 'execute')
    order by name
  `.execute(database);
  assert.deepEqual(
    routines.map(({ name }) => name),
    ['json', 'jsonb', 'text'].map((type) => `publish_event(text,${type},text,text)`),
  );
  for (const statement of [
    'select * from orgs',
    'select data from published_events',
    "insert into published_events (id, name, created_at) values (gen_random_uuid(), 'x', now())",
    'delete from audit_log',
    'select settle_privileges()',
    'select ensure_partitions(current_date, current_date)',
    'create table orgdir.mine ()',
    'drop function publish_event(text, jsonb, text, text)',
    "select nextval('event_positions')",
  ])
    await assert.rejects(
      asPlatform((tx) => sql.raw(statement).execute(tx)),
      /permission denied|must be owner/,
      statement,
    );
});

test("objects in the caller's search path cannot hijack publish_event", async () => {
  const id = await asPlatform(async (tx) => {
    await sql
      .raw(
        `create temp table orgs on commit drop as select gen_random_uuid() as id, 'acme' as slug, true as listed;
         create temp table event_kinds on commit drop as select 'application.created' as name;
         create function pg_temp.uuid_v7(timestamptz) returns uuid language sql as 'select null::uuid';
         set local search_path = pg_temp, pg_catalog`,
      )
      .execute(tx);
    const { rows } = await sql
      .raw<{ id: string }>(
        `select orgdir.publish_event('application.created', '${application('masked')}', 'acme') as id`,
      )
      .execute(tx);
    return rows[0]?.id ?? '';
  });
  await take();
  const [event] = await events(id);
  const { id: orgId } = (await findOrg(database, 'acme'))!;
  assert.equal(JSON.parse(event?.data ?? '').organizationId, orgId);
});

test('the check of published data adds no defaults', () => {
  for (const name of publishableEvents)
    assert.ok(!JSON.stringify(catalogue[name].data).includes('"default"'), name);
});

test('SQL and the catalogue know the same events', async () => {
  const { rows } = await sql<{ name: string; subject: string | null; supplied: boolean }>`
    select name, subject, supplied from event_kinds order by name
  `.execute(database);
  const announced: Record<string, string> = {
    'org.created': 'organization',
    'alliance.created': 'alliance',
  };
  assert.deepEqual(
    rows,
    listedEvents.toSorted().map((name) => {
      const { audience, inner } = catalogue[name];
      return {
        name,
        subject: inner === null ? (announced[name] ?? null) : audience,
        supplied: inner !== null,
      };
    }),
  );
});
