import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mock, test } from 'node:test';
import type { PluginTransformQueryArgs, PluginTransformResultArgs } from 'kysely';
import { pino } from 'pino';
import { sql } from '../../src/database/database.ts';
import { createLogger } from '../../src/runtime/log.ts';
import { AccountMail } from '../../src/sign-in/account-mail.ts';
import { Accounts, createAccountLink } from '../../src/sign-in/accounts.ts';
import { createPasswordHashing } from '../../src/sign-in/auth.ts';
import { setSignUpBlock } from '../../src/sign-in/sign-up-blocks.ts';
import { testActor } from '../support/actor.ts';
import {
  callPortal,
  choosePassword,
  cookiesOf,
  password,
  postPortal,
  printedToken,
  signInAs,
  signUp,
} from '../support/portal.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, testPublicUrl } from '../support/service.ts';

/** Real, as in production: this file is about passwords. */
const hashing = createPasswordHashing();
const service = await startTestService({ hashing });
const { database } = service;
const newPassword = 'another horse entirely';

const signIn = (email: string, chosen = password) =>
  postPortal(service, '/sign-in', { email, password: chosen });
const requestLink = (email: string) => postPortal(service, '/password-links', { email });

async function countUsers(email: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from users where email = ${email}
  `.execute(database);
  return rows[0]?.count ?? 0;
}

test('an account is created with the mailed link, and can sign in and out', async () => {
  const email = 'ada@example.org';
  assert.equal((await requestLink('Ada@Example.org')).status, 202);
  assert.equal(await countUsers(email), 0, 'a sign-up stores no account');
  const token = printedToken(service, email);
  const { body: link } = await postPortal(service, '/password-links/check', { token });
  assert.deepEqual(link.data, { email, hasAccount: false });
  const set = await postPortal(service, '/password', { token, password, name: ' Ada ' });
  assert.deepEqual(set.body.data, { email, created: true, methods: [], hasPasskeys: false });
  assert.equal(set.headers.getSetCookie().length, 0);
  const ada = await signInAs(service, email);
  const { body } = await ada.call('/session');
  const { id: _, ...user } = body.data.user;
  assert.deepEqual(user, { name: 'Ada', email, image: null });
  assert.equal((await ada.call('/sign-out', { method: 'POST' })).status, 200);
  assert.equal((await ada.call('/session')).status, 401);
});

test("signing up with another's address gains nothing", async () => {
  const email = 'victim@example.org';
  // The attacker asks for a link, and so does the victim; both links go to the victim.
  await requestLink(email);
  const stale = printedToken(service, email);
  await requestLink(email);
  const token = printedToken(service, email);
  // A mail scanner opens both. Only the page is behind them: the token stands in the fragment.
  for (let index = 0; index < 2; index += 1)
    assert.equal((await fetch(`${service.url}/profile/developer/set-password`)).status, 200);
  assert.equal((await signIn(email, 'the attacker chose this')).status, 401);
  const old = await postPortal(service, '/password', { token: stale, password, name: 'V' });
  assert.equal(old.status, 403, 'the newer link replaces the older');
  const set = await postPortal(service, '/password', { token, password, name: 'V' });
  assert.equal(set.status, 200);
  assert.equal((await signIn(email)).status, 200);
});

test('the database keeps no account whose address is not proven', async () => {
  const insert = sql`insert into users (id, name, email, email_verified) values (gen_random_uuid(), 'U', 'u@example.org', false)`;
  await assert.rejects(insert.execute(database), { constraint: 'users_proven' });
});

test('a link works once, for an hour, and only with its token', async () => {
  const email = 'once@example.org';
  await requestLink(email);
  const token = printedToken(service, email) ?? '';
  const { rows } = await sql<{ kept: string }>`
    select (select jsonb_agg(l) from password_links l)::text as kept
  `.execute(database);
  assert.ok(!rows[0]?.kept.includes(token), 'the database knows a hash alone');
  for (const guess of [`${token}x`, token.toLowerCase(), 'x']) {
    const json = { token: guess, password, name: 'O' };
    assert.equal((await postPortal(service, '/password', json)).status, 403);
    assert.equal(
      (await postPortal(service, '/password-links/check', { token: guess })).status,
      403,
    );
  }
  const nameless = await postPortal(service, '/password', { token, password });
  assert.equal(nameless.status, 400);
  assert.deepEqual(nameless.body.error.details.issues[0].path, 'body.name');
  const both = await Promise.all(
    ['A', 'B'].map((name) => postPortal(service, '/password', { token, password, name })),
  );
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 403]);
  assert.equal(await countUsers(email), 1);
  await requestLink(email);
  await sql`update password_links set expires_at = now() where email = ${email}`.execute(database);
  const late = { token: printedToken(service, email), password: newPassword };
  assert.equal((await postPortal(service, '/password', late)).status, 403);
  assert.equal((await signIn(email)).status, 200);
});

test('a reset ends every session and lists the other sign-in methods', async () => {
  const email = 'forgetful@example.org';
  const eve = await signUp(service, email);
  const { body } = await eve.call('/session');
  await sql`
    insert into accounts (id, user_id, provider_id, account_id, created_at)
    values (gen_random_uuid(), ${body.data.user.id}, 'github', '17', '2026-11-20T12:00:00Z')
  `.execute(database);
  const set = await choosePassword(service, email, { password: newPassword });
  const [method, ...others] = set.body.data.methods;
  assert.deepEqual([method.provider, method.createdAt], ['github', '2026-11-20T12:00:00.000Z']);
  assert.deepEqual([set.body.data.created, others], [false, []]);
  assert.equal(set.body.data.hasPasskeys, false);
  assert.equal((await eve.call('/session')).status, 401);
  assert.equal((await signIn(email)).status, 401);
  const again = await signInAs(service, email, newPassword);
  const name = (await again.call('/session')).body.data.user.name;
  assert.equal(name, 'forgetful', 'the name stays');
  const removed = await again.call(`/account/methods/${method.id}`, { method: 'DELETE' });
  assert.equal(removed.status, 200);
  await sql`
    insert into passkeys (id, user_id, name, credential_id, public_key, counter)
    values (gen_random_uuid(), ${body.data.user.id}, 'Of an intruder', 'AAAA', '', 0)
  `.execute(database);
  const { data } = (await choosePassword(service, email)).body;
  assert.deepEqual([data.methods, data.hasPasskeys], [[], true]);
});

test('a sign-in with the old password during a reset gives no session', async () => {
  const email = 'raced@example.org';
  let checking = () => {};
  let goOn = () => {};
  const reached = new Promise<void>((resolve) => (checking = resolve));
  const released = new Promise<void>((resolve) => (goOn = resolve));
  let hold = false;
  const racing = await startTestService({
    beside: service,
    hashing: {
      hash: async (text) => `cheap ${text}`,
      verify: async ({ hash, password: text }) => {
        if (hold) {
          hold = false;
          checking();
          await released;
        }
        return hash === `cheap ${text}`;
      },
    },
  });
  await signUp(racing, email);
  hold = true;
  const signingIn = postPortal(racing, '/sign-in', { email, password });
  await reached;
  await choosePassword(racing, email, { password: newPassword });
  goOn();
  const late = await signingIn;
  assert.equal(late.status, 401);
  assert.equal((await callPortal(racing, '/session', {}, cookiesOf(late))).status, 401);
  const { rows } = await sql`
    select 1 from sessions s join users u on u.id = s.user_id where u.email = ${email}
  `.execute(database);
  assert.equal(rows.length, 0);
});

test('the session cookie is host-only and hidden from scripts', async () => {
  const email = 'cookie@example.org';
  await signUp(service, email);
  const [session = '', device = ''] = (await signIn(email)).headers.getSetCookie();
  assert.match(session, /^orgdir\.session_token=/);
  assert.match(device, /^orgdir\.device=/);
  for (const cookie of [session, device]) {
    assert.match(cookie, /; HttpOnly/);
    assert.match(cookie, /; SameSite=Lax/);
    assert.match(cookie, /; Path=\//i);
    assert.doesNotMatch(cookie, /Domain=/);
  }
  const tls = await startTestService({
    env: { PUBLIC_URL: 'https://directory.test' },
    beside: service,
    hashing,
  });
  const secure = await postPortal(
    tls,
    '/sign-in',
    { email, password },
    { headers: { origin: 'https://directory.test' } },
  );
  const cookies = secure.headers.getSetCookie();
  assert.match(cookies[0] ?? '', /^__Host-orgdir\.session_token=/);
  assert.match(cookies[1] ?? '', /^__Host-orgdir\.device=/);
  for (const cookie of cookies) assert.match(cookie, /; Secure/);
  assert.equal((await callPortal(tls, '/session', {}, cookiesOf(secure))).status, 200);
});

test('no response reveals whether an address has an account', async () => {
  await signUp(service, 'known@example.org');
  const emails = ['known@example.org', 'stranger@example.org'];
  for (const ask of [
    (email: string) => signIn(email, `${password}!`),
    (email: string) => requestLink(email),
  ]) {
    const [known, stranger] = await Promise.all(emails.map(ask));
    assert.deepEqual([known?.status, known?.text], [stranger?.status, stranger?.text]);
  }
  // Both were sent a link that works, and only its mail says for what.
  for (const email of emails) {
    const token = printedToken(service, email);
    const { body } = await postPortal(service, '/password-links/check', { token });
    assert.deepEqual(body.data, { email, hasAccount: email === 'known@example.org' });
  }
});

test('a request for a link runs the same statements and writes a row whether or not there is an account', async () => {
  const { email: known } = await signUp(service, 'listed@example.org');
  const { email: blocked } = await signUp(service, 'ada@blocked.test');
  await database.transaction().execute((tx) => setSignUpBlock(tx, testActor, 'blocked.test', true));
  const statements: string[] = [];
  const transformQuery = ({ node }: PluginTransformQueryArgs) => {
    if (node.kind === 'RawNode') statements.push(node.sqlFragments.join('?'));
    return node;
  };
  const transformResult = async ({ result }: PluginTransformResultArgs) => result;
  const accounts = new Accounts({
    database: database.withPlugin({ transformQuery, transformResult }),
    publicUrl: testPublicUrl,
    providers: [],
    mail: new AccountMail({
      publicUrl: testPublicUrl,
      serviceName: 'Directory',
      mailer: null,
      print() {},
      log: createLogger('silent'),
    }),
    ...hashing,
  });
  for (const ask of [
    (email: string) => accounts.requestLink(email),
    (email: string) => accounts.requestSignUp(email, '/apps'),
  ]) {
    const ran: unknown[] = [];
    for (const email of [known, blocked, 'none@example.org', 'none@blocked.test'])
      for (let count = 0; count < 2; count += 1) {
        const before = await versionOf(email);
        statements.length = 0;
        await ask(email);
        ran.push({ statements: [...statements], writes: (await versionOf(email)) !== before });
      }
    for (const one of ran) assert.deepEqual(one, { statements: [statements[0]], writes: true });
  }

  /** Of the row of its link. */
  async function versionOf(email: string): Promise<string | undefined> {
    const { rows } = await sql<{ version: string }>`
      select xmin::text as version from password_links where email = ${email}
    `.execute(database);
    return rows[0]?.version;
  }
});

test('a request for an address that may not sign up keeps the link that an operator handed over', async () => {
  const email = 'handed@blocked.test';
  const { url } = await database
    .transaction()
    .execute((tx) => createAccountLink(tx, testActor, { email, publicUrl: testPublicUrl }));
  assert.equal((await requestLink(email)).status, 202);
  const token = new URL(url).hash.slice(1);
  const { body } = await postPortal(service, '/password-links/check', { token });
  assert.deepEqual(body.data, { email, hasAccount: false });
});

test('names, passwords and addresses are validated', async () => {
  const email = 'bounds@example.org';
  await requestLink(email);
  const token = printedToken(service, email);
  for (const bad of [
    { password: 'short' },
    { password: 'x'.repeat(129) },
    { name: '' },
    { name: '   ' },
    { name: 'n'.repeat(101) },
    { name: 'a\u0007b' },
    { name: 'a\u2028b' },
    { name: 'a\u202eb' },
    { name: ['x'] },
    { image: {} },
  ]) {
    const json = { token, password, name: 'B', ...bad };
    assert.equal((await postPortal(service, '/password', json)).status, 400, JSON.stringify(bad));
  }
  for (const bad of [
    '248289761001@oidc.invalid',
    'no address',
    'ada@localhost',
    // Lower-cased, these are other people's addresses.
    '\u212Aate@example.org',
    'ad\u0130@example.org',
    ['ada@example.org'],
    null,
  ])
    assert.equal((await requestLink(bad as string)).status, 400, String(bad));
  assert.equal(await countUsers(email), 0);
  const set = await postPortal(service, '/password', { token, password, name: 'B' });
  assert.equal(set.status, 200, 'what was refused used up nothing');
});

test('a password of the maximum length works with any characters', async () => {
  const email = 'emoji@example.org';
  const long = '\u{1F600}'.repeat(128);
  assert.equal((await choosePassword(service, email, { password: long })).status, 200);
  assert.equal((await signIn(email, long)).status, 200);
  assert.equal((await signIn('nobody@example.org', long)).status, 401);
});

test('writes are accepted only from pages of this service', async () => {
  const tricked = await signUp(service, 'tricked@example.org');
  for (const origin of [
    'https://evil.example',
    'null',
    'http://directory.localhost.evil.example',
    `${testPublicUrl}:81`,
    '',
  ]) {
    const headers = { origin };
    const json = { name: 'Trojan' };
    const made = await tricked.call('/apps', { method: 'POST', json, headers });
    assert.equal(made.status, 403, origin);
    const left = await tricked.call('/sign-out', { method: 'POST', headers });
    assert.equal(left.status, 403, origin);
  }
  assert.equal((await tricked.call('/apps')).body.data.length, 0);
});

test('only the callback of a provider exists below /auth', async () => {
  for (const path of [
    '/sign-up/email',
    '/sign-in/email',
    '/sign-in/social',
    '/verify-email?token=x&callbackURL=/.//evil.example/x',
    '/send-verification-email',
    '/reset-password',
    '/update-user',
    '/delete-user',
    '/change-email',
    '/error',
    '/ok',
    '/get-session',
    '/',
  ]) {
    const answer = await postPortal(service, `/auth${path}`, {});
    assert.equal(answer.status, 404, path);
    assert.equal(answer.headers.get('location'), null, path);
  }
});

test('a task deletes expired sessions, links and unfinished sign-ins, a batch at a time', async () => {
  const stays = await signUp(service, 'stays@example.org');
  const leaves = await signInAs(service, 'stays@example.org');
  await requestLink('never@example.org');
  const { body } = await leaves.call('/session');
  await sql`update sessions set expires_at = now() where id = ${body.data.id}`.execute(database);
  await sql`update password_links set expires_at = now() where email = 'never@example.org'`.execute(
    database,
  );
  // Anybody can begin to sign in with a provider, and never come back.
  await sql`
    insert into verifications (id, identifier, value, expires_at)
    select gen_random_uuid(), 'state', '{}', now() - interval '1 minute' from generate_series(1, 1200)
    union all select gen_random_uuid(), 'in flight', '{}', now() + interval '1 minute'
  `.execute(database);
  service.signIn.start();
  await eventually(async () => {
    const { rows } = await sql<{ expired: number }>`
      select (select count(*) from sessions where expires_at <= now())
        + (select count(*) from password_links where expires_at <= now())
        + (select count(*) from verifications where expires_at <= now()) as expired
    `.execute(database);
    return rows[0]?.expired === 0;
  });
  const { rows: left } = await sql<{ identifier: string }>`
    select identifier from verifications
  `.execute(database);
  assert.ok(left.some(({ identifier }) => identifier === 'in flight'));
  assert.equal((await stays.call('/session')).status, 200);
  assert.equal((await leaves.call('/session')).status, 401);
});

test('a new first key of SECRET_KEY ends sessions and keeps passwords', async () => {
  const person = await signUp(service, 'rotated@example.org');
  const { secretKeys } = service;
  const rotated = await startTestService({
    beside: { ...service, secretKeys: [randomBytes(32), ...secretKeys] },
    hashing,
  });
  const session = await callPortal(rotated, '/session', {}, person.credentials['cookie']);
  assert.equal(session.status, 401);
  const again = await signInAs(rotated, person.email);
  assert.equal((await again.call('/session')).status, 200);
});

test('the first account is created with the printed link, once', async () => {
  const fresh = await startTestService();
  const token = firstToken(await fresh.signIn.offerFirstAccount());
  const another = firstToken(await fresh.signIn.offerFirstAccount());
  const { rows } = await sql<{ hash: Buffer }>`select hash from first_account_links`.execute(
    fresh.database,
  );
  assert.equal(rows.length, 2);
  assert.ok(rows.every(({ hash }) => !hash.toString('utf8').includes(token)));
  const account = { email: 'first@example.org', name: 'First', password };
  const guess = { ...account, token: `${token}x` };
  assert.equal((await postPortal(fresh, '/first-account', guess)).status, 403);
  const tries = await Promise.all(
    [token, another].map((each, index) =>
      postPortal(fresh, '/first-account', {
        ...account,
        email: `first-${index}@example.org`,
        token: each,
      }),
    ),
  );
  assert.deepEqual(tries.map(({ status }) => status).sort(), [201, 403]);
  const made = `first-${tries.findIndex(({ status }) => status === 201)}@example.org`;
  assert.equal((await (await signInAs(fresh, made)).call('/session')).status, 200);
  assert.equal((await postPortal(fresh, '/first-account', { ...account, token })).status, 403);
  assert.equal(await fresh.signIn.offerFirstAccount(), null);
});

/** Behind `#`, which no browser sends. */
function firstToken(link: string | null): string {
  const [page, token = ''] = link?.split('#') ?? [];
  assert.equal(page, `${testPublicUrl}/profile/developer/first-account`);
  return token;
}

test('a link for the first account expires', async () => {
  const fresh = await startTestService();
  const token = firstToken(await fresh.signIn.offerFirstAccount());
  await sql`update first_account_links set expires_at = now()`.execute(fresh.database);
  const json = { token, email: 'late@example.org', name: 'Late', password };
  assert.equal((await postPortal(fresh, '/first-account', json)).status, 403);
});

for (const env of [
  { HOST: '0.0.0.0' },
  { PUBLIC_URL: 'https://directory.example.org' },
  { TRUST_PROXY: '127.0.0.0/8' },
])
  test(`without mail, links are printed nowhere that others might read: ${JSON.stringify(env)}`, async () => {
    const open = await startTestService({ env, beside: service });
    const options = await callPortal(open, '/sign-in-options');
    assert.deepEqual(
      [options.body.data.password.signUp, options.body.data.password.links],
      [false, null],
    );
    const origin = env.PUBLIC_URL ?? testPublicUrl;
    const json = { email: 'mailless@example.org' };
    const refused = await postPortal(open, '/password-links', json, { headers: { origin } });
    assert.equal(refused.status, 503);
    assert.match(refused.body.error.message, /sends no mail/);
    assert.equal(open.printed.length, 0);
    const local = await callPortal(service, '/sign-in-options');
    assert.equal(local.body.data.password.links, 'terminal');
  });

test('rejected requests are not logged, and failures are logged without data and URL', async () => {
  const lines: string[] = [];
  const log = pino({ base: {}, level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const failing = await startTestService({ log });
  const email = 'known@example.org';
  await signUp(failing, email);
  const written = mock.method(console, 'error', () => {});
  try {
    const wrong = { email, password: 'not this one' };
    assert.equal((await postPortal(failing, '/sign-in', wrong)).status, 401);
    assert.equal(lines.length, 0);
    const bad = await callPortal(failing, '/auth/callback/oidc?state=s3cret&code=c0de');
    assert.equal(bad.status, 404, 'no provider is configured');
    // The database refuses the new session, and says what the row would have held, its token too.
    await sql`alter table sessions add check (token = '') not valid`.execute(failing.database);
    assert.equal((await postPortal(failing, '/sign-in', { email, password })).status, 500);
    assert.equal(written.mock.callCount(), 0);
  } finally {
    written.mock.restore();
  }
  const said = lines.join('');
  assert.match(said, /request\.failed.*23514|23514.*request\.failed/);
  assert.doesNotMatch(said, /Failing row|s3cret|c0de/);
  for (const line of lines) assert.equal(line.match(/"level":/g)?.length, 1, line);
});
