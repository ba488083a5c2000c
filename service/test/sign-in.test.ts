import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mock, test } from 'node:test';
import { pino } from 'pino';
import { sql } from '../src/database/database.ts';
import {
  callAuth,
  callPortal,
  cookiesOf,
  password,
  printedLink,
  signInAs,
  signUp,
} from './support/portal.ts';
import { startTestService, testPublicUrl } from './support/service.ts';

const service = await startTestService();
const { database } = service;

test('an account is made, confirmed by the link, and signed in and out with', async () => {
  const email = 'ada@example.org';
  const json = { email: 'Ada@Example.org', name: 'Ada', password };
  const made = await callAuth(service, '/sign-up/email', { json });
  assert.equal(made.status, 200);
  assert.equal(made.headers.getSetCookie().length, 0);
  const early = await callAuth(service, '/sign-in/email', { json: { email, password } });
  assert.equal(early.status, 403);
  assert.equal(early.headers.getSetCookie().length, 0);
  const confirmed = await callAuth(service, printedLink(service, email));
  assert.equal(confirmed.status, 302);
  const ada = await signInAs(service, email);
  const { status, body } = await ada.call('/session');
  assert.equal(status, 200);
  const { id: _, ...user } = body.data.user;
  assert.deepEqual(user, { name: 'Ada', email, verified: true, image: null });
  const left = await callAuth(service, '/sign-out', {
    json: {},
    cookie: ada.credentials['cookie'] ?? '',
  });
  assert.equal(left.status, 200);
  assert.equal((await ada.call('/session')).status, 401);
});

