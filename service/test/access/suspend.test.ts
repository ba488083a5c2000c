/** Suspended accounts, apps, webhooks and keys: what is refused and stopped, what their owners read, and how it ends. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPlatformKey, revokeKey } from '../../src/access/keys.ts';
import { sql, type Transaction } from '../../src/database/database.ts';
import { startProbes } from '../../src/webhooks/queue/health/healing.ts';
import { testActor } from '../support/actor.ts';
import { announce, put } from '../support/directory.ts';
import { eventually, withinASecond } from '../support/eventually.ts';
import { startInternalApi } from '../support/internal-api.ts';
import { callPortal, cookiesOf, password, postPortal, signUp } from '../support/portal.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { commandsOn } from '../support/run-here.ts';
import { makeKey, startTestService } from '../support/service.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { waitingForLocks } from '../support/waiting-for-locks.ts';

const mailbox = await startSmtpServer();
const service = await startTestService({
  env: { ...loopbackAllowed, ...mailbox.env },
  worker: true,
});
service.mailSender?.start();
const beside = await startTestService({ beside: service, env: loopbackAllowed });
const { database } = service;
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
const { run: runHere, json: run } = commandsOn(service);
const reason = 'Sends unwanted messages.';

const suspend = (kind: string, id: string) => run(`${kind}s`, 'suspend', id, '--reason', reason);
const restore = (kind: string, id: string, ...more: string[]) =>
  run(`${kind}s`, 'restore', id, ...more);

/** Waits until every process refuses the key like this, or admits it (null). */
async function admitted(key: string, subject: string | null): Promise<void> {
  for (const each of [service, beside])
    await withinASecond(async () => {
      const { status, body } = await each.call('/webhooks', { key });
      return subject === null
        ? status === 200
        : status === 403 && body.error.details.subject === subject;
    });
}

async function makeWebhook(respond?: Parameters<typeof startReceiver>[0]) {
  const receiver = await startReceiver(respond);
  const made = await makeKey(service);
  const json = { url: receiver.url };
  const { body } = await service.call('/webhooks', { method: 'POST', key: made.key, json });
  const call = (path = '', options: { method?: string; json?: unknown } = {}) =>
    service.call(`/webhooks/${body.data.id}${path}`, { key: made.key, ...options });
  const patch = (changes: object) => call('', { method: 'PATCH', json: changes });
  return { ...made, receiver, call, patch, id: body.data.id as string };
}

/** How its deliveries ended, or that they wait. */
async function deliveriesOf(id: string): Promise<string[]> {
  const { rows } = await sql<{ state: string }>`
    select coalesce(cancelled_by, status) as state from deliveries where webhook_id = ${id}
    union all select trigger from pending_deliveries where webhook_id = ${id}
  `.execute(database);
  return rows.map(({ state }) => state).toSorted();
}

/** Receivers of earlier tests are gone, so their deliveries wait. */
async function fannedOut(): Promise<void> {
  await eventually(async () => {
    const { rows } = await sql`select from outbox union all select from broadcasts`.execute(
      database,
    );
    return rows.length === 0;
  });
}

const inTransaction = <T>(work: (tx: Transaction) => Promise<T>) =>
  database.transaction().execute(work);

test('a suspended key is a 403 with the reason in every process within a second, before its scopes', async () => {
  const { key, keyId, appId } = await makeKey(service, { scopes: ['write:webhooks'] });
  const other = await makeKey(service);
  await admitted(key, null);
  const done = await suspend('key', keyId);
  assert.deepEqual([done.id, done.changed, done.mailed.length], [keyId, true, 1]);
  await admitted(key, 'key');
  const { status, headers, body } = await service.call('/orgs', { key });
  assert.equal(status, 403);
  assert.equal(headers.get('www-authenticate'), null);
  const { code, message, details } = body.error;
  assert.deepEqual(
    [code, message],
    ['suspended', `The operator has suspended the API key: ${reason}`],
  );
  assert.deepEqual([details.subject, details.reason], ['key', reason]);
  assert.ok(Number.isFinite(Date.parse(details.suspendedAt)));
  assert.equal((await service.call('/status', { key })).status, 200);
  await admitted(other.key, null);
  assert.equal((await restore('key', keyId)).changed, true);
  await admitted(key, null);
  assert.equal((await restore('key', keyId)).changed, false);
  const { rows } = await sql<{ action: string }>`
    select action from audit_log where app_id = ${appId} and actor_kind = 'cli' order by id
  `.execute(database);
  assert.deepEqual(
    rows.map(({ action }) => action),
    ['key.suspended', 'key.restored'],
  );
});

