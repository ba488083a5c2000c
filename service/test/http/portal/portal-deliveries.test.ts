/** The portal's list of deliveries with its filters, redelivery of several, and charts. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setMember } from '../../../src/access/members.ts';
import { sql } from '../../../src/database/database.ts';
import { runningMax, waitingMax } from '../../../src/http/admission/caller-turns.ts';
import { testActor } from '../../support/actor.ts';
import { put } from '../../support/directory.ts';
import { eventually } from '../../support/eventually.ts';
import { signUp } from '../../support/portal.ts';
import { queueDrained } from '../../support/queue.ts';
import { loopbackAllowed, startReceiver } from '../../support/receiver.ts';
import { startTestService } from '../../support/service.ts';

const service = await startTestService({
  env: { ...loopbackAllowed, WEBHOOK_RETRY_BASE_MS: '1', WEBHOOK_RETRY_FACTOR: '1' },
  worker: true,
});
const { database } = service;
const owner = await signUp(service, 'owner@example.org');
const viewer = await signUp(service, 'viewer@example.org');
const { id: appId } = await post('/apps', { name: 'Announcer' });
await database
  .transaction()
  .execute((tx) => setMember(tx, testActor, { appId, email: viewer.email, role: 'viewer' }));
const path = `/apps/${appId}`;
/** Fails with 503 for one organisation, and for nothing once it is repaired. */
let broken = true;
const receiver = await startReceiver((response, { body }) =>
  response.writeHead(broken && body.includes('acme') ? 503 : 204).end(),
);
const good = await post(`${path}/webhooks`, {
  url: `${receiver.url}token`,
  description: 'Main',
  events: ['org.created'],
});
const silent = await startReceiver((response) => response.destroy());
const dead = await post(`${path}/webhooks`, {
  url: silent.url,
  events: ['alliance.created'],
});
await put(
  database,
  'orgs',
  [
    { slug: 'acme', name: 'Acme', description: 'Makes "anvils"' },
    { slug: 'zenith', name: 'Zenith' },
  ],
  { emitEvents: true },
);
await put(database, 'alliances', [{ slug: 'north', name: 'North' }], { emitEvents: true });
await queueDrained(database);

async function post(where: string, json: unknown) {
  const { status, body } = await owner.call(where, { method: 'POST', json });
  assert.ok(status < 300, JSON.stringify(body));
  return body.data;
}

