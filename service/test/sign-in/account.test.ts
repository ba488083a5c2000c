import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changesPerMinute } from '../../src/http/webhooks/operation.ts';
import { sql } from '../../src/database/database.ts';
import { startOidcProvider } from '../support/oidc-provider.ts';
import {
  comeBack,
  password,
  postPortal,
  signInAs,
  signUp,
  tokenOf,
  type Person,
} from '../support/portal.ts';
import { commandsOn } from '../support/run-here.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { startTestService } from '../support/service.ts';
import { eventually } from '../support/eventually.ts';
import { waitingForLocks } from '../support/waiting-for-locks.ts';

const provider = await startOidcProvider();
const smtp = await startSmtpServer();
/** Prints its links, for signing up. */
const local = await startTestService({ env: provider.env });
const { database } = local;
const service = await startTestService({ env: { ...provider.env, ...smtp.env }, beside: local });
service.mailSender?.start();
const newPassword = 'another horse entirely';
const page = '/profile/developer/account';
const returning = { provider: 'oidc', callbackURL: page, errorCallbackURL: page };

async function person(email: string): Promise<Person> {
  await signUp(local, email);
  return signInAs(service, email);
}

/** Begins in the session, and comes back in it. Returns where to. */
async function link(
  { email, call, credentials }: Person,
  sub: string,
  meanwhile?: () => Promise<unknown>,
): Promise<string | null> {
  provider.person = { sub, email, email_verified: true };
  const begun = await call('/account/methods', { method: 'POST', json: returning });
  const cookie = credentials['cookie'] ?? '';
  return (await comeBack(service, begun, { cookie, meanwhile })).headers.get('location');
}

async function actionsOf(who: Person): Promise<string[]> {
  const { body } = await who.call('/account/activity');
  return body.data.map(({ action }: { action: string }) => action);
}

test('sign-in methods are added and removed, and each change is mailed and audited', async () => {
  const ada = await person('ada@example.org');
  assert.equal(await link(ada, 'ada-1'), `http://directory.localhost${page}`);
  await smtp.mailTo(ada.email, /You can now sign in with Example Login/);
  const { body } = await ada.call('/account/methods');
  assert.deepEqual(
    body.data.map((method: { provider: string }) => method.provider),
    ['credential', 'oidc'],
  );
  const [own, linked] = body.data;
  const removed = await ada.call(`/account/methods/${linked.id}`, { method: 'DELETE' });
  assert.equal(removed.status, 200);
  await smtp.mailTo(ada.email, /You can no longer sign in with Example Login/);
  const last = await ada.call(`/account/methods/${own.id}`, { method: 'DELETE' });
  assert.equal(last.status, 409);
  const gone = await ada.call(`/account/methods/${linked.id}`, { method: 'DELETE' });
  assert.equal(gone.status, 404);
  assert.deepEqual(await actionsOf(ada), [
    'account.method_removed',
    'account.method_added',
    'account.signed_in',
    'account.signed_in',
    'account.created',
  ]);
});