test('a suspended key cannot be rotated, and one that is revoked as well is a 401', async () => {
  const { key, keyId } = await makeKey(service);
  await suspend('key', keyId);
  const rotated = await runHere('keys', 'rotate', keyId, '--json');
  assert.equal(rotated.code, 1);
  assert.equal(JSON.parse(rotated.stderr).error.code, 'suspended');
  await inTransaction((tx) => revokeKey(tx, testActor, keyId));
  await withinASecond(async () => (await service.call('/webhooks', { key })).status === 401);
});

test('a rate limit is counted and reported before the suspension', async () => {
  const limited = await startTestService({
    beside: service,
    env: { RATE_LIMIT_PER_MINUTE: '2' },
  });
  const { key, keyId } = await makeKey(service);
  await suspend('key', keyId);
  const statuses: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    const { status, headers } = await limited.call('/orgs', { key });
    assert.equal(headers.get('x-ratelimit-limit'), '2');
    statuses.push(status);
  }
  assert.deepEqual(statuses, [403, 403, 429]);
});

test('a platform key can be suspended', async () => {
  const internal = await startInternalApi(service);
  const { id, key } = await inTransaction((tx) =>
    createPlatformKey(tx, testActor, { name: 'Site', expiresAt: null }),
  );
  assert.equal((await internal.call('/orgs', { key })).status, 200);
  assert.deepEqual((await suspend('key', id)).mailed, []);
  await withinASecond(async () => (await internal.call('/orgs', { key })).status === 403);
  assert.equal((await internal.call('/orgs', { key })).body.error.code, 'suspended');
});

test('suspending an app refuses its keys and stops its webhooks; restoring it offers a replay', async () => {
  const refusing = (response: any) => response.writeHead(500).end();
  const one = await makeWebhook((response, _, count) =>
    count === 1 ? refusing(response) : response.end(),
  );
  await announce(database);
  // Waits for its second attempt.
  await eventually(async () => {
    const { rows } = await sql`
      select from pending_deliveries where webhook_id = ${one.id} and lease_token is null and attempt_count = 1
    `.execute(database);
    return rows.length === 1;
  });
  const before = mailbox.mails.length;
  const done = await suspend('app', one.appId);
  assert.deepEqual([done.changed, done.cancelled, done.mailed], [true, 1, [one.owner]]);
  assert.deepEqual(await deliveriesOf(one.id), ['suspension']);
  await admitted(one.key, 'app');
  const keys = await runHere('keys', 'list', '--app', one.appId);
  assert.match(keys.stdout, /  app suspended  /);
  const apps = await runHere('apps', 'list');
  assert.match(apps.stdout, new RegExp(`^${one.appId} .* suspended: ${reason}$`, 'm'));
  const told = await eventually(async () =>
    mailbox.mails.slice(before).find(({ to }) => to.includes(one.owner)),
  );
  assert.ok(told.text.includes(reason), told.text);
  assert.match(told.headers.get('subject') ?? '', /app suspended/);
  await announce(database);
  await fannedOut();
  assert.deepEqual(await deliveriesOf(one.id), ['suspension']);

  const restored = await restore('app', one.appId, '--replay');
  assert.deepEqual(
    restored.active.map(({ webhookId }: { webhookId: string }) => webhookId),
    [one.id],
  );
  await admitted(one.key, null);
  await eventually(async () =>
    mailbox.mails.some(({ text }) => text.includes(`The service replays what webhook ${one.id}`)),
  );
  await eventually(async () => (await deliveriesOf(one.id)).join() === 'succeeded,succeeded');
  assert.equal(one.receiver.received.length, 3);
});

