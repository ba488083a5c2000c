import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createApp } from '../../src/access/apps.ts';
import { createKey } from '../../src/access/keys.ts';
import { sql } from '../../src/database/database.ts';
import { testActor } from '../support/actor.ts';
import { toUrl } from '../support/database.ts';
import { put } from '../support/directory.ts';
import { eventually, withinASecond } from '../support/eventually.ts';
import { recordedEvents } from '../support/queue.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { runCommand, type CommandResult } from '../support/run-command.ts';
import { runHere } from '../support/run-here.ts';
import { startTestService, testPublicUrl } from '../support/service.ts';

const service = await startTestService({ worker: true, env: loopbackAllowed });
const folder = await mkdtemp(join(tmpdir(), 'orgdir-cli-'));
after(() => rm(folder, { recursive: true }));
const env = {
  DATABASE_URL: toUrl(service.connection),
  PUBLIC_URL: testPublicUrl,
  DATA_DIR: folder,
};
const run = (args: string[]) => runHere(args, env);
await put(service.database, 'orgs', [
  { slug: 'acme', name: 'Acme' },
  { slug: 'hidden', name: 'Hidden', listed: false },
]);

async function json(args: string[]): Promise<any> {
  return parse(await run([...args, '--json']));
}

/** The same in a process of its own, as users run it. */
async function byProcess(args: string[]): Promise<any> {
  return parse(await runCommand([...args, '--json'], env));
}

