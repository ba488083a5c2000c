/**
 * The console: absent until a command names an operator, and opened only with a second factor. `operator-access.test.ts` tries
 * every operation of it as each kind of caller.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../src/database/database.ts';
import { listSettings } from '../../src/settings/settings.ts';
import { eventually } from '../support/eventually.ts';
import { addSecondFactor, withSecondFactor } from '../support/operator.ts';
import { portalOpenApi } from '../support/openapi-check.ts';
import { callPortal, signInAs, signUp, type Person } from '../support/portal.ts';
import { commandsOn } from '../support/run-here.ts';
import { makeKey, startTestService } from '../support/service.ts';

const service = await startTestService();
const { database } = service;

const commands = commandsOn(service);
const run = commands.json;

const paths = Object.entries(portalOpenApi.paths).flatMap(([path, methods]) =>
  'get' in methods ? (/\/operator\/[^{]+$/.exec(path) ?? []) : [],
);
assert.ok(paths.length >= 6);

/** The statuses of all operations. */
async function statusesOf(person: Person | null): Promise<number[]> {
  const answers = await Promise.all(
    paths.map((path) => (person ? person.call(path) : callPortal(service, path))),
  );
  return [...new Set(answers.map(({ status }) => status))];
}

const page = () => fetch(`${service.url}/profile/operator`, { redirect: 'manual' });

test('there is no console until a command names an operator', async () => {
  const owner = await withSecondFactor(service, 'first@example.org');
  assert.deepEqual(await statusesOf(owner), [404]);
  assert.deepEqual(await statusesOf(null), [404]);
  for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS', 'PURGE'])
    for (const path of ['/profile/operator', '/profile/operator/apps', `/portal/api${paths[0]}`]) {
      const { status, headers } = await fetch(`${service.url}${path}`, { method });
      assert.equal(status, 404, `${method} ${path}`);
      assert.deepEqual([headers.get('allow'), headers.get('x-ratelimit-limit')], [null, null]);
    }
  await run('operators', 'add', 'first@example.org');
  assert.deepEqual(await statusesOf(owner), [200]);
  // Whether there is one is asked once per second at most.
  await eventually(async () => (await page()).status === 200);
  assert.match((await page()).headers.get('content-security-policy') ?? '', /default-src 'none'/);
  await run('operators', 'remove', 'first@example.org');
  assert.deepEqual(await statusesOf(owner), [404]);
  await eventually(async () => (await page()).status === 404);
});

test('only a session with a second factor sees it', async () => {
  await withSecondFactor(service, 'operator@example.org');
  await run('operators', 'add', 'operator@example.org', '--role', 'operator');
  // The password alone opens nothing, whether or not the account has a second factor already.
  assert.deepEqual(await statusesOf(await signInAs(service, 'operator@example.org')), [401]);
  const fresh = await signUp(service, 'fresh@example.org');
  await run('operators', 'add', 'fresh@example.org', '--role', 'operator');
  assert.deepEqual(await statusesOf(fresh), [401]);
  assert.equal((await fresh.call('/apps')).body.error.details.missingFactor, 'set_up');
  await addSecondFactor(fresh);
  assert.deepEqual(await statusesOf(fresh), [200]);
  // Nor does it tell whether the account is an operator's.
  await withSecondFactor(service, 'stranger@example.org');
  assert.deepEqual(await statusesOf(await signInAs(service, 'stranger@example.org')), [401]);
  const { key } = await makeKey(service);
  const headers = { authorization: `Bearer ${key}` };
  assert.equal(
    (await callPortal(service, paths[0]!.replace('/portal/api', ''), { headers })).status,
    404,
  );
});

