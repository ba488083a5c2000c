/** What keys and apps use is counted once, by day, and shown to the operator and to the members of the app. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAppKey } from '../../src/access/list-app-keys.ts';
import { deleteApp } from '../../src/access/apps.ts';
import { listKeys } from '../../src/access/keys.ts';
import { setMember } from '../../src/access/members.ts';
import { listUsedApps, readAppUsage, Usage } from '../../src/access/usage.ts';
import { usageDays } from '../../src/contract/periods.ts';
import { openClient, sql } from '../../src/database/database.ts';
import { dropOldStats } from '../../src/webhooks/history/fold-delivery-changes.ts';
import { testActor } from '../support/actor.ts';
import { openCuttableDatabase } from '../support/cuttable-database.ts';
import { put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { startInternalApi } from '../support/internal-api.ts';
import { signUp } from '../support/portal.ts';
import { commandsOn } from '../support/run-here.ts';
import { makeKey, startTestService } from '../support/service.ts';

const service = await startTestService();
const beside = await startTestService({ beside: service });
const internal = await startInternalApi(service);
const { database, log } = service;
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
await service.settled();

const flush = () => Promise.all([service, beside].map(({ usage }) => usage.stop()));

/** What was used today, once as many requests are written. A response may arrive before its end is counted. */
async function usedToday(appId: string, requests: number) {
  return eventually(async () => {
    await flush();
    const today = (await readAppUsage(database, appId, 1)).days[0];
    return today && today.requests >= requests && today;
  });
}

const callerOf = ({ appId, keyId }: { appId: string; keyId: string }) => ({
  appId,
  keyId,
  keyName: 'Test key',
  scopes: new Set<never>(),
  expiresAtMs: Number.POSITIVE_INFINITY,
  suspension: null,
});

test('requests, errors, bytes and events of all processes add up, and a key has its share', async () => {
  const { appId, key, keyId } = await makeKey(service);
  const answers = [
    await service.call('/orgs', { key }),
    await beside.call('/orgs', { key }),
    await service.call('/orgs/none', { key }),
    await service.call('/events?event=org.created', { key }),
  ];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 404, 200],
  );
  const [, , , events] = answers;
  const today = await usedToday(appId, 4);
  const bodies = answers.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  assert.deepEqual([today.requests, today.errors, today.events], [4, 1, events?.body.data.length]);
  assert.ok(
    today.bytes > bodies && today.bytes < bodies + 4 * 2_000,
    `${today.bytes} of ${bodies}`,
  );
  const { keys } = await readAppUsage(database, appId, 1);
  const { day: _, deliveries: __, ...used } = today;
  assert.deepEqual(keys, [{ keyId, name: 'Test key', last4: key.slice(-4), ...used }]);
});

test('a key says when it was last used, where a later time wins, and how often today', async () => {
  const { appId, key, keyId } = await makeKey(service);
  const read = () => readAppKey(database, appId, keyId);
  assert.deepEqual([(await read()).lastUsedAt, (await read()).usesToday], [null, 0]);
  const before = Date.now();
  await service.call('/orgs', { key });
  await usedToday(appId, 1);
  const { lastUsedAt, usesToday } = await read();
  assert.ok(lastUsedAt && lastUsedAt.getTime() >= before - 1 && lastUsedAt.getTime() <= Date.now());
  assert.equal(usesToday, 1);
  await sql`
    update api_keys set last_used_at = now() + interval '1 hour' where id = ${keyId}
  `.execute(database);
  await sql`update usage set day = day - 1 where key_id = ${keyId}`.execute(database);
  const { lastUsedAt: later } = await read();
  await service.call('/orgs', { key });
  await usedToday(appId, 1);
  assert.deepEqual([(await read()).lastUsedAt, (await read()).usesToday], [later, 1]);
});

test('a request without a valid key counts for nobody', async () => {
  const count = async () => {
    await flush();
    const { rows } = await sql<{ requests: number }>`
      select coalesce(sum(requests), 0)::int8 as requests from usage
    `.execute(database);
    return rows[0]?.requests ?? 0;
  };
  const before = await count();
  const answer = await service.call('/orgs', { key: `odk_${'0'.repeat(38)}` });
  assert.equal(answer.status, 401);
  // What is counted later than this was counted by then.
  const { appId, key } = await makeKey(service);
  await service.call('/orgs', { key });
  await usedToday(appId, 1);
  assert.equal(await count(), before + 1);
});

test('what an unavailable database does not take is written later, once', async () => {
  const { opened, cut, mend } = await openCuttableDatabase(service);
  const made = await makeKey(service);
  const usage = new Usage(opened.database, log);
  usage.addRequest(callerOf(made), 200, 100);
  cut();
  await usage.stop();
  usage.addRequest(callerOf(made), 500, 10);
  await usage.stop();
  assert.equal((await readAppUsage(database, made.appId, 1)).days[0]?.requests, 0);
  mend();
  await eventually(async () => {
    await usage.stop();
    return (await readAppUsage(database, made.appId, 1)).days[0]?.requests;
  });
  await usage.stop();
  const [{ requests, errors, bytes } = { requests: 0, errors: 0, bytes: 0 }] = (
    await readAppUsage(database, made.appId, 1)
  ).days;
  assert.deepEqual([requests, errors, bytes], [2, 1, 110]);
});