async function list(query: Record<string, string> = {}, person = owner) {
  const { status, body } = await person.call(
    `${path}/deliveries?${new URLSearchParams(query).toString()}`,
  );
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

/** The slugs of the subjects, newest delivery first. */
async function find(query: Record<string, string>, person = owner): Promise<(string | null)[]> {
  const { data, pagination, searched } = await list(query, person);
  assert.equal(pagination.total, data.length);
  if (searched) assert.equal(searched.complete, true);
  return data.map(({ subject }: any) => subject?.slug ?? null);
}

test('the list has the last attempt, the subject and the webhook of each delivery', async () => {
  const { data, pagination, searched } = await list();
  assert.deepEqual([pagination.total, searched], [3, null]);
  const acme = data.find(({ subject }: any) => subject.slug === 'acme');
  assert.deepEqual(acme.subject, { kind: 'organization', slug: 'acme', name: 'Acme' });
  assert.deepEqual(acme.webhook, { url: good.url, description: 'Main' });
  assert.deepEqual(
    [acme.status, acme.attemptCount, acme.lastAttempt.statusCode, acme.lastAttempt.error],
    ['failed', 6, 503, null],
  );
  const north = data.find(({ subject }: any) => subject.slug === 'north');
  assert.deepEqual(
    [north.subject.kind, north.lastAttempt.statusCode, north.lastAttempt.error],
    ['alliance', null, 'reset'],
  );
});

const hourAgo = () => new Date(Date.now() - 3_600_000).toISOString();
for (const [query, expected] of [
  [{ response: '503' }, ['acme']],
  [{ response: '5xx' }, ['acme']],
  [{ response: '2xx' }, ['zenith']],
  [{ response: '204' }, ['zenith']],
  [{ response: '404' }, []],
  [{ response: 'none' }, ['north']],
  [{ error: 'reset' }, ['north']],
  [{ error: 'timeout' }, []],
  [{ subject: 'acme' }, ['acme']],
  [{ subject: 'north' }, ['north']],
  [{ subject: 'nobody' }, []],
  [{ search: 'ANVILS' }, ['acme']],
  [{ search: '\\"anvils\\"' }, ['acme']],
  [{ search: '100%' }, []],
  [{ status: 'failed', subject: 'zenith' }, []],
  [{ status: 'failed', webhookId: good.id }, ['acme']],
  [{ webhookId: dead.id }, ['north']],
  [{ since: hourAgo(), response: '5xx' }, ['acme']],
  [{ until: hourAgo() }, []],
] as [Record<string, string>, string[]][])
  test(`${JSON.stringify(Object.keys(query))} finds ${JSON.stringify(expected)} (${Object.values(query).join(', ')})`, async () => {
    assert.deepEqual(await find(query), expected);
  });

test('a time range in the future, or that ends before it begins, is refused', async () => {
  const [earlier, later] = [hourAgo(), new Date(Date.now() + 3_600_000).toISOString()];
  for (const [query, message] of [
    [`deliveries?since=${later}`, 'query.since: must not be in the future'],
    [
      `deliveries?since=${new Date().toISOString()}&until=${earlier}`,
      'query.until: must not be before since',
    ],
    [`webhooks/${good.id}/recoverable?since=${later}`, 'query.since: must not be in the future'],
  ]) {
    const { status, body } = await owner.call(`${path}/${query}`);
    assert.deepEqual([status, body.error.message], [400, message]);
  }
});

test('deliveries are found by their id and by that of their event', async () => {
  for (const person of [owner, viewer])
    for (const { id, eventId, subject } of (await list()).data)
      for (const search of [id, eventId, id.toUpperCase()])
        assert.deepEqual(await find({ search }, person), [subject.slug]);
  assert.deepEqual(await find({ search: randomUUID() }), []);
  assert.deepEqual(await find({ search: '00000000-0000-0000-0000-000000000000' }), []);
});

test('a search reads a bounded number of deliveries and says so', async () => {
  const webhook = await post(`${path}/webhooks`, {
    url: 'https://example.org/',
    events: ['alliance.created'],
  });
  await sql`
    insert into deliveries (id, event_id, event, webhook_id, status, attempt_count, created_at)
    select uuid_v7(now() - n * interval '1 millisecond'), uuid_v7(), 'alliance.created', ${webhook.id}, 'failed', 1, now()
    from generate_series(1, 10001) n
  `.execute(database);
  const webhookId = webhook.id;
  const { pagination, searched } = await list({ webhookId, response: '5xx' });
  assert.equal(pagination.total, 0);
  assert.deepEqual(searched, { deliveries: 10_000, complete: false });
  assert.equal((await list({ webhookId })).pagination.total, 10_001);
  await sql`delete from deliveries where webhook_id = ${webhookId}`.execute(database);
});

for (const [what, status, search, days] of [
  ['a search', 'succeeded', () => ({ subject: 'north' }), [0, 3]],
  ['a search for failures', 'failed', () => ({ response: '5xx' }), [0, 3]],
  ['a search for an id', 'succeeded', (id: string) => ({ search: id }), [3, 0]],
] as const)
  test(`${what} reads no day beyond the deliveries that it may search`, async () => {
    const { id: webhookId } = await post(`${path}/webhooks`, {
      url: 'https://example.org/',
      events: ['alliance.created'],
    });
    await sql`select ensure_partitions(current_date - 4, current_date)`.execute(database);
    const [near, far] = days.map((ago) => sql`now() - interval '1 day' * ${ago}::int`);
    await sql`
      insert into deliveries (id, event_id, event, webhook_id, status, attempt_count, created_at)
      select uuid_v7(at), uuid_v7(at), 'alliance.created', ${webhookId}, ${status}, 1, at
      from (
        select ${near} - n * interval '1 millisecond' as at from generate_series(1, 10001) n union all select ${far}
      ) t
    `.execute(database);
    const { rows } = await sql<{ event: string; day: string }>`
      select (array_agg(event_id order by id))[${days[0] < days[1] ? 1 : 2}::int] as event, to_char(${far}, 'YYYYMMDD') as day
      from deliveries where webhook_id = ${webhookId}
    `.execute(database);
    const [{ event, day } = assert.fail()] = rows;
    const query = { webhookId, ...search(event) };
    await database.transaction().execute(async (tx) => {
      await sql`lock ${sql.table(`deliveries_${day}`)}`.execute(tx);
      const { searched } = await list(query);
      assert.deepEqual(searched, { deliveries: 10_000, complete: false });
    });
    const all = days[0] < days[1] ? { until: hourAgo() } : { since: hourAgo() };
    const { searched } = await list({ ...query, ...all });
    assert.deepEqual(searched, { deliveries: 1, complete: true });
    await sql`delete from deliveries where webhook_id = ${webhookId}`.execute(database);
  });

test('a search for a subject decides about its own events only, which takes long for each', async () => {
  await sql`create sequence decisions`.execute(database);
  await sql`alter function app_may_receive rename to decide`.execute(database);
  await sql`
    create function app_may_receive(text, uuid, uuid, timestamptz, uuid) returns boolean language sql
    as 'select nextval(''decisions'') > 0 and decide($1, $2, $3, $4, $5)'
  `.execute(database);
  assert.deepEqual(await find({ subject: 'nobody' }), []);
  const { rows } = await sql`select is_called from decisions`.execute(database);
  assert.deepEqual(rows, [{ is_called: false }]);
  await sql`drop function app_may_receive`.execute(database);
  await sql`alter function decide rename to app_may_receive`.execute(database);
});

test('a viewer sees no paths of URLs and cannot search bodies', async () => {
  const { data } = await list({}, viewer);
  assert.ok(!JSON.stringify(data).includes('token'));
  assert.equal((await viewer.call(`${path}/deliveries?search=anvils`)).status, 403);
});

test('another app sees and resends none of it', async () => {
  const stranger = await signUp(service, 'stranger@example.org');
  const { body } = await stranger.call('/apps', { method: 'POST', json: { name: 'Other' } });
  const other = `/apps/${body.data.id}`;
  const { data } = await list();
  assert.deepEqual((await stranger.call(`${other}/deliveries`)).body.data, []);
  for (const query of [`deliveries?webhookId=${good.id}`, `delivery-stats?webhookId=${good.id}`])
    assert.equal((await stranger.call(`${other}/${query}`)).status, 404);
  const found = await stranger.call(`${other}/deliveries?search=${data[0].id}`);
  assert.equal(found.body.pagination.total, 0);
  const resent = await stranger.call(`${other}/deliveries/redeliver`, {
    method: 'POST',
    json: { deliveryIds: [data[0].id] },
  });
  assert.deepEqual(resent.body.data, [
    { deliveryId: data[0].id, redelivered: false, reason: 'There is no such delivery.' },
  ]);
});

test('the subject of an event that the app may no longer receive is hidden', async () => {
  await put(database, 'orgs', [{ slug: 'acme', name: 'Acme', listed: false }]);
  assert.deepEqual(await find({ status: 'failed', webhookId: good.id }), [null]);
  assert.deepEqual(await find({ subject: 'acme' }), []);
  assert.deepEqual(await find({ search: 'acme' }), []);
  await put(database, 'orgs', [{ slug: 'acme', name: 'Acme', listed: true }]);
});

test('charts count first outcomes, and a redelivery of several does not change them', async () => {
  const read = async (query = '') =>
    (await owner.call(`${path}/delivery-stats?${query}`)).body.data;
  const outcomes = ({ succeeded, failed, cancelled, pending }: Record<string, number>) => [
    succeeded,
    failed,
    cancelled,
    pending,
  ];
  const day = await read();
  assert.deepEqual([day.periods.length, day.periodHours], [24, 1]);
  assert.deepEqual(outcomes(day.total), [1, 2, 0, 0]);
  assert.ok(day.total.latencyP50Ms >= 1 && day.total.latencyP95Ms >= day.total.latencyP50Ms);
  const week = await read('range=week');
  assert.deepEqual([week.periods.length, week.periodHours], [28, 6]);
  assert.deepEqual(outcomes(week.total), [1, 2, 0, 0]);
  const hour = await read('range=hour');
  assert.deepEqual([hour.periods.length, hour.periodHours], [60, 1 / 60]);
  assert.deepEqual(outcomes(hour.total), [1, 2, 0, 0]);
  assert.equal(hour.total.latencyP50Ms, day.total.latencyP50Ms);
  const { rows: byMinute } = await sql<{ start: Date; count: number }>`
    select date_trunc('minute', created_at) as start, count(*)::int from deliveries
    where webhook_id in (${good.id}, ${dead.id})
    group by 1 order by 1
  `.execute(database);
  assert.deepEqual(
    (hour.periods as ({ start: string } & Record<string, number>)[])
      .filter((period) => outcomes(period).some((count) => count! > 0))
      .map((period) => ({
        start: new Date(period.start),
        count: outcomes(period).reduce((sum: number, count) => sum + count!, 0),
      })),
    byMinute,
  );
  const ofDead = await read(`webhookId=${dead.id}`);
  assert.deepEqual(outcomes(ofDead.total), [0, 1, 0, 0]);
  assert.equal(ofDead.total.latencyP50Ms, null);
  // Each webhook has the same numbers, and each hour is there, also without deliveries.
  const each = (await owner.call(`${path}/webhook-stats`)).body.data as {
    webhookId: string;
    total: Record<string, number>;
    hours: { succeeded: number; failed: number }[];
  }[];
  const statsOf = (id: string) => each.find(({ webhookId }) => webhookId === id);
  assert.deepEqual(statsOf(dead.id)?.total, ofDead.total);
  assert.deepEqual(statsOf(good.id)?.total, (await read(`webhookId=${good.id}`)).total);
  const hours = statsOf(dead.id)?.hours ?? [];
  assert.equal(hours.length, 24);
  assert.equal(
    hours.reduce((sum, { failed }) => sum + failed, 0),
    1,
  );

  broken = false;
  await owner.call(`${path}/webhooks/${dead.id}`, { method: 'PATCH', json: { active: false } });
  const acme = (await list({ subject: 'acme' })).data[0].id;
  const north = (await list({ subject: 'north' })).data[0].id;
  const missing = randomUUID();
  assert.deepEqual(
    await post(`${path}/deliveries/redeliver`, { deliveryIds: [north, acme, missing] }),
    [
      {
        deliveryId: north,
        redelivered: false,
        reason: 'The webhook is deactivated. Activate it first.',
      },
      { deliveryId: acme, redelivered: true, reason: null },
      { deliveryId: missing, redelivered: false, reason: 'There is no such delivery.' },
    ],
  );
  const suspension = sql`insert into suspensions (webhook_id, reason) values (${dead.id}, 'Spam.')`;
  await suspension.execute(database);
  const [refused] = await post(`${path}/deliveries/redeliver`, { deliveryIds: [north] });
  assert.equal(refused.reason, 'The operator has suspended the webhook: Spam.');
  await queueDrained(database);
  assert.deepEqual((await find({ status: 'succeeded' })).toSorted(), ['acme', 'zenith']);
  assert.deepEqual(outcomes((await read()).total), [1, 2, 0, 0]);
  const last = (await read('range=hour')).total;
  assert.deepEqual(outcomes(last), [2, 1, 0, 0], 'the last hour counts how each ended last');
  assert.equal(last.latencyP50Ms, day.total.latencyP50Ms, 'of those that were not sent again');
});

test('deliveries are found by a former slug of their subject, unless it is from before it was listed', async () => {
  await put(database, 'orgs', [{ slug: 'unannounced', name: 'Later', listed: false }]);
  await sql`update orgs set slug = 'later' where slug = 'unannounced'`.execute(database);
  await put(database, 'orgs', [{ slug: 'later', name: 'Later' }], { emitEvents: true });
  await queueDrained(database);
  await sql`update orgs set slug = 'latest' where slug = 'later'`.execute(database);
  await sql`update alliances set slug = 'upper-north' where slug = 'north'`.execute(database);
  for (const [subject, expected] of [
    ['latest', ['latest']],
    ['later', ['latest']],
    ['unannounced', []],
    ['north', ['upper-north']],
  ] as const)
    assert.deepEqual(await find({ subject }), expected, subject);
});

test('whoever searches and counts without end keeps nobody else from it', async () => {
  const since = new Date(Date.now() - 60_000).toISOString();
  for (const read of [
    `${path}/deliveries?subject=acme`,
    `${path}/webhooks/${good.id}/recoverable?since=${since}`,
  ]) {
    // As if there were very much to read.
    const unlock = await lockDeliveries();
    const answers = Array.from({ length: 40 }, () => owner.call(read));
    assert.equal((await Promise.race(answers)).status, 503, 'who has many that wait gets no more');
    const other = viewer.call(read);
    await eventually(async () => (await countWaiting()) >= 2);
    await unlock();
    assert.equal((await other).status, 200);
    await Promise.all(answers);
  }
});

test('however many requests of one account wait for the database, those of others are served', async () => {
  const unlock = await lockDeliveries();
  const answers = Array.from({ length: runningMax + waitingMax + 10 }, () =>
    owner.call(`${path}/deliveries`),
  );
  const ended: Awaited<(typeof answers)[number]>[] = [];
  for (const answer of answers) void answer.then((each) => ended.push(each));
  await eventually(async () => ended.length === 10);
  for (const { status, headers } of ended)
    assert.deepEqual([status, headers.get('retry-after')], [429, '1']);
  // While the others of the owner wait.
  assert.equal((await viewer.call(`${path}/members`)).status, 200);
  await unlock();
  const statuses = Map.groupBy(await Promise.all(answers), ({ status }) => status);
  assert.equal(statuses.get(200)?.length, runningMax + waitingMax);
});

async function lockDeliveries(): Promise<() => Promise<void>> {
  const [locked, freed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const done = database.transaction().execute(async (tx) => {
    await sql`lock table deliveries in access exclusive mode`.execute(tx);
    locked.resolve();
    await freed.promise;
  });
  await locked.promise;
  return () => {
    freed.resolve();
    return done;
  };
}

async function countWaiting(): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query ~ 'of_hour|candidates|"deliveryId"'
  `.execute(database);
  return rows[0]?.count ?? 0;
}
