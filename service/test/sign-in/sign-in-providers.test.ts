import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addManager } from '../../src/access/managers.ts';
import { sql } from '../../src/database/database.ts';
import { setSignUpBlock } from '../../src/sign-in/sign-up-blocks.ts';
import { providerIdentity } from '../../src/sign-in/provider-identity.ts';
import { testActor } from '../support/actor.ts';
import { addSubject } from '../support/directory.ts';
import { startOidcProvider } from '../support/oidc-provider.ts';
import {
  callPortal,
  choosePassword,
  comeBack,
  cookiesOf,
  password,
  personOf,
  postPortal,
  printedToken,
  signInAs,
  signUp,
  type Person,
} from '../support/portal.ts';
import { rawRequest } from '../support/raw-request.ts';
import { samples } from '../support/samples.ts';
import { startTestService, testPublicUrl } from '../support/service.ts';
import { waitingForLocks } from '../support/waiting-for-locks.ts';

const provider = await startOidcProvider();
const service = await startTestService({ env: provider.env });
const { database } = service;
const org = await addSubject(database, 'organization', { slug: 'acme-corporation', name: 'Acme' });

const page = '/profile/developer';
const back = { provider: 'oidc', callbackURL: page, errorCallbackURL: `${page}/sign-in` };

/** Goes where the portal sends to, and comes back as whoever the provider says. */
async function comeFrom(path: '/sign-in/provider' | '/account/methods', cookie?: string) {
  const begun = await postPortal(service, path, back, cookie === undefined ? {} : { cookie });
  assert.equal(begun.headers.get('location'), null);
  const { searchParams } = new URL(begun.body.data.url);
  assert.equal(searchParams.get('redirect_uri'), `${testPublicUrl}/portal/api/auth/callback/oidc`);
  return comeBack(service, begun, { cookie });
}

async function signIn(): Promise<Person | null> {
  const answer = await comeFrom('/sign-in/provider');
  const cookie = cookiesOf(answer);
  return cookie.includes('session_token=') && !cookie.includes('session_token=;')
    ? personOf(service, String(provider.person.email), cookie)
    : null;
}

async function whoIs(person: Person | null) {
  assert.ok(person, 'nobody was signed in');
  const { body } = await person.call('/session');
  return body.data.user.email;
}

test('the sign-in options include the provider', async () => {
  const { body } = await callPortal(service, '/sign-in-options');
  assert.deepEqual(body.data.providers, [{ id: 'oidc', name: 'Example Login' }]);
});

test('sign-ins with a provider count by outcome, and adding one to an account does not', async () => {
  const read = async () => {
    const found = samples(await service.metrics.render());
    return ['succeeded', 'failed'].map(
      (outcome) => found.get(`orgdir_sign_ins_total{method="provider",outcome="${outcome}"}`) ?? 0,
    );
  };
  const [succeeded = 0, failed = 0] = await read();
  const ada = await signIn();
  assert.ok(ada);
  assert.deepEqual(await read(), [succeeded + 1, failed]);
  await callPortal(service, '/auth/callback/oidc?state=made-up&code=made-up');
  assert.deepEqual(await read(), [succeeded + 1, failed + 1]);
  await comeFrom('/account/methods', ada.credentials['cookie']);
  assert.deepEqual(await read(), [succeeded + 1, failed + 1]);
});

test('an address that the provider has verified belongs to the user', async () => {
  provider.person = { sub: 'a1', email: 'Verified@Example.org', email_verified: true, name: 'Ada' };
  assert.equal(await whoIs(await signIn()), 'verified@example.org');
  await signIn();
  const { rows } = await sql`select 1 from users where email = 'verified@example.org'`.execute(
    database,
  );
  assert.equal(rows.length, 1, 'the same user the second time');
});

test('an unverified address gives no roles and no apps', async () => {
  const victim = 'officer@example.org';
  await database.transaction().execute((tx) => addManager(tx, testActor, org, victim));
  const officer = await signUp(service, victim);
  const app = await officer.call('/apps', { method: 'POST', json: { name: 'Officer' } });
  for (const verified of [{}, { email_verified: false }, { email_verified: 'yes' as never }]) {
    provider.person = { sub: 'm1', email: victim, name: 'Mallory', ...verified };
    const mallory = await signIn();
    assert.equal(await whoIs(mallory), 'm1@oidc.invalid');
    assert.deepEqual((await mallory?.call('/apps'))?.body.data, []);
    assert.deepEqual((await mallory?.call('/bindable'))?.body.data, []);
    assert.equal((await mallory?.call(`/apps/${app.body.data.id}`))?.status, 404);
  }
});

