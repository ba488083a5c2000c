/** Tests webhooks with filters over HTTP and in the queue: what they are sent, and what becomes of the rest. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { v7 as uuidv7 } from 'uuid';
import { setMember } from '../../../src/access/members.ts';
import { sql } from '../../../src/database/database.ts';
import { issuesMax } from '../../../src/contract/validate.ts';
import { apiProcessLock } from '../../../src/database/revisions.ts';
import { findAlliance } from '../../../src/directory/alliances.ts';
import { findOrg } from '../../../src/directory/orgs.ts';
import { publishEvent } from '../../../src/directory/publish-in-groups.ts';
import { EventFeed, filtersMax } from '../../../src/events/event-feed.ts';
import { previewedMax } from '../../../src/http/portal/webhooks.ts';
import { compileFilters } from '../../../src/webhooks/filters/compile-filters.ts';
import { leaveWorkers } from '../../../src/webhooks/queue/workers.ts';
import { advanceBroadcast, sliceMax } from '../../../src/webhooks/queue/fan-out/fan-out.ts';
import { testActor } from '../../support/actor.ts';
import { put } from '../../support/directory.ts';
import { openStream } from '../../support/event-stream.ts';
import { eventually } from '../../support/eventually.ts';
import { signUp } from '../../support/portal.ts';
import { fanOutWith, newLease, room } from '../../support/queue-steps.ts';
import { makeKey, startTestService, testPublicUrl } from '../../support/service.ts';

const service = await startTestService();
const { database } = service;
await put(database, 'orgs', [
  { slug: 'acme', name: 'Acme', recruiting: true },
  { slug: 'globex', name: 'Globex', recruiting: false },
]);
const acme = { kind: 'organization', id: (await findOrg(database, 'acme'))!.id } as const;
await put(database, 'alliances', [{ slug: 'north', name: 'North' }]);
const alliance = { kind: 'alliance', id: (await findAlliance(database, 'north'))!.id } as const;
const recruiting = { 'org.created': { recruiting: true } };

async function makeWebhook(json: object = { filters: recruiting }, key?: string) {
  const made = key === undefined ? await makeKey(service) : { key };
  const { status, body } = await create(json, made.key);
  assert.equal(status, 201, JSON.stringify(body));
  return { ...made, id: body.data.id as string, made: body.data };
}

const create = (json: object, key = service.key, headers = {}) =>
  service.call('/webhooks', {
    method: 'POST',
    key,
    headers,
    json: { url: 'https://example.org/', ...json },
  });
const patch = ({ id, key }: { id: string; key: string }, json: object) =>
  service.call(`/webhooks/${id}`, { method: 'PATCH', key, json });
const explain = async ({ id, key }: { id: string; key: string }, eventId: string) =>
  (await service.call(`/webhooks/${id}/explain/${eventId}`, { key })).body.data;

async function publish(org: string, name = 'org.created', data: object | null = null) {
  const event = { name, org, alliance: null, data, publicUrl: testPublicUrl };
  return database.transaction().execute((tx) => publishEvent(tx, event));
}

async function clear(): Promise<void> {
  for (const table of ['pending_deliveries', 'broadcasts', 'outbox', 'webhooks'])
    await sql`delete from ${sql.table(table)}`.execute(database);
}

async function deliveries(): Promise<[webhook: string, event: string][]> {
  const { rows } = await sql<{ webhook: string; event: string }>`
    select webhook_id as webhook, event_id as event from pending_deliveries order by webhook_id, event_id
  `.execute(database);
  return rows.map(({ webhook, event }) => [webhook, event]);
}

test('of thousands of unknown events, as many faults are named as of other input', async () => {
  const filters = Object.fromEntries(
    Array.from({ length: 3_000 }, (_, index) => [`e${index}`, {}]),
  );
  const { status, body } = await create({ filters });
  assert.equal(status, 400);
  assert.equal(body.error.details.issues.length, issuesMax);
  assert.equal(body.error.details.issues[0].path, 'body.filters.e0');
});

test('an event that does not match costs no delivery, is explained, and is not replayed', async () => {
  await clear();
  const webhook = await makeWebhook();
  assert.deepEqual(webhook.made.filters, recruiting);
  const [wanted, other] = [await publish('acme'), await publish('globex')];
  const done = await fanOutWith(database);
  assert.deepEqual([done.events, done.deliveries], [2, 1]);
  assert.deepEqual(await deliveries(), [[webhook.id, wanted]]);

  const kept = await explain(webhook, other);
  assert.deepEqual([kept.result, kept.checks.passed], ['not_sent', false]);
  assert.match(kept.message, /filter of org\.created did not let the event pass/);
  const sent = await explain(webhook, wanted);
  assert.deepEqual([sent.result, sent.checks.passed], ['delivered', true]);

  // Later filters change nothing of what was.
  assert.equal((await patch(webhook, { filters: null })).body.data.filters, null);
  assert.equal((await explain(webhook, other)).checks.passed, false);
  const { body } = await service.call(`/webhooks/${webhook.id}/replay`, {
    method: 'POST',
    key: webhook.key,
    json: { since: new Date(Date.now() - 3_600_000).toISOString(), dryRun: true },
  });
  assert.equal(body.data.missed, 0);
});

test('a replay sends what passed the filters of its time', async () => {
  await clear();
  const webhook = await makeWebhook();
  await patch(webhook, { active: false });
  const missed = await publish('acme');
  await publish('globex');
  await fanOutWith(database);
  await patch(webhook, { active: true, filters: { 'org.created': { recruiting: false } } });
  const { body } = await service.call(`/webhooks/${webhook.id}/replay`, {
    method: 'POST',
    key: webhook.key,
    json: { since: new Date(Date.now() - 3_600_000).toISOString() },
  });
  assert.equal(body.data.missed, 1);
  assert.deepEqual(await deliveries(), [[webhook.id, missed]]);
});

test('events without a filter pass, and what does not match takes no room', async () => {
  await clear();
  const filtered = await makeWebhook();
  const plain = await makeWebhook({});
  const unwanted: string[] = [];
  for (let count = 0; count < 20; count += 1) unwanted.push(await publish('globex'));
  const sync = uuidv7();
  await sql`insert into outbox (id, name, audience, data) values (${sync}, 'chat.sync.completed', 'global', '{}')`.execute(
    database,
  );
  // 20 events for one webhook, and one for both.
  const done = await fanOutWith(database, { room: { ...room, total: 22, perWebhook: 30 } });
  assert.deepEqual([done.events, done.deliveries], [21, 22]);
  const made = await deliveries();
  assert.deepEqual(
    made.filter(([id]) => id === filtered.id).map(([, event]) => event),
    [sync],
  );
  assert.equal(made.filter(([id]) => id === plain.id).length, 21);
});

/** Ends all broadcasts, and returns how many slices that took. */
async function makeSlices(): Promise<number> {
  const options = { room, count: sliceMax, minAgeMs: 0 };
  let slices = 0;
  for (let more = true; more; slices += 1)
    ({ broadcasts: more } = await advanceBroadcast(database, { lease: newLease(), ...options }));
  return slices;
}

