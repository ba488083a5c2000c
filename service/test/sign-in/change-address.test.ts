import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addManager, removeManager } from '../../src/access/managers.ts';
import { setMember } from '../../src/access/members.ts';
import { sql } from '../../src/database/database.ts';
import { testActor } from '../support/actor.ts';
import { addSubject } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { startOidcProvider } from '../support/oidc-provider.ts';
import {
  addressTokenOf,
  choosePassword,
  comeBack,
  cookiesOf,
  password,
  personOf,
  postPortal,
  signInAs,
  signUp,
  tokenOf,
  type Person,
} from '../support/portal.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { makeKey, startTestService } from '../support/service.ts';

const provider = await startOidcProvider();
const smtp = await startSmtpServer();
/** Prints its links, for signing up. */
const local = await startTestService();
const { database } = local;
const service = await startTestService({
  env: { TRUST_PROXY: '127.0.0.0/8', ...smtp.env, ...provider.env },
  beside: local,
});
const subjects = {
  acme: await addSubject(database, 'organization', { slug: 'acme', name: 'Acme' }),
  globex: await addSubject(database, 'organization', { slug: 'globex', name: 'Globex' }),
};

async function person(email: string): Promise<Person> {
  await signUp(local, email);
  return signInAs(service, email);
}

function request(who: Person, email: string) {
  return who.call('/account/address-changes', { method: 'POST', json: { email } });
}

function use(who: Person, token: string) {
  return who.call('/account/address', { method: 'PUT', json: { token } });
}

/** Requests the change, and returns the token that was mailed to the new address. */
async function requestToken(who: Person, email: string): Promise<string> {
  const before = smtp.mails.length;
  assert.equal((await request(who, email)).status, 202);
  // An invitation to this address may arrive meanwhile.
  return eventually(async () => {
    const mails = smtp.mails.slice(before).filter(({ to }) => to[0] === email);
    return mails.map(({ text }) => addressTokenOf(text)).find((token) => token !== null);
  });
}

const { mailTo } = smtp;
service.mailSender?.start();

async function emailOf(who: Person): Promise<string> {
  return (await who.call('/session')).body.data.user.email;
}

const manage = (slug: keyof typeof subjects, email: string, does = addManager) =>
  database.transaction().execute((tx) => does(tx, testActor, subjects[slug], email));

async function createApp(who: Person, name: string, slug?: string): Promise<string> {
  const { body } = await who.call('/apps', { method: 'POST', json: { name } });
  const { id } = body.data;
  if (slug === undefined) return id;
  const json = { kind: 'organization', slug };
  const bound = await who.call(`/apps/${id}/binding`, { method: 'PUT', json });
  assert.equal(bound.status, 200, bound.text);
  return id;
}

test('the address changes with the mailed link, and the old one hears of both steps', async () => {
  const ada = await person('ada@example.org');
  const app = await createApp(ada, 'Herald');
  const elsewhere = await signInAs(service, ada.email);
  const token = await requestToken(ada, 'ada@example.com');
  await mailTo(ada.email, /asked to change the address of your account to ada@example\.com/);
  assert.equal(await emailOf(ada), 'ada@example.org', 'nothing changes before the link is used');

  const json = { token };
  const checked = await ada.call('/account/address-changes/check', { method: 'POST', json });
  assert.deepEqual(checked.body.data, { email: 'ada@example.com', endingBindings: [] });
  const changed = await use(ada, token);
  assert.deepEqual([changed.status, changed.body.data], [200, { email: 'ada@example.com' }]);
  assert.equal(await emailOf(ada), 'ada@example.com');
  assert.equal((await elsewhere.call('/session')).status, 401, 'other sessions end');
  await mailTo(ada.email, /address of your account is now ada@example\.com/);
  const apps = (await ada.call('/apps')).body.data.map(({ id }: { id: string }) => id);
  assert.deepEqual(apps, [app]);

  const old = await postPortal(service, '/sign-in', { email: 'ada@example.org', password });
  assert.equal(old.status, 401);
  await signInAs(service, 'ada@example.com');
  const { body } = await ada.call('/account/activity');
  const entries: { action: string; details: Record<string, unknown> }[] = body.data;
  assert.deepEqual(
    entries.filter(({ action }) => action.includes('address')).map(({ details }) => details),
    [
      { before: 'ada@example.org', email: 'ada@example.com', endedSessions: 2 },
      { email: 'ada@example.com' },
    ],
  );
});