test('a provider creates no account for a blocked address, and signs in to the one that exists', async () => {
  provider.person = { sub: 'b1', email: 'early@blocked.test', email_verified: true };
  assert.ok(await signIn());
  await database.transaction().execute((tx) => setSignUpBlock(tx, testActor, 'blocked.test', true));
  assert.ok(await signIn());
  provider.person = { sub: 'b2', email: 'late@blocked.test', email_verified: true };
  const answer = await comeFrom('/sign-in/provider');
  const location = new URL(answer.headers.get('location') ?? '');
  assert.equal(location.searchParams.get('error'), 'sign_up_refused');
  const { rows } = await sql`select from users where email = 'late@blocked.test'`.execute(database);
  assert.equal(rows.length, 0);
});

test('a sign-up that the database refuses, or whose account goes at once, says what to do', async () => {
  const comesWith = async (sub: string, does: string) => {
    const email = `${sub}@refused.test`;
    provider.person = { sub, email, email_verified: true };
    await sql`
      create function refuse() returns trigger language plpgsql as ${sql.lit(`begin ${does}; end`)};
      create trigger refuse before insert on users for each row
        when (new.email = ${sql.lit(email)}) execute function refuse();
    `.execute(database);
    const answer = await comeFrom('/sign-in/provider');
    await sql`drop function refuse cascade`.execute(database);
    assert.doesNotMatch(cookiesOf(answer), /session_token=[^;]/);
    const location = new URL(answer.headers.get('location') ?? '');
    return location.searchParams.get('error');
  };
  assert.equal(await comesWith('r1', "raise 'no room'"), 'unavailable');
  // As if it had been deleted when better-auth looks for it.
  assert.equal(await comesWith('r2', 'return null'), 'account_deleted');
  assert.ok(await signIn());
});

/** Runs both while nobody can write how to sign in, once so many statements wait for that or for each other. */
async function whileAccountsAreLocked<A, B>(
  first: () => Promise<A>,
  then: () => Promise<B>,
  waiting: number,
) {
  return database.transaction().execute(async (tx) => {
    await sql`lock table accounts in share mode`.execute(tx);
    const one = first();
    await waitingForLocks(database);
    const other = then();
    await waitingForLocks(database, waiting);
    return [one, other] as const;
  });
}

test('browsers in which somebody signs up at the same moment are all signed in to one account', async () => {
  for (const verified of [true, false]) {
    const email = `several-${verified}@example.org`;
    provider.person = { sub: `several-${verified}`, email, email_verified: verified, name: 'Sev' };
    const others = async () => Promise.all([signIn(), signIn(), signIn()]);
    const [first, rest] = await whileAccountsAreLocked(signIn, others, 4);
    const expected = verified ? email : 'several-false@oidc.invalid';
    for (const person of [await first, ...(await rest)])
      assert.equal(await whoIs(person), expected);
    const { rows } = await sql`
      select action, details ->> 'provider' as provider from audit_log
      where action = 'account.created' and subject_id = (select id::text from users where email = ${expected})
    `.execute(database);
    assert.deepEqual(rows, [{ action: 'account.created', provider: 'oidc' }]);
  }
});

test('of a sign-up by mail and one with a provider at the same moment, the first makes the account', async () => {
  const byProvider = () => comeFrom('/sign-in/provider');
  const byMail = (email: string) => async () => {
    const token = printedToken(service, email);
    return postPortal(service, '/password', { token, password, name: 'Both' });
  };
  for (const [email, isMailFirst] of [
    ['mail-first@example.org', true],
    ['mail-second@example.org', false],
  ] as const) {
    await postPortal(service, '/password-links', { email });
    provider.person = { sub: email.split('@')[0]!, email, email_verified: true, name: 'Both' };
    const [mail, answer] = isMailFirst
      ? await whileAccountsAreLocked(byMail(email), byProvider, 2)
      : ((await whileAccountsAreLocked(byProvider, byMail(email), 2)).toReversed() as never);
    const location = (await answer).headers.get('location') ?? '';
    assert.deepEqual(
      [(await mail).status, URL.parse(location, testPublicUrl)?.searchParams.get('error')],
      isMailFirst ? [200, 'account_not_linked'] : [403, null],
    );
  }
});

test('a sign-up with a provider that breaks off in the middle leaves nothing', async () => {
  const email = 'broken@example.org';
  provider.person = { sub: 'broken', email, email_verified: true, name: 'Bea' };
  await sql`
    create function refuse_account() returns trigger language plpgsql as $$
    begin raise exception 'refused by the test'; end $$
  `.execute(database);
  await sql`
    create trigger refuse before insert on accounts for each row execute function refuse_account()
  `.execute(database);
  assert.equal(await signIn(), null);
  await sql`drop trigger refuse on accounts`.execute(database);
  await sql`drop function refuse_account`.execute(database);
  const { rows } = await sql`select from users where email = ${email}`.execute(database);
  assert.equal(rows.length, 0);
  assert.equal(await whoIs(await signIn()), email);
  assert.equal(await whoIs(await signIn()), email);
});