/** A filter that takes longest, and events that it compares with 200 items each. */
const longName = (_: unknown, number: number) => `${'item '.repeat(30)}${number}`;
const heaviest = {
  'resource.request.created': {
    request: { items: { name: { $in: Array.from({ length: 44 }, longName) } } },
  },
};
const insertFiltered = async (appId: string, filters: object, count: number) => {
  const { path, issues } = compileFilters(filters as never, '');
  assert.deepEqual(issues, []);
  await sql`
    insert into webhooks (id, app_id, url, secret, filter_path)
    select uuid_v7(), ${appId}, 'https://example.org/', '', ${path}::jsonpath from generate_series(1, ${count}::int)
  `.execute(database);
};
const publishHeavy = async (count: number) => {
  const items = Array.from({ length: 200 }, (_, n) => ({ name: `${'item '.repeat(35)}${n}` }));
  await sql`
    insert into outbox (id, name, audience, alliance_id, data)
    select uuid_v7(), 'resource.request.created', 'alliance', ${alliance.id}, ${JSON.stringify({ request: { items } })}
    from generate_series(1, ${count})
  `.execute(database);
};

test('filters that take long are evaluated a part at a time, so that others wait no longer', async () => {
  await clear();
  const { appId } = await makeKey(service, { bindTo: alliance });
  await insertFiltered(appId, heaviest, 4);
  // Several times what a fast machine compares in one statement.
  const count = 100;
  await publishHeavy(count);
  const wanted = await publish('acme');
  let events = 0;
  let calls = 0;
  while (events < count + 1) {
    const done = await fanOutWith(database);
    assert.ok(done.events > 0);
    events += done.events;
    calls += 1;
  }
  assert.ok(calls >= 2, `${calls} statements`);
  const made = await deliveries();
  assert.equal(made.length, 4, 'events without a filter pass');
  assert.ok(made.every(([, event]) => event === wanted));
});