test('concurrent removals never remove the last sign-in method', async () => {
  const both = await person('both@example.org');
  await link(both, 'both-1');
  const { body } = await both.call('/account/methods');
  const answers = await Promise.all(
    body.data.map(({ id }: { id: string }) =>
      both.call(`/account/methods/${id}`, { method: 'DELETE' }),
    ),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
});

test('a link to a provider that was started before a reset adds nothing after it', async () => {
  const email = 'begun@example.org';
  const victim = await person(email);
  const to = await link(victim, 'attacker', async () => {
    await local.signIn.accounts.requestLink(email);
    const token = tokenOf(local.printed.at(-1) ?? '');
    await postPortal(local, '/password', { token, password: newPassword });
  });
  assert.match(to ?? '', /error=unable_to_link_account/);
  const owner = await signInAs(service, email, newPassword);
  assert.equal((await owner.call('/account/methods')).body.data.length, 1);
});

test('a link to a provider adds nothing if its session ends meanwhile and another one stays', async () => {
  const victim = await person('ended-link@example.org');
  const other = await signInAs(service, victim.email);
  const session = (await victim.call('/session')).body.data;
  const holder = await database.startTransaction().execute();
  const back = link(victim, 'late', () =>
    sql`select from users where id = ${session.user.id} for update`.execute(holder),
  );
  await waitingForLocks(database);
  const path = `/account/sessions/${session.id}`;
  assert.equal((await other.call(path, { method: 'DELETE' })).status, 200);
  await holder.commit().execute();
  assert.equal(await back, null, 'not to the account');
  assert.equal((await other.call('/account/methods')).body.data.length, 1);
});

test('a password change requires the current one, ends other sessions, and is mailed', async () => {
  const bob = await person('bob@example.org');
  const elsewhere = await signInAs(service, bob.email);
  const change = (currentPassword: string) =>
    bob.call('/account/password', { method: 'PUT', json: { currentPassword, newPassword } });
  const wrong = await change('not this one');
  assert.deepEqual(wrong.body.error.details.issues, [
    { path: 'body.currentPassword', message: 'is wrong' },
  ]);
  assert.equal((await elsewhere.call('/session')).status, 200);
  assert.equal((await change(password)).status, 200);
  assert.equal((await elsewhere.call('/session')).status, 401);
  assert.equal((await bob.call('/session')).status, 200);
  await smtp.mailTo(bob.email, /Your password was changed[^]*remove passkeys and ways to sign in/);
  await signInAs(service, bob.email, newPassword);
});

test('sessions are listed and ended one by one or all at once', async () => {
  const eve = await person('eve@example.org');
  const [first, second] = [await signInAs(service, eve.email), await signInAs(service, eve.email)];
  const listed = (await eve.call('/account/sessions')).body.data;
  assert.equal(listed.length, 4, 'with that of signing up');
  const current = listed.filter((session: { current: boolean }) => session.current);
  assert.equal(current.length, 1);
  assert.ok(!JSON.stringify(listed).includes('token'));
  const { body } = await first.call('/session');
  const path = `/account/sessions/${body.data.id}`;
  assert.equal((await eve.call(path, { method: 'DELETE' })).status, 200);
  assert.equal((await eve.call(path, { method: 'DELETE' })).status, 404);
  assert.equal((await first.call('/session')).status, 401);
  const others = await eve.call('/account/sessions', { method: 'DELETE' });
  assert.deepEqual(others.body.data, { ended: 2 });
  assert.equal((await second.call('/session')).status, 401);
  assert.equal((await eve.call('/session')).status, 200);
  assert.deepEqual((await actionsOf(eve)).slice(0, 2), [
    'account.sessions_ended',
    'account.sessions_ended',
  ]);
});

test('failed sign-ins are counted in one audit entry with their origin', async () => {
  const guessed = await person('guessed@example.org');
  for (let index = 0; index < 3; index += 1)
    await postPortal(service, '/sign-in', { email: guessed.email, password: 'not this one' });
  await postPortal(service, '/sign-in', { email: 'nobody@example.org', password });
  type Failure = { action: string; details: { count: number; ips: string[] } };
  let failures: Failure[] = [];
  await eventually(async () => {
    await service.signIn.stop();
    const { body } = await guessed.call('/account/activity');
    const entries: Failure[] = body.data;
    failures = entries.filter(({ action }) => action === 'account.sign_in_failed');
    return failures.reduce((sum, { details }) => sum + details.count, 0) === 3;
  });
  assert.deepEqual(failures[0]?.details.ips, ['127.0.0.1']);
  const { rows } = await sql`select 1 from audit_log where details::text like '%nobody@%'`.execute(
    database,
  );
  assert.equal(rows.length, 0);
});

test("the account activity has IP addresses, pages, and only the user's entries", async () => {
  const ada = await person('activity@example.org');
  const agent = 'A browser/1.0';
  await postPortal(
    service,
    '/sign-in',
    { email: ada.email, password },
    { headers: { 'user-agent': agent } },
  );
  const { body } = await ada.call('/account/activity?limit=1');
  const [entry] = body.data;
  assert.deepEqual(
    [entry.action, entry.ipAddress, entry.userAgent, entry.details],
    ['account.signed_in', '127.0.0.1', agent, { method: 'password' }],
  );
  assert.deepEqual(body.pagination, { page: 1, limit: 1, total: 4, totalPages: 4 });
  const other = await person('other@example.org');
  const theirs = await other.call('/account/activity');
  assert.ok(!theirs.text.includes(agent));
});

test('`orgdir accounts link` prints a link that works once, and `audit list` names who made it', async () => {
  const { run, json } = commandsOn(local, { PUBLIC_URL: 'https://directory.test' });
  const email = 'handed@example.org';
  const made = await run('accounts', 'link', 'Handed@Example.org');
  assert.equal(made.code, 0, made.stderr);
  assert.match(
    made.stdout,
    /create the account. It works once, within an hour:\nhttps:\/\/directory\.test\//,
  );
  const set = { token: tokenOf(made.stdout), password, name: 'H' };
  assert.equal((await postPortal(local, '/password', set)).status, 200);
  assert.equal((await postPortal(local, '/password', set)).status, 403);
  const printed = await json('accounts', 'link', email);
  assert.deepEqual([printed.email, printed.hasAccount], [email, true]);
  const bad = await run('accounts', 'link', 'no address');
  assert.equal(bad.code, 2);
  assert.match(bad.stderr, /must be an email address/);
  const words = ['audit', 'list', '--action', 'account'];
  const entries: { action: string; actor: { kind: string } }[] = await json(...words);
  const kinds = entries.filter(({ action }) => action === 'account.link_created');
  assert.deepEqual(
    kinds.map(({ actor }) => actor.kind),
    ['cli', 'cli'],
  );
});

test('an account makes a limited number of changes per minute, and one that changes nothing is not recorded', async () => {
  const eager = await person('eager@example.org');
  const rename = (name: string) => eager.call('/account', { method: 'PATCH', json: { name } });
  for (let change = 0; change < changesPerMinute; change += 1)
    assert.equal((await rename(change < 2 ? 'Same' : `Name ${change}`)).status, 200);
  assert.equal((await rename('Late')).status, 429);
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from audit_log
    where action = 'account.name_changed' and actor_name = ${eager.email}
  `.execute(service.database);
  assert.equal(rows[0]?.count, changesPerMinute - 1);
});