test('a sign-up that an earlier version broke off in the middle is done again', async () => {
  const email = 'half@example.org';
  provider.person = { sub: 'half', email, email_verified: true, name: 'Hal' };
  await sql`
    insert into users (id, name, email, email_verified) values (uuid_v7(), 'Half', ${email}, true)
  `.execute(database);
  assert.equal(await whoIs(await signIn()), email);
});

test('a provider identity can be a manager and own apps', async () => {
  provider.person = { sub: 's1', name: 'Subject' };
  const person = await signIn();
  await database.transaction().execute((tx) => addManager(tx, testActor, org, 's1@oidc.invalid'));
  const app = await person?.call('/apps', { method: 'POST', json: { name: 'Subject' } });
  const bound = await person?.call(`/apps/${app?.body.data.id}/binding`, {
    method: 'PUT',
    json: { kind: 'organization', slug: 'acme-corporation' },
  });
  assert.equal(bound?.status, 200);
});

test('a second account with the same address does not take over the first, verified or not', async () => {
  const first = await signUp(service, 'first@example.org');
  const before = await first.call('/session');
  provider.person = { sub: 'f2', email: first.email, email_verified: true };
  const answer = await comeFrom('/sign-in/provider');
  assert.equal(answer.status, 302);
  assert.match(answer.headers.get('location') ?? '', /error=account_not_linked/);
  assert.doesNotMatch(cookiesOf(answer), /session_token=[^;]/);
  const { rows } = await sql<{ provider_id: string }>`
    select provider_id from accounts a join users u on u.id = a.user_id where u.email = ${first.email}
  `.execute(database);
  assert.deepEqual(rows, [{ provider_id: 'credential' }]);
  assert.equal((await first.call('/session')).text, before.text);
});

test('a callback without the cookie of the start signs nobody in', async () => {
  provider.person = { sub: 'c1', email: 'csrf@example.org', email_verified: true };
  const begun = await postPortal(service, '/sign-in/provider', back);
  const there = await fetch(begun.body.data.url, { redirect: 'manual' });
  const { search } = new URL(there.headers.get('location') ?? '');
  const answer = await callPortal(service, `/auth/callback/oidc${search}`);
  assert.doesNotMatch(cookiesOf(answer), /session_token=[^;]/);
});

test('an unused sign-up does not block sign-in with a provider, which ends its link', async () => {
  const email = 'pending@example.org';
  await postPortal(service, '/password-links', { email });
  provider.person = { sub: 'p1', email, email_verified: true, name: 'Owner' };
  const person = await signIn();
  assert.equal(await whoIs(person), email);
  const { rows } = await sql`select 1 from password_links where email = ${email}`.execute(database);
  assert.equal(rows.length, 0);
  const token = printedToken(service, email);
  for (const [path, json] of [
    ['/password-links/check', { token }],
    ['/password', { token, password: 'a password of somebody else', name: 'Mallory' }],
  ] as const)
    assert.equal((await postPortal(service, path, json)).status, 403, path);
  assert.equal(await whoIs(person), email);
  const set = await choosePassword(service, email);
  assert.deepEqual(
    set.body.data.methods.map((method: { provider: string }) => method.provider),
    ['oidc'],
  );
  assert.equal(await whoIs(await signInAs(service, email)), email);
});

test('the sign-in returns only to pages of the portal', async () => {
  const cookie = (await signUp(service, 'redirected@example.org')).credentials['cookie'] ?? '';
  for (const bad of [
    'https://evil.example/',
    '//evil.example/x',
    '/.//evil.example/x',
    '/..//evil.example/x',
    '/\\evil.example',
    '/profile/developer//evil.example',
    '/profile/developer/../../evil',
    '/profile/developer/nowhere',
    '/profile/developer?x=1#y',
    '/portal/api/session',
    `${testPublicUrl}/profile/developer`,
    '',
    {},
    null,
  ])
    for (const path of ['/sign-in/provider', '/account/methods'])
      for (const field of ['callbackURL', 'errorCallbackURL']) {
        const answer = await postPortal(service, path, { ...back, [field]: bad }, { cookie });
        assert.equal(answer.status, 400, `${path} ${field} ${JSON.stringify(bad)}`);
        assert.equal(answer.headers.get('location'), null);
      }
  for (const query of ['', '?error=x', '?state=unknown', '?state=unknown&code=x', '?code=x']) {
    const answer = await callPortal(service, `/auth/callback/oidc${query}`);
    assert.equal(answer.status, 302, query);
    const to = new URL(answer.headers.get('location') ?? '');
    assert.equal(to.origin + to.pathname, `${testPublicUrl}/profile/developer/sign-in`);
  }
});