test('an event with many filters that take long is made in slices, for each webhook once', async () => {
  await clear();
  const { appId } = await makeKey(service, { bindTo: alliance });
  const passes = {
    'resource.request.created': { request: { items: { name: { $startsWith: 'item ' } } } },
  };
  await insertFiltered(appId, heaviest, 60);
  await insertFiltered(appId, passes, 60);
  await insertFiltered(appId, heaviest, 60);
  await publishHeavy(1);
  assert.equal((await fanOutWith(database)).deliveries, 0);
  const slices = await makeSlices();
  assert.ok(slices >= 2, `${slices} slices`);
  const ids = (await deliveries()).map(([webhook]) => webhook);
  assert.deepEqual([ids.length, new Set(ids).size], [60, 60]);
});

test('previews of the heaviest filters do not hold up other requests', async () => {
  await clear();
  const { appId } = await makeKey(service, { bindTo: alliance });
  const ada = await signUp(service, 'ada@example.org');
  await database
    .transaction()
    .execute((tx) => setMember(tx, testActor, { appId, email: ada.email, role: 'developer' }));
  await publishHeavy(previewedMax + 1);
  for (let moved = 0; moved <= previewedMax;) moved += (await fanOutWith(database)).events;
  const json = { events: Object.keys(heaviest), filters: heaviest };
  const ended: string[] = [];
  const preview = async () => {
    const { body, text } = await ada.call(`/apps/${appId}/webhooks/preview-filters`, {
      method: 'POST',
      json,
    });
    assert.deepEqual(body.data, { events: previewedMax, passing: 0 }, text);
    ended.push('preview');
  };
  const previews = Promise.all([preview(), preview()]);
  assert.equal((await service.call('/webhooks')).status, 200);
  ended.push('other');
  await previews;
  assert.equal(ended[0], 'other');
});

test('streams of webhooks with filters are read few events at a time, so that others wait no longer', async () => {
  await clear();
  const feed = new EventFeed(database, service.session, service.log);
  const { appId } = await makeKey(service);
  const { path } = compileFilters(recruiting, '');
  const webhooks = 200;
  const { rows } = await sql<{ id: string }>`
    insert into webhooks (id, app_id, url, secret, filter_path)
    select uuid_v7(), ${appId}, 'https://example.org/', '', ${path}::jsonpath from generate_series(1, ${webhooks}) returning id
  `.execute(database);
  const received: string[][] = [];
  let passed = 0;
  const follower = (webhookId: string | null) => ({
    appId,
    webhookId,
    take(events: readonly { id: string }[]) {
      if (webhookId === null) received.push(events.map(({ id }) => id));
      else passed += events.length;
    },
    goBack() {},
    webhookDeleted() {},
  });
  const followers = [null, ...rows.map(({ id }) => id)].map(follower);
  await Promise.all(followers.map((each) => feed.follow(each)));
  const published: string[] = [];
  for (let count = 0; count < 12; count += 1)
    published.push(await publish(count % 2 === 0 ? 'acme' : 'globex'));
  for (let moved = 0; moved < published.length;) moved += (await fanOutWith(database)).events;
  await eventually(async () => received.flat().length >= published.length);
  await Promise.all(followers.map((each) => feed.leave(each)));
  assert.deepEqual(received.flat(), published);
  assert.equal(passed, (webhooks * published.length) / 2);
  for (const events of received)
    assert.ok(events.length * webhooks <= filtersMax, `${events.length}`);
});

test('an event for very many webhooks is sent once to those whose filters it passes', async () => {
  await clear();
  const { key, appId } = await makeKey(service);
  await makeWebhook({ filters: { 'org.created': { recruiting: false } } }, key);
  // Of five, one has none: a slice ends in between, because it looks at few filters.
  await sql`
    insert into webhooks (id, app_id, url, secret, filter_path)
    select uuid_v7(), ${appId}, 'https://example.org/', '', case when n % 5 > 0 then w.filter_path end
    from webhooks w, generate_series(1, ${2 * sliceMax}) n
  `.execute(database);
  const event = await publish('acme');
  const { broadcasts } = await fanOutWith(database);
  assert.ok(broadcasts);
  const slices = await makeSlices();
  assert.ok(slices > 2, `${slices} slices`);
  const made = await deliveries();
  assert.equal(made.length, Math.floor((2 * sliceMax) / 5));
  assert.equal(new Set(made.map(([webhook]) => webhook)).size, made.length);
  assert.ok(made.every(([, id]) => id === event));
});