function parse({ code, stdout, stderr }: CommandResult): any {
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

test('from an app to a verified delivery, by commands alone', async () => {
  const app = await byProcess([
    'apps',
    'create',
    '--name',
    'Herald',
    '--owner',
    ' Ada@Example.org ',
  ]);
  assert.deepEqual(
    [app.name, app.owners, app.organizationId],
    ['Herald', ['ada@example.org'], null],
  );
  const { id, key } = await byProcess([
    'keys',
    'create',
    '--app',
    app.id,
    '--scope',
    'read:directory',
    'write:webhooks',
  ]);
  assert.match(key, /^odk_[0-9A-Za-z]{38}$/);
  assert.equal((await service.call('/orgs/acme', { key })).status, 200);

  const receiver = await startReceiver();
  const { body } = await service.call('/webhooks', {
    method: 'POST',
    key,
    json: { url: receiver.url },
  });
  const event = await byProcess(['events', 'publish', 'org.created', '--org', 'acme']);
  const [delivery] = await receiver.waitFor(1);
  assert.equal(JSON.parse(String(delivery?.body)).data.slug, 'acme');
  const { rows } = await sql<{ event_id: string }>`
    select event_id from deliveries where webhook_id = ${body.data.id}
    union all select event_id from pending_deliveries where webhook_id = ${body.data.id}
  `.execute(service.database);
  assert.equal(rows[0]?.event_id, event.id);

  const listed = await byProcess(['keys', 'list', '--app', app.id]);
  assert.deepEqual(
    listed.map((each: any) => [each.id, each.last4, each.revokedAt]),
    [[id, key.slice(-4), null]],
  );
  assert.ok(!JSON.stringify(listed).includes(key));
  assert.deepEqual(await byProcess(['keys', 'revoke', id]), { id, revoked: true, changed: true });
  assert.deepEqual(await byProcess(['keys', 'revoke', id]), { id, revoked: true, changed: false });
  await service.settled();
  assert.equal((await service.call('/orgs/acme', { key })).status, 401);
});

test('only a manager can bind, and losing the role ends the binding at once', async () => {
  const create = [
    'apps',
    'create',
    '--name',
    'Bound',
    '--owner',
    'grace@example.org',
    '--org',
    'acme',
  ];
  const refused = await run(create);
  assert.deepEqual([refused.code, refused.stdout], [1, '']);
  assert.match(refused.stderr, /Only owners of the app who manage the organisation can bind it/);
  assert.ok(
    !(await json(['apps', 'list'])).some((app: any) => app.name === 'Bound'),
    'nothing is half done',
  );

  assert.deepEqual(
    await json(['managers', 'add', '--org', 'acme', '--email', 'GRACE@example.org']),
    { changed: true },
  );
  assert.deepEqual(
    await json(['managers', 'add', '--org', 'acme', '--email', 'grace@example.org']),
    { changed: false },
  );
  const app = await json(create);
  assert.equal(app.organizationSlug, 'acme');
  assert.deepEqual(
    await json(['managers', 'remove', '--org', 'acme', '--email', 'grace@example.org']),
    { changed: true },
  );
  const binding = async () =>
    (await json(['apps', 'list'])).find((each: any) => each.id === app.id).organizationId;
  assert.equal(await binding(), null);
  await json(['managers', 'add', '--org', 'acme', '--email', 'grace@example.org']);
  assert.equal(await binding(), null, 'a new role revives nothing');
});

test('an owner has at most ten apps, and an app at most twenty keys', async () => {
  for (let index = 0; index < 10; index += 1)
    await service.database.transaction().execute(async (tx) => {
      await createApp(tx, testActor, { name: `App ${index}`, owner: 'many@example.org' });
    });
  const eleventh = await run([
    'apps',
    'create',
    '--name',
    'One more',
    '--owner',
    'many@example.org',
  ]);
  assert.deepEqual([eleventh.code, /at most 10 apps/.test(eleventh.stderr)], [1, true]);
  const make = () =>
    service.database.transaction().execute((tx) =>
      createKey(tx, testActor, {
        appId: service.appId,
        name: 'k',
        scopes: ['read:directory'],
        expiresAt: null,
      }),
    );
  const made = await Promise.allSettled(Array.from({ length: 21 }, make));
  assert.equal(
    made.filter(({ status }) => status === 'fulfilled').length,
    19,
    'one was there before',
  );
});

test('an import reports its counts and each bad line', async () => {
  const file = join(folder, 'orgs.ndjson');
  await writeFile(file, '{"name":"One"}\n{"name":"Two","memberCount":"many"}\n');
  const refused = await run(['import', 'orgs', file]);
  assert.deepEqual([refused.code, refused.stdout], [1, '']);
  assert.match(
    refused.stderr,
    /line 2: memberCount must be integer\nNothing was imported: 1 bad line\./,
  );
  const kept = await json(['import', 'orgs', file, '--skip-bad']);
  assert.deepEqual([kept.created, kept.bad], [1, 1]);
  const piped = await runCommand(['import', 'alliances', '-'], env, '{"name":"North"}\n');
  assert.deepEqual([piped.code, piped.stdout], [0, '1 alliances created, 0 updated.\n']);
  const missing = await run(['import', 'orgs', join(folder, 'nowhere.ndjson')]);
  assert.match(missing.stderr, /nowhere\.ndjson is not a file/);
});

test('maintenance is visible in the API within a second, and each change publishes one event', async () => {
  await json(['maintenance', 'on', '--message', 'Moving.', '--until', '2099-01-01T00:00:00Z']);
  const changed = await json(['maintenance', 'on', '--message', 'Still moving.']);
  assert.equal(changed.expectedEnd, '2099-01-01T00:00:00.000Z', 'what is not given stays');
  const answer = await eventually(async () => {
    const each = await service.call('/orgs');
    return each.body?.error?.message === 'Still moving.' && each;
  });
  assert.deepEqual([answer.status, answer.body.error.code], [503, 'maintenance']);
  assert.ok(answer.headers.get('retry-after'));
  const status = await service.call('/status');
  assert.deepEqual(
    [status.status, status.body.data.status, status.body.data.maintenance.message],
    [200, 'maintenance', 'Still moving.'],
  );
  assert.equal((await service.call('/openapi.json')).status, 200);
  assert.deepEqual(await json(['maintenance', 'off']), { changed: true });
  assert.deepEqual(await json(['maintenance', 'off']), { changed: false });
  await eventually(async () => (await service.call('/orgs')).status === 200);
  const { rows } = await sql<{
    name: string;
  }>`select name from ${recordedEvents} where name like 'system.%' order by id`.execute(
    service.database,
  );
  assert.deepEqual(
    rows.map(({ name }) => name),
    ['system.maintenance.enabled', 'system.maintenance.disabled'],
  );
});

test('an event that cannot be published is rejected with the reason', async () => {
  const application = '{"id":"a","applicantHandle":"h","submittedAt":"2026-11-20T12:00:00Z"}';
  const cases: [string[], RegExp][] = [
    [['webhook.test'], /^name must be one of .*, not webhook\.test$/m],
    [['org.created', '--org', 'hidden'], /not listed/],
    [['org.created', '--org', 'acme', '--data', '{}'], /created by the service/],
    [['system.maintenance.enabled'], /published by the service itself/],
    [['application.created', '--org', 'acme'], /data must be object/],
    [
      ['application.created', '--org', 'acme', '--data', '{"id":"a"}'],
      /data\.applicantHandle is required/,
    ],
    [
      ['application.created', '--org', 'acme', '--data', `${application.slice(0, -1)},"secret":1}`],
      /data\.secret is not known/,
    ],
    [
      ['application.created', '--alliance', 'x', '--data', application],
      /alliance cannot be used with/,
    ],
  ];
  const before = await sql<{ count: number }>`select count(*) from ${recordedEvents}`.execute(
    service.database,
  );
  for (const [args, reason] of cases) {
    const result = await run(['events', 'publish', ...args]);
    assert.equal(result.code, /not listed/.test(result.stderr) ? 1 : 2, args.join(' '));
    assert.match(result.stderr, reason);
  }
  const afterwards = await sql<{ count: number }>`select count(*) from ${recordedEvents}`.execute(
    service.database,
  );
  assert.deepEqual(afterwards.rows, before.rows);
});

test('a platform key is created, listed and revoked like any other', async () => {
  const args = ['keys', 'create', '--platform', '--name', 'Web site', '--expires', '2099-01-31'];
  const { id, key } = await json(args);
  const refused = await service.call('/orgs/acme', { key });
  assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden']);
  const keys: { id: string }[] = await json(['keys', 'list']);
  const listed: any = keys.find((each) => each.id === id);
  assert.deepEqual(
    [listed.appId, listed.scopes, listed.name, listed.expiresAt],
    [null, ['platform'], 'Web site', '2099-01-31T00:00:00.000Z'],
  );
  assert.deepEqual(await json(['keys', 'revoke', id]), { id, revoked: true, changed: true });
  await withinASecond(async () => (await service.call('/orgs/acme', { key })).status === 401);
});

test('invalid arguments exit with 2 and a hint', async () => {
  for (const args of [
    ['nonsense'],
    ['keys', 'create'],
    ['keys', 'create', '--app', service.appId],
    ['keys', 'create', '--platform', '--scope', 'read:directory'],
    ['keys', 'create', '--platform', '--app', service.appId],
    ['import', 'planets', 'x'],
    ['import', 'all', ''],
    ['export', 'all', ''],
    ['backup', ''],
    ['restore', ''],
    ['apps', 'create', '--colour', 'red'],
  ]) {
    const result = await run(args);
    assert.equal(result.code, 2, args.join(' '));
    assert.match(result.stderr, /error: /);
  }
});

test('invalid times and scopes are rejected', async () => {
  for (const [args, code, reason] of [
    [['--scope', 'admin'], 2, /must be one or more of/],
    [['--scope', 'read:directory', 'admin'], 2, /must be one or more of/],
    [['--scope', 'read:directory', '--expires', 'soon'], 2, /must be a time/],
    [['--scope', 'read:directory', '--expires', '2099-02-30'], 2, /must be a time/],
    [['--scope', 'read:directory', '--expires', '2020-01-01'], 2, /must be in the future/],
  ] as [string[], number, RegExp][]) {
    const result = await run(['keys', 'create', '--app', service.appId, ...args]);
    assert.equal(result.code, code, args.join(' '));
    assert.match(result.stderr, reason);
  }
  const unknown = await run(['keys', 'create', '--app', 'nobody', '--scope', 'read:directory']);
  assert.match(unknown.stderr, /no app with the id nobody/);
});