test('a link works once, for an hour, until a newer one, and only for the account that asked', async () => {
  const bob = await person('bob@example.org');
  const mallory = await person('mallory@example.org');
  const replaced = await requestToken(bob, 'bob-1@example.com');
  const token = await requestToken(bob, 'bob-2@example.com');
  const refused = async (who: Person, given: string) => {
    assert.equal((await use(who, given)).status, 403);
    const json = { token: given };
    const checked = await who.call('/account/address-changes/check', { method: 'POST', json });
    assert.equal(checked.status, 403);
  };
  await refused(bob, replaced);
  await refused(mallory, token);
  assert.equal((await use(bob, token)).status, 200);
  await refused(bob, token);

  const late = await requestToken(bob, 'bob-3@example.com');
  await sql`update address_changes set expires_at = now()`.execute(database);
  await refused(bob, late);
  assert.deepEqual(
    [await emailOf(bob), await emailOf(mallory)],
    ['bob-2@example.com', 'mallory@example.org'],
  );
});

test('asking for a taken address gets the same response, and its owner is told', async () => {
  const victim = await person('victim@example.org');
  const mallory = await person('mallory-2@example.org');
  const free = await request(mallory, 'free@example.org');
  const taken = await request(mallory, victim.email);
  assert.deepEqual([taken.status, taken.body], [free.status, free.body]);
  await mailTo(victim.email, /asked to use this address for another account/);
  const tokens = smtp.mails
    .filter(({ to }) => to[0] === victim.email)
    .map(({ text }) => addressTokenOf(text));
  assert.deepEqual(tokens, [null], 'no link is mailed');
  const own = await request(mallory, mallory.email);
  assert.deepEqual(own.body.error.details.issues, [
    { path: 'body.email', message: 'is already the address of your account' },
  ]);
  for (const email of ['x@oidc.invalid', 'nobody', 'a@b'])
    assert.equal((await request(mallory, email)).status, 400, email);
});

test('an address that got an account meanwhile is refused', async () => {
  const cleo = await person('cleo@example.org');
  const token = await requestToken(cleo, 'wanted@example.org');
  assert.equal((await choosePassword(local, 'wanted@example.org')).status, 200);
  const { status, body } = await use(cleo, token);
  assert.deepEqual([status, body.error.code], [409, 'conflict']);
  assert.equal(await emailOf(cleo), 'cleo@example.org');
});

test('links that set a password end with the change', async () => {
  const dora = await person('dora@example.org');
  const token = await requestToken(dora, 'dora@example.com');
  const links = ['dora@example.org', 'dora@example.com'];
  const passwordTokens = [];
  for (const email of links) {
    await local.signIn.accounts.requestLink(email);
    passwordTokens.push(tokenOf(local.printed.at(-1) ?? ''));
  }
  assert.equal((await use(dora, token)).status, 200);
  for (const each of passwordTokens) {
    const json = { token: each, password: 'a password of mallory', name: 'Mallory' };
    assert.equal((await postPortal(service, '/password', json)).status, 403);
  }
  assert.equal((await dora.call('/session')).status, 200);
});

test('manager roles stay with the old address, and bindings end unless the new one has the role', async () => {
  const old = 'manager@example.org';
  const eve = await person(old);
  await manage('acme', old);
  await manage('globex', old);
  await manage('globex', 'manager@example.com');
  const ends = await createApp(eve, 'Ends', 'acme');
  const stays = await createApp(eve, 'Stays', 'globex');
  const token = await requestToken(eve, 'manager@example.com');
  const json = { token };
  const { body } = await eve.call('/account/address-changes/check', { method: 'POST', json });
  assert.deepEqual(
    body.data.endingBindings.map(({ appId, slug }: any) => [appId, slug]),
    [[ends, 'acme']],
  );
  assert.equal((await use(eve, token)).status, 200);
  const apps = (await eve.call('/apps')).body.data;
  assert.deepEqual(
    apps.map(({ id, binding }: any) => [id, binding?.slug ?? null]),
    [
      [ends, null],
      [stays, 'globex'],
    ],
  );
  const bindable = (await eve.call('/bindable')).body.data;
  assert.deepEqual(
    bindable.map(({ slug }: { slug: string }) => slug),
    ['globex'],
  );
  const { rows } = await sql<{ email: string }>`
    select email from org_managers join orgs on orgs.id = org_id where slug = 'acme' order by email
  `.execute(database);
  assert.deepEqual(rows, [{ email: old }]);
  // The binding depends on the new address now.
  await manage('globex', 'manager@example.com', removeManager);
  const { body: after } = await eve.call(`/apps/${stays}`);
  assert.equal(after.data.binding, null);
});

test('asking for an address with manager roles or apps gives nothing before it is proven', async () => {
  await manage('acme', 'boss@example.org');
  await makeKey(local, { owner: 'boss@example.org' });
  const mallory = await person('mallory-3@example.org');
  assert.equal((await request(mallory, 'boss@example.org')).status, 202);
  assert.deepEqual((await mallory.call('/bindable')).body.data, []);
  assert.deepEqual((await mallory.call('/apps')).body.data, []);
});