test('lists have what belongs to anybody, a page at a time, and no secret', async () => {
  const operator = await withSecondFactor(service, 'lists@example.org');
  await run('operators', 'add', 'lists@example.org');
  const { appId, key } = await makeKey(service, { owner: 'somebody@example.org' });
  const json = { url: 'https://hooks.example.org:8443/in?token=hunter2', events: ['org.created'] };
  const { body } = await service.call('/webhooks', { method: 'POST', key, json });
  await sql`
    insert into webhook_health (webhook_id, exhausted_in_a_row, last_failure_at) values (${body.data.id}, 3, now())
  `.execute(database);
  const read = async (path: string) => (await operator.call(`/operator${path}`)).body;
  const apps = await read('/apps?search=SOMEBODY@');
  assert.equal(apps.pagination.total, 1);
  const { createdAt: _, ...app } = apps.data[0];
  assert.deepEqual(app, {
    id: appId,
    name: 'Test app',
    owners: ['somebody@example.org'],
    keyCount: 1,
    webhookCount: 1,
    suspendedAt: null,
    suspendedReason: null,
  });
  assert.deepEqual((await read('/apps?search=nobody-has-this')).data, []);
  assert.equal((await read('/apps?limit=1&page=2')).data.length, 1);
  const accounts = await read('/accounts?search=lists@');
  assert.deepEqual(
    [accounts.pagination.total, accounts.data[0].hasSecondFactor, accounts.data[0].sessionCount],
    [1, true, 1],
  );
  const failing = await read('/webhooks?health=failing');
  assert.deepEqual(failing.data, [
    {
      id: body.data.id,
      appId,
      appName: 'Test app',
      host: 'hooks.example.org:8443',
      format: 'json',
      health: 'failing',
      suspended: null,
      reason: null,
      since: null,
      exhaustedInARow: 3,
    },
  ]);
  // It is read every five seconds at most.
  const overview = await eventually(async () => {
    const { data } = await read('/overview');
    return data.webhooks.failing === 1 && data;
  });
  assert.deepEqual(overview.receivers, [{ host: 'hooks.example.org:8443', webhooks: 1, apps: 1 }]);
  await service.usage.stop();
  const usage = await read('/usage?days=1');
  assert.ok(usage.data.some((each: { appId: string }) => each.appId === appId));
  await eventually(async () => (await read('/overview')).data.today.requests > 0);
  const everything = JSON.stringify(await Promise.all(paths.map((path) => operator.call(path))));
  assert.doesNotMatch(everything, /hunter2|whsec_|org_live_/);
});

test('settings are those in force, without secrets', async () => {
  const operator = await withSecondFactor(service, 'settings@example.org');
  await run('operators', 'add', 'settings@example.org');
  const { body } = await operator.call('/operator/settings');
  const shown = body.data.find(({ name }: { name: string }) => name === 'RATE_LIMIT_PER_MINUTE');
  assert.deepEqual(shown, { name: 'RATE_LIMIT_PER_MINUTE', value: '0', isDefault: false });
  const listed = listSettings({
    DATABASE_URL: 'postgres://orgdir:hunter2,and@one:5432,two:5432/orgdir?password=hunter2',
    DATABASE_DIRECT_URL: 'postgres://orgdir:hunter2, and@one:5432/orgdir?password=hunter2',
    DATABASE_READ_URLS: 'postgres://a:hunter2@one:5432/a, postgres://b:hunter2@two:5432/b',
    SECRET_KEY: 'hunter2',
    SMTP_URL: 'smtp://user:hunter2,and@mail.example.org:587',
    SYNC_BLUEPRINTS_URL: 'https://example.org/hunter2?token=hunter2',
    RETENTION_DAYS: '14',
  });
  assert.doesNotMatch(JSON.stringify(listed), /hunter2|, and/);
  const found = new Map<string, unknown>(listed.map(({ name, ...rest }) => [name, rest]));
  assert.deepEqual(found.get('SECRET_KEY'), { value: 'set', isDefault: false });
  assert.deepEqual(found.get('DATABASE_URL'), { value: 'set', isDefault: false });
  assert.deepEqual(found.get('DATABASE_DIRECT_URL'), {
    value: 'postgres://one:5432',
    isDefault: false,
  });
  assert.deepEqual(found.get('SMTP_URL'), {
    value: 'smtp://mail.example.org:587',
    isDefault: false,
  });
  assert.deepEqual(found.get('RETENTION_DAYS'), { value: '14', isDefault: false });
  assert.deepEqual(found.get('WEBHOOK_TIMEOUT_MS'), { value: '10000', isDefault: true });
  assert.deepEqual(found.get('OIDC_ISSUER_URL'), { value: null, isDefault: true });
});