test('data that a filter cannot read does not match, is explained, and keeps nothing back', async () => {
  await clear();
  const { key } = await makeKey(service, { bindTo: acme });
  const filters = { 'org.created': { $not: { recruiting: false } } };
  const webhook = await makeWebhook({ filters }, key);
  const bad = await publish('acme');
  await sql`update outbox set data = '{"recruiting":true,"memberCount":1e-999999}'`.execute(
    database,
  );
  const good = await publish('acme');
  const { events } = await fanOutWith(database);
  assert.equal(events, 2);
  assert.deepEqual(await deliveries(), [[webhook.id, good]]);
  const { result, checks, message } = await explain(webhook, bad);
  assert.deepEqual([result, checks.passed], ['not_sent', false]);
  assert.match(message, /could not be evaluated/);
});

test('a time is explained with the filter in mind', async () => {
  await clear();
  const { key } = await makeKey(service, { bindTo: acme });
  const webhook = await makeWebhook({ filters: recruiting }, key);
  const query = new URLSearchParams({
    event: 'org.created',
    subject: 'acme',
    at: new Date().toISOString(),
  });
  const { body } = await service.call(`/webhooks/${webhook.id}/explain?${query.toString()}`, {
    key,
  });
  assert.deepEqual([body.data.result, body.data.checks.passed], ['would_send', null]);
  assert.match(body.data.message, /if its filter lets it pass/);
});

test('filters are refused with the place of what is wrong, and nothing changes', async () => {
  await clear();
  const webhook = await makeWebhook();
  const refused = await patch(webhook, {
    filters: { 'org.created': { recruting: true } },
    description: 'x',
  });
  assert.deepEqual(
    [refused.status, refused.body.error.details.issues],
    [
      400,
      [
        {
          path: 'body.filters.org.created.recruting',
          message: 'is no field of org.created; did you mean "recruiting"?',
        },
      ],
    ],
  );
  const unbound = await create({ filters: { 'event.created': { id: 'a' } } });
  assert.deepEqual(
    unbound.body.error.details.issues.map(({ path }: { path: string }) => path),
    ['body.filters.event.created'],
  );
  for (const name of ['org.exploded', 'webhook.test', 'constructor', 'toString'])
    assert.equal((await create({ filters: { [name]: { a: 1 } } })).status, 400, name);
  const { body } = await service.call(`/webhooks/${webhook.id}`, { key: webhook.key });
  assert.deepEqual([body.data.filters, body.data.description], [recruiting, null]);
});

test('filters that are stored stay in use, also if they would be refused now', async () => {
  await clear();
  const webhook = await makeWebhook({});
  const earlier = { 'org.created': { createdAt: { $gte: 'yesterday' } } };
  await sql`
    update webhooks set filters = ${JSON.stringify(earlier)}::json,
      filter_path = '$event != "org.created" || exists($.createdAt ? (@ >= "yesterday"))'
    where id = ${webhook.id}
  `.execute(database);
  const same = await patch(webhook, { filters: earlier, description: 'Kept' });
  assert.deepEqual([same.status, same.body.data.filters], [200, earlier]);
  assert.equal((await create({ filters: earlier })).status, 400);
  const eventId = await publish('acme');
  await fanOutWith(database);
  assert.deepEqual(await deliveries(), []);
  assert.equal((await explain(webhook, eventId)).checks.passed, false);
});

test('no filters are null, and a repeated creation with filters returns the same webhook', async () => {
  await clear();
  const none = await create({ filters: {} });
  assert.equal(none.body.data.filters, null);
  const headers = { 'idempotency-key': randomUUID() };
  const first = await create({ filters: recruiting }, service.key, headers);
  const again = await create({ filters: recruiting }, service.key, headers);
  assert.deepEqual([again.status, again.body.data], [201, first.body.data]);
  const other = { 'org.created': { recruiting: false } };
  assert.equal((await create({ filters: other }, service.key, headers)).status, 409);
});