test('roles and invitations move, and the log of an app names both addresses', async () => {
  const ned = await person('ned@example.org');
  const app = await createApp(ned, 'Herald');
  const shared = await createApp(ned, 'Shared');
  for (const [appId, email, role] of [
    [app, 'guest@example.org', 'viewer'],
    [shared, 'ned@example.com', 'developer'],
  ])
    await ned.call(`/apps/${appId}/invitations`, { method: 'POST', json: { email, role } });
  // The new address is a member already, without an account.
  await database
    .transaction()
    .execute((tx) =>
      setMember(tx, testActor, { appId: app, email: 'ned@example.com', role: 'viewer' }),
    );
  assert.equal((await use(ned, await requestToken(ned, 'ned@example.com'))).status, 200);

  const apps = (await ned.call('/apps')).body.data;
  assert.deepEqual(
    apps.map(({ id, role, isLastOwner }: any) => [id, role, isLastOwner]),
    [
      [app, 'owner', true],
      [shared, 'owner', true],
    ],
  );
  const members = (await ned.call(`/apps/${shared}/members`)).body.data;
  assert.deepEqual(
    members.map(({ email }: { email: string }) => email),
    ['ned@example.com'],
  );
  const invitations = (await ned.call(`/apps/${app}/invitations`)).body.data;
  assert.deepEqual(
    invitations.map(({ email, invitedBy }: any) => [email, invitedBy]),
    [['guest@example.org', 'ned@example.com']],
  );
  assert.deepEqual((await ned.call(`/apps/${shared}/invitations`)).body.data, []);
  const { body } = await ned.call(`/audit?app=${shared}`);
  assert.deepEqual(
    body.data.slice(0, 3).map(({ action, subject }: any) => [action, subject.name]),
    [
      ['member.removed', 'ned@example.org'],
      ['invitation.ended', 'ned@example.com'],
      ['member.added', 'ned@example.com'],
    ],
  );
});

test('of two uses of a link one succeeds, and of two accounts one gets the address', async () => {
  const fay = await person('fay@example.org');
  const token = await requestToken(fay, 'fay@example.com');
  const twice = await Promise.all([use(fay, token), use(fay, token)]);
  assert.deepEqual(twice.map(({ status }) => status).sort(), [200, 403]);

  const both = await Promise.all([person('gil@example.org'), person('hal@example.org')]);
  const tokens: string[] = [];
  for (const each of both) tokens.push(await requestToken(each, 'both@example.com'));
  const answers = await Promise.all(both.map((each, index) => use(each, tokens[index] ?? '')));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
});

test('a change of address and a password reset at once never fail or deadlock', async () => {
  const ida = await person('ida@example.org');
  for (let round = 0; round < 5; round += 1) {
    const now = await emailOf(ida);
    const token = await requestToken(ida, `ida-${round}@example.com`);
    await local.signIn.accounts.requestLink(now);
    const reset = tokenOf(local.printed.at(-1) ?? '');
    const [changed, set] = await Promise.all([
      use(ida, token),
      postPortal(service, '/password', { token: reset, password, name: 'Ida' }),
    ]);
    // The reset ends the session of the change, or the change ends the link of the reset.
    assert.ok([200, 401, 403].includes(changed.status), changed.text);
    assert.ok([200, 403].includes(set.status), set.text);
    const current = changed.status === 200 ? `ida-${round}@example.com` : now;
    ida.call = (await signInAs(service, current)).call;
    await sql`delete from users where email = ${now} and email <> ${current}`.execute(database);
  }
});

test('whoever signs in with a provider that proves no address can add one', async () => {
  provider.person = { sub: 'unproven-1' };
  const page = '/profile/developer/account';
  const json = { provider: 'oidc', callbackURL: page, errorCallbackURL: page };
  const signIn = async () => {
    const answer = await comeBack(service, await postPortal(service, '/sign-in/provider', json));
    return personOf(service, 'unproven-1@oidc.invalid', cookiesOf(answer));
  };
  const jo = await signIn();
  assert.equal(await emailOf(jo), 'unproven-1@oidc.invalid');
  assert.equal((await use(jo, await requestToken(jo, 'jo@example.com'))).status, 200);
  assert.equal(await emailOf(await signIn()), 'jo@example.com', 'the provider opens it as before');
  assert.ok(!smtp.mails.some(({ to }) => to[0]?.endsWith('.invalid')));
});

test('the mails of changes are bounded', async () => {
  const kim = await person('kim@example.org');
  const from = (ip: string, email: string) =>
    kim.call('/account/address-changes', {
      method: 'POST',
      json: { email },
      headers: { 'x-forwarded-for': ip },
    });
  const statuses = [];
  for (let index = 0; index < 6; index += 1)
    statuses.push((await from(`192.0.2.${index}`, `kim-${index}@example.com`)).status);
  assert.deepEqual(statuses, [202, 202, 202, 202, 202, 429]);
});

test('a service without mail changes no address', async () => {
  const silent = await startTestService({
    env: { TRUST_PROXY: '127.0.0.0/8' },
    beside: local,
  });
  await signUp(local, 'max@example.org');
  const max = await signInAs(silent, 'max@example.org');
  assert.equal((await request(max, 'max@example.com')).status, 503);
});