test('a restored webhook is not replayed unless somebody asks', async () => {
  const one = await makeWebhook();
  await suspend('webhook', one.id);
  await announce(database);
  await fannedOut();
  const { code, stdout } = await runHere('webhooks', 'restore', one.id);
  assert.equal(code, 0);
  const [, since] = /npx orgdir replay --webhook \S+ --since (\S+)/.exec(stdout) ?? [];
  assert.deepEqual(await deliveriesOf(one.id), []);
  await eventually(async () =>
    mailbox.mails.some(({ text }) =>
      text.includes(`/webhooks/${one.id}/deliveries since ${since}`),
    ),
  );
  const counts = await run('replay', '--webhook', one.id, '--since', since ?? '');
  assert.equal(counts.missed, 1);
});

test('the owner of a suspended webhook reads why, and can neither activate nor test nor replay it', async () => {
  const one = await makeWebhook();
  await suspend('webhook', one.id);
  const { data } = (await one.call()).body;
  assert.deepEqual(
    [data.active, data.deactivatedAt, data.deactivatedReason, data.suspendedReason],
    [false, null, null, reason],
  );
  assert.ok(Number.isFinite(Date.parse(data.suspendedAt)));
  const since = new Date(Date.now() - 60_000).toISOString();
  for (const response of [
    await one.patch({ active: true }),
    await one.call('/test', { method: 'POST' }),
    await one.call('/recover', { method: 'POST', json: { since } }),
    await one.call('/replay', { method: 'POST', json: { since } }),
  ]) {
    assert.equal(response.status, 403, response.text);
    assert.deepEqual(
      [response.body.error.code, response.body.error.details.subject],
      ['suspended', 'webhook'],
    );
  }
  assert.equal((await one.patch({ description: 'Mine' })).status, 200);
  assert.equal(one.receiver.received.length, 0);
  const { state, reason: shown } = (await run('webhooks', 'list', '--app', one.appId))[0];
  assert.deepEqual([state, shown], ['suspended', reason]);
});

test('a suspended webhook is neither deleted nor moved, and its URL is not used again in its app', async () => {
  const one = await makeWebhook();
  const create = (url: string) =>
    service.call('/webhooks', { method: 'POST', key: one.key, json: { url } });
  const other = (await create(`${one.receiver.url}other`)).body.data.id;
  await suspend('webhook', one.id);
  const json = { url: `${one.receiver.url}?again` };
  for (const response of [
    await one.call('', { method: 'DELETE' }),
    await one.patch({ url: `${one.receiver.url}elsewhere` }),
    await create(one.receiver.url),
    await create(json.url),
    await service.call(`/webhooks/${other}`, { method: 'PATCH', key: one.key, json }),
  ]) {
    assert.equal(response.status, 403, response.text);
    const { code, details } = response.body.error;
    assert.deepEqual([code, details.subject, details.reason], ['suspended', 'webhook', reason]);
  }
  assert.equal((await one.patch({ url: one.receiver.url })).status, 200, 'nothing changes');
  const named = (await create('https://hooks.example/a')).body.data.id;
  await suspend('webhook', named);
  assert.equal((await create('https://hooks.example./a')).status, 403, 'the same host');
  assert.equal((await create(`${one.receiver.url}third`)).status, 201);
  await restore('webhook', one.id);
  assert.equal((await create(json.url)).status, 201);
  assert.equal((await one.call('', { method: 'DELETE' })).status, 200);
});

test('a webhook that its owner deactivated, before or meanwhile, stays inactive when it is restored', async () => {
  for (const isBefore of [true, false]) {
    const one = await makeWebhook();
    if (isBefore) await one.patch({ active: false });
    await suspend('webhook', one.id);
    if (!isBefore) await one.patch({ active: false });
    assert.deepEqual((await restore('webhook', one.id)).active, []);
    const { data } = (await one.call()).body;
    assert.deepEqual(
      [data.active, data.deactivatedReason, data.suspendedAt],
      [false, 'owner', null],
    );
    const { rows } = await sql<{ actor: string }>`
      select actor_kind as actor from audit_log where action = 'webhook.deactivated' and subject_id = ${one.id}
    `.execute(database);
    assert.deepEqual(rows, [{ actor: 'key' }]);
  }
});

test('a webhook of a suspended app that is suspended itself waits for both', async () => {
  const one = await makeWebhook();
  await suspend('webhook', one.id);
  await suspend('app', one.appId);
  assert.deepEqual((await restore('app', one.appId)).active, []);
  await admitted(one.key, null);
  assert.equal((await one.call()).body.data.suspendedReason, reason);
  assert.equal((await restore('webhook', one.id)).active.length, 1);
  assert.equal((await one.call()).body.data.active, true);
});