test('filters wait until every process knows them', async () => {
  await clear();
  const webhook = await makeWebhook({});
  const old = randomUUID();
  const refuses = async () => {
    for (const refused of [
      await create({ filters: recruiting }),
      await patch(webhook, { filters: recruiting }),
    ]) {
      assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict']);
      assert.match(refused.body.error.message, /being upgraded/);
    }
    assert.equal((await patch(webhook, { filters: null, description: 'a' })).status, 200);
  };
  // A worker of 1.0.0, and an API process of 1.0.0, which replays.
  await sql`insert into workers (id, seen_at) values (${old}, queue_now())`.execute(database);
  await refuses();
  await leaveWorkers(database, old);
  await database.connection().execute(async (process) => {
    await sql`select pg_advisory_lock_shared(${sql.lit(apiProcessLock)})`.execute(process);
    await refuses();
    await sql`select pg_advisory_unlock_shared(${sql.lit(apiProcessLock)})`.execute(process);
  });
  assert.equal((await patch(webhook, { filters: recruiting })).status, 200);
});

test('GET /events and the stream of a webhook have what it is sent, opt-in events too', async () => {
  await clear();
  const { key } = await makeKey(service);
  const events = ['org.created', 'org.updated'];
  const webhook = await makeWebhook(
    { events, filters: { ...recruiting, 'org.updated': { slug: 'acme' } } },
    key,
  );
  const start = (await service.call('/events?limit=100', { key })).body.pagination.nextCursor;
  const query = `?webhook=${webhook.id}${start ? `&after=${start}` : ''}`;
  const [caught, live] = await Promise.all([
    openStream(service.url, key, { query }),
    openStream(service.url, key, { query: `?webhook=${webhook.id}` }),
  ]);
  const optIn = async (slug: string) => {
    const id = uuidv7();
    const data = JSON.stringify({ slug });
    await sql`
      insert into outbox (id, name, audience, org_id, data)
      select ${id}, 'org.updated', 'global', id, ${data} from orgs where orgs.slug = ${slug}
    `.execute(database);
    return id;
  };
  await publish('globex');
  const wanted = [await publish('acme'), await optIn('acme')];
  await optIn('globex');
  await sql`insert into outbox (id, name, audience, data) values (uuid_v7(), 'chat.sync.completed', 'global', '{}')`.execute(
    database,
  );
  wanted.push(await publish('acme'));
  while ((await fanOutWith(database)).events > 0);

  for (const stream of [caught, live])
    for (const id of wanted) assert.equal((await stream.next())?.data.id, id);
  const all = await service.call(`/events${query}&limit=100`, { key });
  assert.deepEqual(
    all.body.data.map(({ id }: { id: string }) => id),
    wanted,
  );

  // Also from page to page, some of which are empty.
  const found: string[] = [];
  let cursor: string = start;
  for (let hasMore = true; hasMore;) {
    const page = await service.call(`/events?webhook=${webhook.id}&limit=1&after=${cursor}`, {
      key,
    });
    found.push(...page.body.data.map(({ id }: { id: string }) => id));
    ({ hasMore, nextCursor: cursor } = page.body.pagination);
  }
  assert.deepEqual(found, wanted);
  // Streams of a webhook that is gone would be silent for ever.
  const doomed = await makeWebhook({}, key);
  const ending = await openStream(service.url, key, { query: `?webhook=${doomed.id}` });
  await service.call(`/webhooks/${doomed.id}`, { method: 'DELETE', key });
  const end = await ending.next();
  assert.deepEqual([end?.event, end?.data.code], ['stream.ended', 'not_found']);

  // The newest first of all, and what follows them.
  const newest = await service.call(`/events?webhook=${webhook.id}&newest=true&limit=2`, { key });
  assert.deepEqual(
    newest.body.data.map(({ id }: { id: string }) => id),
    wanted.slice(-1),
    'of two, one does not pass',
  );
  assert.equal(newest.body.pagination.hasMore, false);
  const { nextCursor } = newest.body.pagination;
  const later = await service.call(`/events?after=${nextCursor}`, { key });
  assert.deepEqual([later.body.data, later.body.pagination.nextCursor], [[], nextCursor]);
  const both = await service.call(`/events?newest=true&after=${nextCursor}`, { key });
  assert.equal(both.body.error.details.issues[0].path, 'query.newest');
  const other = await makeKey(service);
  for (const path of ['/events', '/events/stream'])
    for (const id of [webhook.id, uuidv7()]) {
      const refused = await service.call(`${path}?webhook=${id}`, { key: other.key });
      assert.deepEqual(refused.body.error.details.issues, [
        { path: 'query.webhook', message: 'must be the id of a webhook of the app' },
      ]);
    }
});