test('a manipulated state in the database does not redirect to another site', async () => {
  provider.person = { sub: 'w1', email: 'written@example.org', email_verified: true };
  const begun = await postPortal(service, '/sign-in/provider', back);
  await sql`
    update verifications set value = replace(value, '/profile/developer', '/.//evil.example')
  `.execute(database);
  const answer = await comeBack(service, begun);
  assert.equal(
    answer.headers.get('location'),
    `${testPublicUrl}/profile/developer/sign-in?error=state_mismatch`,
  );
  assert.doesNotMatch(cookiesOf(answer), /session_token=[^;]/);
});

test('a response of the provider without an ID token signs nobody in', async () => {
  provider.person = { sub: 'n1', email: 'no-token@example.org', email_verified: true };
  provider.withIdToken = false;
  const answer = await comeFrom('/sign-in/provider');
  provider.withIdToken = true;
  assert.match(answer.headers.get('location') ?? '', /error=unable_to_get_user_info/);
  assert.doesNotMatch(cookiesOf(answer), /session_token=[^;]/);
  const { rows } = await sql`select 1 from users where email = 'no-token@example.org'`.execute(
    database,
  );
  assert.equal(rows.length, 0);
});

test('the callback reaches no other route of better-auth', async () => {
  const base = '/portal/api/auth/callback/';
  for (const below of [
    '..\\verify-email?token=x&callbackURL=/profile/developer',
    '..\\reset-password\\T',
    '..\\get-session',
    '%2e%2e',
    'github',
    'oidc%2f..%2fok',
  ]) {
    const { status } = await rawRequest(service.url, { path: `${base}${below}` });
    assert.equal(status, 404, below);
  }
  for (const query of [
    'code=a&code=b',
    'state=%00',
    'iss=x&state=y',
    `state=${'x'.repeat(5000)}`,
  ]) {
    const answer = await callPortal(service, `/auth/callback/oidc?${query}`);
    assert.equal(answer.status, 302, query);
  }
});

test('a removed provider signs nobody in, and its sessions end', async () => {
  const person = await signUp(service, 'removes@example.org');
  provider.person = { sub: 'rm1', email: 'intruder@example.org', email_verified: true };
  await comeFrom('/account/methods', person.credentials['cookie']);
  const intruder = await signIn();
  assert.equal(await whoIs(intruder), person.email);
  const { body } = await person.call('/account/methods');
  const linked = body.data.find((method: { provider: string }) => method.provider === 'oidc');
  await person.call(`/account/methods/${linked.id}`, { method: 'DELETE' });
  assert.equal((await intruder?.call('/session'))?.status, 401);
  assert.equal((await person.call('/session')).status, 200);
  assert.equal(await whoIs(await signIn()), 'intruder@example.org');
});

test("a provider's name is shortened and cleaned", async () => {
  provider.person = {
    sub: 'x1',
    email: 'long@example.org',
    email_verified: true,
    name: `\u0007\u202e${'n'.repeat(300)}`,
  };
  const person = await signIn();
  assert.equal((await person?.call('/session'))?.body.data.user.name, 'n'.repeat(100));
});

test('no token of a provider is stored', async () => {
  const { rows } = await sql<{ kept: number }>`
    select count(*) filter (where num_nonnulls(access_token, refresh_token, id_token) > 0) as kept from accounts
  `.execute(database);
  assert.equal(rows[0]?.kept, 0);
});

test('provider ids that differ in case are different users, and none looks like an address', () => {
  const name = (subject: string) =>
    providerIdentity('oidc', { subject, email: 'a@example.org', verified: false }).email;
  assert.equal(name('248289761001'), '248289761001@oidc.invalid');
  assert.notEqual(name('Abc'), name('abc'));
  assert.notEqual(name('ABC'), name('Abc'));
  assert.match(name('x@example.org'), /^\+[0-9a-f]{63}@oidc\.invalid$/);
  const claimed = providerIdentity('oidc', {
    subject: 'z',
    email: 'm1@oidc.invalid',
    verified: true,
  });
  assert.equal(claimed.email, 'z@oidc.invalid');
});

test("a provider's name that is shortened does not end in half a character", async () => {
  const name = `${'n'.repeat(99)}\u{1f680}`;
  provider.person = { sub: 'x2', email: 'rocket@example.org', email_verified: true, name };
  const person = await signIn();
  assert.equal((await person?.call('/session'))?.body.data.user.name, 'n'.repeat(99));
});