test('a failing webhook is not probed while it is suspended', async () => {
  const one = await makeWebhook();
  await sql`
    update webhooks set active = false, deactivated_at = now(), deactivated_reason = 'failing' where id = ${one.id}
  `.execute(database);
  await inTransaction((tx) => startProbes(tx, [one.id]));
  assert.deepEqual(await deliveriesOf(one.id), ['probe']);
  for (const [kind, id] of [
    ['webhook', one.id],
    ['app', one.appId],
  ] as const) {
    await suspend(kind, id);
    assert.deepEqual(await deliveriesOf(one.id), [], kind);
    await restore(kind, id);
    assert.deepEqual(await deliveriesOf(one.id), ['probe'], kind);
  }
  await admitted(one.key, null);
  await one.patch({ selfHealing: false });
  await suspend('webhook', one.id);
  await one.patch({ selfHealing: true });
  assert.deepEqual(await deliveriesOf(one.id), []);
  assert.equal((await one.call()).body.data.deactivatedReason, 'failing');
  await restore('webhook', one.id);
  assert.deepEqual(await deliveriesOf(one.id), ['probe']);
});

test('probes that had ended stay so when the webhook is restored', async () => {
  for (const when of ['before', 'meanwhile'] as const) {
    const one = await makeWebhook();
    await sql`
      update webhooks set active = false, deactivated_at = now(), deactivated_reason = 'failing' where id = ${one.id}
    `.execute(database);
    await inTransaction((tx) => startProbes(tx, [one.id]));
    if (when === 'before') await one.patch({ active: false });
    await suspend('app', one.appId);
    await suspend('webhook', one.id);
    await restore('app', one.appId);
    await admitted(one.key, null);
    if (when === 'meanwhile') await one.patch({ active: false });
    await restore('webhook', one.id);
    assert.deepEqual(await deliveriesOf(one.id), [], when);
  }
});

test('a webhook that is created while its app is being suspended is refused', async () => {
  const { key, appId } = await makeKey(service);
  await admitted(key, null);
  const holder = await database.startTransaction().execute();
  await sql`select from apps where id = ${appId} for update`.execute(holder);
  await sql`insert into suspensions (app_id, reason) values (${appId}, ${reason})`.execute(holder);
  const json = { url: 'https://example.org/' };
  const creating = service.call('/webhooks', { method: 'POST', key, json });
  await waitingForLocks(database, 1, holder);
  await holder.commit().execute();
  assert.equal((await creating).status, 403);
});

test('members of a suspended app read why', async () => {
  const ada = await signUp(beside, 'ada@example.org');
  const made = await ada.call('/apps', { method: 'POST', json: { name: 'App' } });
  await suspend('app', made.body.data.id);
  const { data } = (await ada.call(`/apps/${made.body.data.id}`)).body;
  assert.equal(data.suspendedReason, reason);
  const { body: audit } = await ada.call(`/audit?app=${made.body.data.id}`);
  assert.deepEqual([audit.data[0].action, audit.data[0].details.reason], ['app.suspended', reason]);
});

test('a suspended app outlives the account of its only owner, who finds it suspended after signing up again', async () => {
  const email = 'dana@example.org';
  const dana = await signUp(beside, email);
  await put(database, 'orgs', [{ slug: 'initech', name: 'Initech', managers: [email] }]);
  const create = async (name: string) => {
    const { id } = (await dana.call('/apps', { method: 'POST', json: { name } })).body.data;
    return id as string;
  };
  const [kept, deleted] = [await create('Kept'), await create('Deleted')];
  const json = { kind: 'organization', slug: 'initech' };
  assert.equal((await dana.call(`/apps/${kept}/binding`, { method: 'PUT', json })).status, 200);
  await suspend('app', kept);
  const { data } = (await dana.call('/account/deletion')).body;
  assert.deepEqual(
    [data.appsToDelete.map(({ id }: any) => id), data.appsToLeave, data.endingBindings],
    [[deleted], [{ id: kept, name: 'Kept', role: 'owner' }], []],
  );
  const remove = (apps: string[]) =>
    dana.call('/account/deletion', { method: 'POST', json: { email, apps } });
  assert.equal((await remove([kept, deleted])).status, 409);
  assert.equal((await remove([deleted])).status, 200);
  assert.equal((await dana.call('/session')).status, 401);
  const again = await signUp(beside, email);
  const apps = (await again.call('/apps')).body.data;
  assert.deepEqual(
    apps.map(({ id, suspendedReason, binding }: any) => [id, suspendedReason, binding?.slug]),
    [[kept, reason, 'initech']],
  );
  const refused = await again.call(`/apps/${kept}`, { method: 'DELETE' });
  assert.deepEqual([refused.status, refused.body.error.code], [403, 'suspended']);
  await restore('app', kept);
  assert.equal((await again.call(`/apps/${kept}`, { method: 'DELETE' })).status, 200);
});