test('commands name, list and remove operators, and the audit log has it', async () => {
  await signUp(service, 'named@example.org');
  assert.deepEqual(await run('operators', 'add', 'named@example.org'), { changed: true });
  assert.deepEqual(await run('operators', 'add', 'named@example.org'), { changed: false });
  assert.deepEqual(await run('operators', 'add', 'named@example.org', '--role', 'operator'), {
    changed: true,
  });
  const listed = (await run('operators', 'list')).find(
    ({ email }: { email: string }) => email === 'named@example.org',
  );
  assert.deepEqual([listed.role, listed.hasSecondFactor], ['operator', false]);
  const unknown = await commands.run('operators', 'add', 'nobody@example.org');
  assert.deepEqual(
    [unknown.code, unknown.stderr.includes('There is no account with the id or address')],
    [1, true],
  );
  await run('operators', 'remove', 'named@example.org');
  assert.deepEqual(await run('operators', 'remove', 'named@example.org'), { changed: false });
  const entries = await run('audit', 'list', '--action', 'operator');
  const own = entries.filter(({ details }: any) => details.email === 'named@example.org');
  assert.deepEqual(
    own.map(({ action, details }: any) => [action, details.role]),
    [
      ['operator.removed', undefined],
      ['operator.added', 'operator'],
      ['operator.added', 'read-only'],
    ],
  );
});

test('an operator suspends and restores', async () => {
  const operator = await withSecondFactor(service, 'changes@example.org');
  await run('operators', 'add', 'changes@example.org', '--role', 'operator');
  const { appId, key, owner } = await makeKey(service);
  const path = `/operator/apps/${appId}/suspension`;
  const put = (who: Person, json: object, at = path) => who.call(at, { method: 'PUT', json });
  const end = (who: Person) => who.call(path, { method: 'DELETE' });
  const json = { reason: 'Sends unwanted messages.' };
  assert.deepEqual((await put(operator, json)).body.data, {
    id: appId,
    changed: true,
    cancelled: 0,
    mailed: 1,
  });
  await eventually(async () => (await service.call('/webhooks', { key })).status === 403);
  assert.equal((await put(operator, json)).body.data.changed, false);
  assert.equal((await end(operator)).body.data.changed, true);
  await eventually(async () => (await service.call('/webhooks', { key })).status === 200);
  const entries = await run('audit', 'list', '--app', appId);
  assert.deepEqual(
    entries.slice(0, 2).map(({ action, actor }: any) => [action, actor.kind, actor.name]),
    [
      ['app.restored', 'operator', 'changes@example.org'],
      ['app.suspended', 'operator', 'changes@example.org'],
    ],
  );
  const { rows } = await sql<{ details: { subject: string } }>`
    select details from notices where recipient = ${owner} order by id
  `.execute(database);
  assert.deepEqual(
    rows.map(({ details }) => details.subject),
    ['Service: app suspended', 'Service: app restored'],
  );
  for (const [at, body, status] of [
    [path, { reason: '' }, 400],
    [path, { reason: 'two\nlines' }, 400],
    [path, { reason: 'x'.repeat(501) }, 400],
    [path, {}, 400],
    ['/operator/members/1/suspension', json, 404],
    ['/operator/apps/0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f/suspension', json, 404],
  ] as const)
    assert.equal((await put(operator, body, at)).status, status, at);
  const { body: own } = await operator.call('/session');
  for (const id of [own.data.user.id, own.data.user.id.toUpperCase()])
    assert.equal((await put(operator, json, `/operator/accounts/${id}/suspension`)).status, 409);
});