test('a key that somebody has locked keeps back no counts', async () => {
  const [locked, other] = [await makeKey(service), await makeKey(service)];
  const client = openClient(service.connection, { applicationName: 'psql' });
  await client.connect();
  try {
    await client.query('begin');
    await client.query('select from orgdir.api_keys where id = $1 for update', [locked.keyId]);
    const usage = new Usage(database, log);
    for (const made of [locked, other]) usage.addRequest(callerOf(made), 200, 1);
    await usage.stop();
    for (const { appId } of [locked, other])
      assert.equal((await readAppUsage(database, appId, 1)).days[0]?.requests, 1);
    const lastUses = [locked, other].map(
      async ({ appId, keyId }) => (await readAppKey(database, appId, keyId)).lastUsedAt !== null,
    );
    assert.deepEqual(await Promise.all(lastUses), [false, true]);
  } finally {
    await client.end();
  }
});

test('a deleted app keeps its counts, without a name', async () => {
  const { appId, key } = await makeKey(service);
  await service.call('/orgs', { key });
  await usedToday(appId, 1);
  await database.transaction().execute((tx) => deleteApp(tx, testActor, appId));
  const { apps, total } = await listUsedApps(database, { days: 1, page: 1, limit: 100 });
  const found = apps.find((app) => app.appId === appId);
  assert.deepEqual([found?.name, found?.requests], [null, 1]);
  assert.equal(total, apps.length);
  const past = await listUsedApps(database, { days: 1, page: 9, limit: 100 });
  assert.deepEqual(past, { apps: [], total });
  assert.equal((await internal.call(`/usage/${appId}`)).status, 404);
});

test('usage is kept for as many days as can be asked for', async () => {
  const { appId, keyId } = await makeKey(service);
  const agos = [0, usageDays - 1, usageDays];
  await sql`
    insert into usage (day, app_id, key_id, requests)
    select (now() at time zone 'utc')::date - ago, ${appId}, ${keyId}, 1 from unnest(${agos}::int[]) as a(ago)
  `.execute(database);
  await dropOldStats(database);
  const { rows } = await sql`select from usage where app_id = ${appId}`.execute(database);
  assert.equal(rows.length, 2);
  const { days, keys } = await readAppUsage(database, appId, usageDays);
  assert.equal(days.length, usageDays);
  assert.deepEqual([days.at(0)?.requests, days.at(-1)?.requests, keys[0]?.requests], [1, 1, 2]);
});

test('the operator sees all apps and platform keys, and one app by day and key', async () => {
  const { appId, key, keyId } = await makeKey(service);
  await service.call('/orgs', { key });
  await usedToday(appId, 1);
  const all = await internal.call('/usage?days=1&limit=100');
  assert.ok(all.body.data.some((app: any) => app.appId === appId && app.requests === 1));
  await internal.call('/usage');
  await flush();
  const again = await internal.call('/usage?days=1&limit=100');
  assert.ok(again.body.data.some((app: any) => app.appId === null && app.requests > 0));
  const one = await internal.call(`/usage/${appId}?days=2`);
  assert.deepEqual(
    one.body.data.days.map(({ requests }: any) => requests),
    [0, 1],
  );
  assert.deepEqual(
    one.body.data.keys.map((each: any) => each.keyId),
    [keyId],
  );
  for (const days of ['0', '91', 'x'])
    assert.equal((await internal.call(`/usage?days=${days}`)).status, 400);
});

test('orgdir usage prints the same', async () => {
  const { appId, key } = await makeKey(service);
  await service.call('/orgs', { key });
  await usedToday(appId, 1);
  const { run, json } = commandsOn(service);
  const apps = await json('usage', '--days', '1');
  assert.ok(apps.some((app: any) => app.appId === appId));
  const { stdout } = await run('usage', '--app', appId, '--days', '2');
  assert.match(
    stdout,
    /^DAY +REQUESTS +ERRORS +BYTES +EVENTS +DELIVERIES\n[\d-]+ +0 .*\n[\d-]+ +1 +0 /,
  );
  assert.match(stdout, /\nKEY +NAME .*\n.* Test key +1 +0 /);
  const refused = await run('usage', '--days', '91');
  assert.match(refused.stderr, /whole number from 1 to 90/);
  const strange = await run('usage', '--app', crypto.randomUUID());
  assert.equal(strange.code, 1);
});

test('every member of an app sees its usage, and nobody else does', async () => {
  const { appId } = await makeKey(service);
  const [viewer, stranger] = [
    await signUp(service, 'viewer@example.org'),
    await signUp(service, 'stranger@example.org'),
  ];
  await database
    .transaction()
    .execute((tx) => setMember(tx, testActor, { appId, email: viewer.email, role: 'viewer' }));
  const seen = await viewer.call(`/apps/${appId}/usage?days=7`);
  assert.equal(seen.body.data.days.length, 7);
  assert.equal((await stranger.call(`/apps/${appId}/usage`)).status, 404);
  assert.equal((await fetch(`${service.url}/portal/api/apps/${appId}/usage`)).status, 401);
});

test('temporary keys that were deleted keep their counts, without a name', async () => {
  const { appId, key, keyId } = await makeKey(service);
  await service.call('/orgs', { key });
  await usedToday(appId, 1);
  await sql`delete from api_keys where id = ${keyId}`.execute(database);
  assert.deepEqual(await listKeys(database, appId), []);
  const { keys } = await readAppUsage(database, appId, 1);
  assert.deepEqual(
    keys.map(({ name, last4, requests }) => [name, last4, requests]),
    [[null, null, 1]],
  );
});