test('a suspended account reads why, in the session that it has, and can only sign out', async () => {
  const email = 'bob@example.org';
  const bob = await signUp(beside, email);
  const shown = await run('accounts', 'show', email);
  assert.deepEqual((await suspend('account', shown.id)).mailed, [email]);
  const { data } = (await bob.call('/session')).body;
  assert.deepEqual([data.suspendedReason, data.user.email], [reason, email]);
  assert.equal((await bob.call('/apps')).status, 403);
  // A new session is as closed as the old one, in every process.
  const again = await postPortal(beside, '/sign-in', { email, password });
  const inOther = await callPortal(beside, '/apps', {}, cookiesOf(again));
  assert.equal(inOther.status, 403);
  assert.equal((await bob.call('/sign-out', { method: 'POST' })).status, 200);
  assert.equal((await bob.call('/session')).status, 401);
  assert.equal((await run('accounts', 'list', '--suspended'))[0].email, email);
  await restore('account', email);
  const { status } = await callPortal(service, '/apps', {}, cookiesOf(again));
  assert.equal(status, 200);
});

test('whoever has only the password of a suspended account does not learn why', async () => {
  const email = 'carol@example.org';
  const carol = await signUp(beside, email);
  const { data } = (await carol.call('/session')).body;
  await sql`
    insert into passkeys (id, user_id, name, credential_id, public_key, counter)
    values (uuid_v7(), ${data.user.id}, 'Key', 'carol', '', 0)
  `.execute(database);
  await suspend('account', email);
  const half = await carol.call('/session');
  assert.deepEqual(
    [half.body.data.missingFactor, half.body.data.suspendedReason],
    ['confirm', null],
  );
  assert.equal((await carol.call('/apps')).status, 401);
});

test('a repeated suspension changes the reason and keeps the time', async () => {
  const { keyId } = await makeKey(service);
  await suspend('key', keyId);
  assert.equal((await suspend('key', keyId)).changed, false);
  const other = await run('keys', 'suspend', keyId, '--reason', 'Another');
  assert.equal(other.changed, true);
  for (const given of ['', ' ', 'x'.repeat(501), 'two\nlines', 'a\u202Eb']) {
    const { code } = await runHere('keys', 'suspend', keyId, '--reason', given);
    assert.equal(code, 2, JSON.stringify(given));
  }
  const key = (await run('keys', 'list')).find(({ id }: { id: string }) => id === keyId);
  assert.equal(key.suspendedReason, 'Another');
});

test('what is suspended under an id in upper case has it in its audit log', async () => {
  const { appId, keyId, id } = await makeWebhook();
  for (const [kind, subject] of [
    ['webhook', id],
    ['key', keyId],
    ['app', appId],
  ] as const) {
    assert.equal((await suspend(kind, subject.toUpperCase())).id, subject);
    const [last] = await run('audit', 'list', '--subject', subject);
    assert.equal(last.action, `${kind}.suspended`);
  }
});

for (const kind of ['account', 'app', 'webhook', 'key'])
  test(`suspending and restoring an unknown ${kind} fails`, async () => {
    for (const words of [
      ['suspend', crypto.randomUUID(), '--reason', reason],
      ['restore', 'x'],
    ]) {
      const { code, stderr } = await runHere(`${kind}s`, ...words);
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(`There is no ${kind} with the id`));
    }
  });