test('the cookie is for this host alone, and no script reads it', async () => {
  await signUp(service, 'cookie@example.org');
  const json = { email: 'cookie@example.org', password };
  const [cookie = ''] = (
    await callAuth(service, '/sign-in/email', { json })
  ).headers.getSetCookie();
  assert.match(cookie, /^orgdir\.session_token=/);
  assert.match(cookie, /; HttpOnly/);
  assert.match(cookie, /; SameSite=Lax/);
  assert.match(cookie, /; Path=\//);
  assert.doesNotMatch(cookie, /Domain=/);
  const tls = await startTestService({
    env: { PUBLIC_URL: 'https://directory.test' },
    beside: service,
  });
  const secure = await callAuth(tls, '/sign-in/email', {
    json,
    headers: { origin: 'https://directory.test' },
  });
  const [hostCookie = ''] = secure.headers.getSetCookie();
  assert.match(hostCookie, /^__Host-orgdir\.session_token=/);
  assert.match(hostCookie, /; Secure/);
  assert.match(hostCookie, /; Path=\//);
  const session = await callPortal(tls, '/session', {}, cookiesOf(secure));
  assert.equal(session.status, 200);
});

test('who has an account is not told, at sign-in, sign-up or reset', async () => {
  await signUp(service, 'known@example.org');
  const emails = ['known@example.org', 'stranger@example.org'];
  const wrong = await Promise.all(
    emails.map((email) =>
      callAuth(service, '/sign-in/email', { json: { email, password: `${password}!` } }),
    ),
  );
  const resets = await Promise.all(
    emails.map((email) => callAuth(service, '/request-password-reset', { json: { email } })),
  );
  for (const [known, stranger] of [wrong, resets]) {
    assert.equal(known?.status, stranger?.status);
    assert.equal(known?.text, stranger?.text);
  }
  assert.equal(wrong[0]?.status, 401);
  const ups = await Promise.all(
    ['known@example.org', 'newcomer@example.org'].map((email) =>
      callAuth(service, '/sign-up/email', { json: { email, name: 'N', password } }),
    ),
  );
  assert.deepEqual(
    ups.map(({ status }) => status),
    [200, 200],
  );
  const shapes = ups.map(({ body }) => [Object.keys(body), body.token, Object.keys(body.user)]);
  assert.deepEqual(shapes[0], shapes[1]);
  assert.match(
    service.printed.findLast((line) => line.includes('known@')) ?? '',
    /have an account/,
  );
});

test("whoever signed up with an address that is another's loses it to whoever reads its mail", async () => {
  const email = 'victim@example.org';
  await callAuth(service, '/sign-up/email', { json: { email, name: 'Squatter', password } });
  const asked = await callAuth(service, '/request-password-reset', {
    json: { email, redirectTo: '/profile/developer/reset' },
  });
  assert.equal(asked.status, 200);
  const token = /^\/reset-password\/([^?]+)/.exec(printedLink(service, email))?.[1];
  const newPassword = 'another horse entirely';
  const reset = await callAuth(service, '/reset-password', { json: { token, newPassword } });
  assert.equal(reset.status, 200);
  const old = await callAuth(service, '/sign-in/email', { json: { email, password } });
  assert.equal(old.status, 401);
  const fresh = await callAuth(service, '/sign-in/email', {
    json: { email, password: newPassword },
  });
  assert.equal(fresh.status, 200);
  const again = await callAuth(service, '/reset-password', {
    json: { token, newPassword: `${newPassword}2` },
  });
  assert.equal(again.status, 400);
});

test('a new password ends all sessions', async () => {
  const eve = await signUp(service, 'forgetful@example.org');
  await callAuth(service, '/request-password-reset', { json: { email: eve.email } });
  const token = /^\/reset-password\/([^?]+)/.exec(printedLink(service, eve.email))?.[1];
  await callAuth(service, '/reset-password', {
    json: { token, newPassword: 'another horse entirely' },
  });
  assert.equal((await eve.call('/session')).status, 401);
});

test('passwords have bounds, and nobody signs up with what a provider calls somebody', async () => {
  for (const [email, tried] of [
    ['bounds@example.org', 'short'],
    ['bounds@example.org', 'x'.repeat(129)],
    ['248289761001@oidc.invalid', password],
    ['no address', password],
  ])
    assert.equal(
      (await callAuth(service, '/sign-up/email', { json: { email, name: 'N', password: tried } }))
        .status,
      400,
      `${email} ${tried?.length}`,
    );
  for (const long of [{ name: 'n'.repeat(101) }, { name: 'N', image: 'i'.repeat(2049) }]) {
    const json = { email: 'bounds@example.org', password, ...long };
    assert.equal((await callAuth(service, '/sign-up/email', { json })).status, 400);
  }
  const { rows } =
    await sql`select 1 from users where email like '%.invalid' or email = 'bounds@example.org'`.execute(
      database,
    );
  assert.equal(rows.length, 0);
});

test('changes are taken from the pages of this service only', async () => {
  const mallory = await signUp(service, 'tricked@example.org');
  for (const origin of [
    'https://evil.example',
    'null',
    'http://directory.localhost.evil.example',
    `${testPublicUrl}:81`,
    '',
  ]) {
    const made = await mallory.call('/apps', {
      method: 'POST',
      json: { name: 'Trojan' },
      headers: { origin },
    });
    assert.equal(made.status, 403, origin);
    const left = await callAuth(service, '/sign-out', {
      json: {},
      cookie: mallory.credentials['cookie'] ?? '',
      headers: { origin },
    });
    assert.equal(left.status, 403, origin);
  }
  assert.equal((await mallory.call('/apps')).body.data.length, 0);
});

test('a link leads back to no other site', async () => {
  const json = {
    email: 'led@example.org',
    name: 'Led',
    password,
    callbackURL: 'https://evil.example/',
  };
  assert.equal((await callAuth(service, '/sign-up/email', { json })).status, 403);
  const reset = { email: 'led@example.org', redirectTo: 'https://evil.example/' };
  assert.equal((await callAuth(service, '/request-password-reset', { json: reset })).status, 403);
});

test('what better-auth can do beyond what the portal needs is not there', async () => {
  for (const path of [
    '/delete-user',
    '/change-email',
    '/error',
    '/ok',
    '/get-access-token',
    '/get-session',
    '/',
  ])
    assert.equal((await callAuth(service, path, { json: {} })).status, 404, path);
  assert.equal((await callAuth(service, '/sign-in/email')).status, 405);
});

test('what has run out is deleted as people come, with accounts that nobody ever confirmed', async () => {
  await callAuth(service, '/sign-up/email', {
    json: { email: 'never@example.org', name: 'N', password },
  });
  await callAuth(service, '/sign-up/email', {
    json: { email: 'not-yet@example.org', name: 'N', password },
  });
  const stays = await signUp(service, 'stays@example.org');
  const leaves = await signInAs(service, 'stays@example.org');
  const { body } = await leaves.call('/session');
  await sql`
    update sessions set expires_at = now() where id = (select max(id::text)::uuid from sessions)
  `.execute(database);
  await sql`update users set created_at = now() - interval '8 days' where email in ('never@example.org', 'stays@example.org')`.execute(
    database,
  );
  await signUp(service, 'comes@example.org');
  const { rows } = await sql<{ expired: number; emails: string[] }>`
    select (select count(*) from sessions where expires_at <= now()) as expired,
      array(select email from users where email in ('never@example.org', 'not-yet@example.org', 'stays@example.org') order by 1) as emails
  `.execute(database);
  assert.deepEqual(rows[0], { expired: 0, emails: ['not-yet@example.org', 'stays@example.org'] });
  assert.equal((await stays.call('/session')).body.data.user.id, body.data.user.id);
  assert.equal((await leaves.call('/session')).status, 401);
});

test('another first key of SECRET_KEY ends sessions, and no password', async () => {
  const person = await signUp(service, 'rotated@example.org');
  const { secretKeys } = service;
  const rotated = await startTestService({
    beside: { ...service, secretKeys: [randomBytes(32), ...secretKeys] },
  });
  const session = await callPortal(rotated, '/session', {}, person.credentials['cookie']);
  assert.equal(session.status, 401);
  const again = await signInAs(rotated, person.email);
  assert.equal((await again.call('/session')).status, 200);
});

test('the first account is made with the link of the terminal, once', async () => {
  const fresh = await startTestService();
  const token = tokenOf(await fresh.signIn.offerFirstAccount());
  const another = tokenOf(await fresh.signIn.offerFirstAccount());
  const { rows } = await sql<{ hash: Buffer }>`select hash from first_account_links`.execute(
    fresh.database,
  );
  assert.equal(rows.length, 2);
  assert.ok(rows.every(({ hash }) => !hash.toString('utf8').includes(token)));
  const account = { email: 'first@example.org', name: 'First', password };
  const guess = await callPortal(fresh, '/first-account', {
    method: 'POST',
    json: { ...account, token: `${token}x` },
  });
  assert.equal(guess.status, 403);
  const tries = await Promise.all(
    [token, another].map((each, index) =>
      callPortal(fresh, '/first-account', {
        method: 'POST',
        json: { ...account, email: `first-${index}@example.org`, token: each },
      }),
    ),
  );
  assert.deepEqual(tries.map(({ status }) => status).sort(), [201, 403]);
  const made = `first-${tries.findIndex(({ status }) => status === 201)}@example.org`;
  assert.equal(
    (await (await signInAs(fresh, made)).call('/session')).body.data.user.verified,
    true,
  );
  const late = await callPortal(fresh, '/first-account', {
    method: 'POST',
    json: { ...account, token },
  });
  assert.equal(late.status, 403);
  assert.equal(await fresh.signIn.offerFirstAccount(), null);
});

/** Behind `#`, which no browser sends. */
function tokenOf(link: string | null): string {
  const [page, token = ''] = link?.split('#') ?? [];
  assert.equal(page, `${testPublicUrl}/profile/developer/first-account`);
  return token;
}

test('a link for the first account runs out', async () => {
  const fresh = await startTestService();
  const token = tokenOf(await fresh.signIn.offerFirstAccount());
  await sql`update first_account_links set expires_at = now()`.execute(fresh.database);
  const json = { token, email: 'late@example.org', name: 'Late', password };
  assert.equal((await callPortal(fresh, '/first-account', { method: 'POST', json })).status, 403);
});

test('without mail, and where others can reach it, nobody can sign up, and is told so', async () => {
  const open = await startTestService({ env: { HOST: '0.0.0.0' }, beside: service });
  const options = await callPortal(open, '/sign-in-options');
  assert.equal(options.body.data.password.signUp, false);
  assert.equal(options.body.data.password.links, null);
  const local = await callPortal(service, '/sign-in-options');
  assert.equal(local.body.data.password.links, 'terminal');
  const json = { email: 'mailless@example.org', name: 'N', password };
  const refused = await callAuth(open, '/sign-up/email', { json });
  assert.equal(refused.status, 503);
  assert.match(refused.body.message, /SMTP_URL/);
  assert.equal((await callAuth(open, '/request-password-reset', { json })).status, 503);
  assert.equal(open.printed.length, 0);
});

test('what is refused is written nowhere, and what fails is logged without what was to be kept', async () => {
  const lines: string[] = [];
  const log = pino({ base: {}, level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const failing = await startTestService({ log });
  const email = 'known@example.org';
  await signUp(failing, email);
  const written = mock.method(console, 'error', () => {});
  try {
    const wrong = { email, password: 'not this one' };
    assert.equal((await callAuth(failing, '/sign-in/email', { json: wrong })).status, 401);
    assert.equal(lines.length, 0);
    // The database refuses the new session, and says what it would have held, its token too.
    await sql`alter table sessions add check (token = '') not valid`.execute(failing.database);
    const json = { email, password };
    assert.equal((await callAuth(failing, '/sign-in/email', { json })).status, 500);
    assert.equal(written.mock.callCount(), 0);
  } finally {
    written.mock.restore();
  }
  const said = lines.join('');
  assert.match(said, /request\.failed.*23514|23514.*request\.failed/);
  assert.doesNotMatch(said, /Failing row/);
});
