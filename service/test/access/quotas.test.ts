/** How much an app may have and use: what the operator sets holds in every process, deletes nothing, and owners hear of it in time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listAudit } from '../../src/access/audit-log.ts';
import { createKey } from '../../src/access/keys.ts';
import { setMember } from '../../src/access/members.ts';
import { sql, type Transaction } from '../../src/database/database.ts';
import { testActor } from '../support/actor.ts';
import { put } from '../support/directory.ts';
import { eventually, withinASecond } from '../support/eventually.ts';
import { commandsOn } from '../support/run-here.ts';
import { makeKey, startTestService, type TestService } from '../support/service.ts';
import { startSmtpServer } from '../support/smtp-server.ts';

const mailbox = await startSmtpServer();
const env = { RATE_LIMIT_PER_MINUTE: '20', ...mailbox.env };
const service = await startTestService({ env });
const beside = await startTestService({ beside: service, env });
const unlimited = await startTestService({ beside: service });
const { database } = service;
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
service.mailSender?.start();

const commands = commandsOn(service);
const runQuotas = (...words: string[]) => commands.run('quotas', ...words);
const run = (...words: string[]): Promise<any[]> => commands.json('quotas', ...words);
const set = (appId: string, ...flags: string[]) => run('set', appId, ...flags);

/** What the app of a key has of everything that is counted, and how it gets one more. */
const counted = {
  webhooks: {
    add: async (app: { appId: string; key: string }, n: number) => {
      const json = { url: `https://hooks.example/${n}` };
      return service.call('/webhooks', { method: 'POST', key: app.key, json });
    },
    refusal: 'The app can have at most 2 webhooks. Delete one first.',
  },
  keys: {
    add: (app: { appId: string }, n: number) =>
      inTransaction((tx) =>
        createKey(tx, testActor, {
          appId: app.appId,
          name: `Key ${n}`,
          scopes: ['read:directory'],
          expiresAt: null,
        }),
      ),
    refusal: 'The app can have at most 2 keys. Revoke one first.',
  },
  members: {
    add: (app: { appId: string }, n: number) =>
      inTransaction((tx) =>
        setMember(tx, testActor, {
          appId: app.appId,
          email: `member-${n}@example.org`,
          role: 'viewer',
        }),
      ),
    refusal: 'The app can have at most 2 members. Remove one first.',
  },
};

/** Like the answer to a request. */
async function inTransaction(work: (tx: Transaction) => Promise<unknown>) {
  return database
    .transaction()
    .execute(work)
    .then(
      () => ({ status: 201, body: null as any }),
      (error: Error & { code: string }) => ({
        status: 409,
        body: { error: { code: error.code, message: error.message } },
      }),
    );
}

for (const [quota, { add, refusal }] of Object.entries(counted))
  test(`a quota of ${quota} allows more than the default, and lowered deletes nothing and refuses more`, async () => {
    const app = await makeKey(service, { scopes: ['write:webhooks'] });
    await set(app.appId, '--rate', '1000', `--${quota}`, '60');
    await settled();
    const usedOf = async () => (await run('show', app.appId)).find((each) => each.quota === quota);
    const first = (await usedOf()).used as number;
    for (let n = first; n < 53; n += 1) assert.equal((await add(app, n)).status, 201);
    await set(app.appId, `--${quota}`, '2');
    const { status, body } = await add(app, 99);
    assert.deepEqual([status, body.error.code, body.error.message], [409, 'conflict', refusal]);
    assert.deepEqual(await usedOf(), { quota, limit: 2, isDefault: false, used: 53 });
    await run('unset', app.appId, `--${quota}`);
    assert.equal((await usedOf()).isDefault, true);
  });

async function settled(): Promise<void> {
  for (const each of [service, beside, unlimited]) await each.settled();
}

test('a rate of its own replaces the limits of an app and of its keys in every process, and unset returns them', async () => {
  const app = await makeKey(service);
  const limitAt = async (each: TestService) => {
    const { headers } = await each.call('/orgs', { key: app.key });
    return `${headers.get('x-ratelimit-limit')} ${headers.get('x-ratelimit-scope')}`;
  };
  assert.equal(await limitAt(service), '20 key');
  await set(app.appId, '--rate', '100');
  for (const each of [service, beside, unlimited])
    await withinASecond(async () => (await limitAt(each)) === '100 app');
  const answers = await Promise.all(
    Array.from({ length: 120 }, () => service.call('/orgs', { key: app.key })),
  );
  const served = answers.filter(({ status }) => status === 200).length;
  const refused = answers.find(({ status }) => status === 429);
  assert.ok(served > 20 && served <= 99, String(served));
  assert.match(
    refused?.body.error.message,
    /: 100 requests per minute with all keys of the app\.$/,
  );
  await run('unset', app.appId, '--rate');
  // What the app has used counts in this minute.
  await withinASecond(async () => (await limitAt(service)) === '40 app');
  await withinASecond(async () => (await limitAt(unlimited)) === 'null null');
});

test('owners get one mail per quota and day at 80 %', async () => {
  const app = await makeKey(service, { owner: 'near@example.org', scopes: ['write:webhooks'] });
  for (const [email, role] of [
    ['near-too@example.org', 'owner'],
    ['developer@example.org', 'developer'],
  ] as const)
    await database
      .transaction()
      .execute((tx) => setMember(tx, testActor, { appId: app.appId, email, role }));
  await set(app.appId, '--rate', '1000', '--webhooks', '6');
  await settled();
  for (let n = 0; n < 4; n += 1) assert.equal((await counted.webhooks.add(app, n)).status, 201);
  assert.deepEqual(await recipientsOf(app.appId), []);
  for (let n = 4; n < 6; n += 1) assert.equal((await counted.webhooks.add(app, n)).status, 201);
  assert.deepEqual(await recipientsOf(app.appId), ['near-too@example.org', 'near@example.org']);
  const mail = await eventually(async () =>
    mailbox.mails.find(({ to }) => to.includes('near@example.org')),
  );
  assert.match(mail.headers.get('subject') ?? '', /uses_83_=25_of/);
  assert.match(mail.text, /^Your app "Test app" has 5 of the 6 webhooks that it can have, at /);
  assert.match(mail.text, new RegExp(`/profile/developer/apps/${app.appId}/usage\n`));
  // The next day
  await sql`update notices set topic = topic || ' before' where app_id = ${app.appId}`.execute(
    database,
  );
  await set(app.appId, '--webhooks', '7');
  assert.equal((await counted.webhooks.add(app, 7)).status, 201);
  assert.equal((await recipientsOf(app.appId)).length, 4);
});

async function recipientsOf(appId: string): Promise<string[]> {
  const { rows } = await sql<{ recipient: string }>`
    select recipient from notices where app_id = ${appId} order by recipient
  `.execute(database);
  return rows.map(({ recipient }) => recipient);
}

test('owners get a mail when 80 % of a minute are used, whether several processes count or several requests do', async () => {
  const app = await makeKey(service, { owner: 'busy@example.org' });
  await set(app.appId, '--rate', '100');
  await settled();
  const call = (each: TestService) => each.call('/orgs', { key: app.key });
  await Promise.all(Array.from({ length: 30 }, () => call(service)));
  assert.deepEqual(await recipientsOf(app.appId), []);
  await Promise.all(Array.from({ length: 50 }, (_, n) => call(n % 2 === 0 ? service : beside)));
  await Promise.all([call(service), call(beside)]);
  const { text } = await eventually(async () =>
    mailbox.mails.find(({ to }) => to.includes('busy@example.org')),
  );
  assert.match(text, /made \d+ of the 100 requests that it can make in a minute/);
  assert.deepEqual(await recipientsOf(app.appId), ['busy@example.org']);
});

test('what the operator changes is in the audit log with the values before, and nothing for no change', async () => {
  const { appId } = await makeKey(service);
  await set(appId, '--keys', '5', '--rate', '50');
  await set(appId, '--keys', '5');
  await set(appId.toUpperCase(), '--keys', '6');
  await run('unset', appId, '--rate', '--members');
  const entries = await listAudit(database, {
    actor: null,
    action: 'app.quotas_changed',
    subjectId: appId,
    appId,
    since: null,
    limit: 10,
  });
  assert.deepEqual(entries.map(({ details }) => details).toReversed(), [
    { quotas: { keys: 5, rate: 50 }, before: { keys: null, rate: null } },
    { quotas: { keys: 6 }, before: { keys: 5 } },
    { quotas: { rate: null }, before: { rate: 50 } },
  ]);
});

test('values that are no quota are refused, and change nothing', async () => {
  const { appId } = await makeKey(service);
  const before = await run('show', appId);
  for (const [words, code, said] of [
    [['set', appId, '--webhooks', '0'], 2, 'from 1 to 100'],
    [['set', appId, '--webhooks', '-1'], 2, 'from 1 to 100'],
    [['set', appId, '--webhooks', '101'], 2, 'from 1 to 100'],
    [['set', appId, '--keys', '5', '--rate', 'many'], 2, 'from 1 to 1000000'],
    [['set', appId, '--invitations', '5'], 2, 'unknown option'],
    [['set', appId], 2, '--rate, --webhooks, --keys, --members'],
    [['unset', appId], 2, '--rate, --webhooks, --keys, --members'],
    [['set', 'none', '--keys', '5'], 1, 'There is no app with the id none.'],
    [['show', 'none'], 1, 'There is no app with the id none.'],
    [['unset', '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f', '--keys'], 1, 'There is no app'],
  ] as const) {
    const result = await runQuotas(...words);
    assert.equal(result.code, code, words.join(' ') + result.stderr);
    assert.ok(result.stderr.includes(said), result.stderr);
  }
  assert.deepEqual(await run('show', appId), before);
  const { stdout } = await runQuotas('show', appId);
  assert.match(stdout, /requests per minute +as usual +default +-\nwebhooks +20 +default +0\n/);
});

test('locked rows of apps that are near their rate take one connection and delay no request', async () => {
  const apps = await Promise.all(Array.from({ length: 5 }, () => makeKey(service)));
  for (const { appId } of apps) await set(appId, '--rate', '10');
  await settled();
  // Their keys are known before the lock.
  for (const { key } of apps) await service.call('/orgs', { key });
  const ids = apps.map(({ appId }) => appId);
  await database.transaction().execute(async (tx) => {
    await sql`select from apps where id = any(${ids}::uuid[]) for update`.execute(tx);
    for (let request = 0; request < 8; request += 1)
      for (const { key } of apps) assert.equal((await service.call('/orgs', { key })).status, 200);
    // Not in this transaction, which sees the first answer for ever.
    const waiting = async () => {
      const { rows } = await sql<{ waiting: number }>`
        select count(*) as waiting from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%into notices%'
      `.execute(database);
      return rows[0]?.waiting ?? 0;
    };
    await eventually(async () => (await waiting()) > 0);
    assert.equal(await waiting(), 1);
  });
  await eventually(async () => {
    for (const { key } of apps) await service.call('/orgs', { key });
    const { rows } = await sql<{ appId: string }>`
      select distinct app_id as "appId" from notices where app_id = any(${ids}::uuid[])
    `.execute(database);
    return rows.length === apps.length;
  });
});
