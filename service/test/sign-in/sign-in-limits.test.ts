import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSignInLimits } from '../../src/http/portal/sign-in-limits.ts';
import { createPasswordHashing } from '../../src/sign-in/auth.ts';
import {
  callPortal,
  choosePassword,
  cookiesOf,
  password,
  postPortal,
  signInAs,
  signUp,
} from '../support/portal.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { startTestService } from '../support/service.ts';

/** Links are read by the test from a mail server, as behind a proxy there are no printed ones. */
const smtp = await startSmtpServer();
const env = { TRUST_PROXY: '127.0.0.0/8', ...smtp.env };
const service = await startTestService({ env });
/** Of the same installation, on a terminal: for signing up. */
const local = await startTestService({ beside: service });

/** From another address each time, as a botnet would. */
let next = 0;
function elsewhere(): Record<string, string> {
  next += 1;
  return { 'x-forwarded-for': `198.51.${next >> 8}.${next & 255}` };
}

async function statuses(
  count: number,
  ask: () => ReturnType<typeof postPortal>,
): Promise<number[]> {
  const answers: number[] = [];
  for (let index = 0; index < count; index += 1) answers.push((await ask()).status);
  return answers;
}

test('wrong passwords from one address never lock out the right one from another', async () => {
  const email = 'guessed@example.org';
  await signUp(local, email);
  const attacker = elsewhere();
  const guess = () =>
    postPortal(service, '/sign-in', { email, password: 'not this one' }, { headers: attacker });
  for (let batch = 0; batch < 2; batch += 1) {
    const answers = await Promise.all(Array.from({ length: 10 }, guess));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [401]);
  }
  const refused = await guess();
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
  assert.equal(refused.body.error.code, 'rate_limited');
  const right = { email, password };
  const owner = await postPortal(service, '/sign-in', right, { headers: elsewhere() });
  assert.equal(owner.status, 200);
});

test('many wrong passwords slow down unknown devices, not known ones', async () => {
  const waits: string[] = [];
  const limits = createSignInLimits({
    slowDown: async () => void waits.push('slow'),
  });
  const email = 'flooded@example.org';
  let ip = 0;
  const attempt = (device: string | null) => {
    ip += 1;
    return limits.attempt({ ip: `203.0.113.${ip}`, email, device }, async () => 'checked');
  };
  for (let index = 0; index < 50; index += 1) assert.equal(await attempt(null), 'checked');
  assert.equal(waits.length, 40, 'all but the first ten');
  assert.equal(await attempt('a known device'), 'checked');
  assert.equal(waits.length, 40);
});

test('a known browser is recognised by its cookie, for its account only', async () => {
  const email = 'device@example.org';
  await signUp(local, email);
  const signedIn = await postPortal(
    service,
    '/sign-in',
    { email, password },
    { headers: elsewhere() },
  );
  const cookie = cookiesOf(signedIn);
  const caller = { ip: '203.0.113.1', userAgent: null, cookie };
  assert.match(service.signIn.knownDevice(caller, email) ?? '', /^[0-9a-f-]{36}$/);
  assert.equal(service.signIn.knownDevice(caller, 'other@example.org'), null);
  for (const forged of [
    cookie.replace(/device=.{8}/, 'device=00000000'),
    'orgdir.device=x.1.y',
    '',
  ])
    assert.equal(service.signIn.knownDevice({ ...caller, cookie: forged }, email), null);
});

test('an IP address over its limit does not count towards accounts', async () => {
  const headers = elsewhere();
  let account = 0;
  const guess = () => {
    account += 1;
    const json = { email: `sprayed-${account}@example.org`, password: 'not this one' };
    return postPortal(service, '/sign-in', json, { headers });
  };
  const answers = await statuses(61, guess);
  assert.deepEqual([...new Set(answers.slice(0, 60))], [401]);
  assert.equal(answers[60], 429);
  // What is refused there leaves the account's own count as it was.
  const email = 'spared@example.org';
  const refused = { email, password: 'not this one' };
  assert.deepEqual(
    await statuses(30, () => postPortal(service, '/sign-in', refused, { headers })),
    Array.from({ length: 30 }, () => 429),
  );
  const waits: string[] = [];
  const limits = createSignInLimits({ slowDown: async () => void waits.push('slow') });
  const ip = '203.0.113.9';
  const check = async () => 'checked';
  for (let index = 0; index < 60; index += 1)
    await limits.attempt({ ip, email: `other-${index}@example.org`, device: null }, check);
  for (let index = 0; index < 50; index += 1)
    await assert.rejects(limits.attempt({ ip, email, device: null }, check));
  await limits.attempt({ ip: '203.0.113.10', email, device: null }, check);
  assert.deepEqual(waits, []);
});

test('only sign-ins count as guesses', async () => {
  const email = 'reset@example.org';
  await signUp(local, email);
  for (let index = 0; index < 25; index += 1) {
    const json = { email, token: 'x', password: 'not this one' };
    const answer = await postPortal(service, '/password', json, { headers: elsewhere() });
    assert.equal(answer.status, 400, 'an unknown field');
  }
  const headers = elsewhere();
  assert.equal(
    (await postPortal(service, '/sign-in', { email, password }, { headers })).status,
    200,
  );
});

test('a session has few guesses at its password, and uses up none of others', async () => {
  const stolen = await signUp(local, 'stolen@example.org');
  const change = () =>
    callPortal(
      service,
      '/account/password',
      {
        method: 'PUT',
        json: { currentPassword: 'not this one', newPassword: 'another horse entirely' },
        headers: elsewhere(),
      },
      stolen.credentials['cookie'],
    );
  const answers = await statuses(11, change);
  assert.deepEqual([...new Set(answers.slice(0, 10))], [400]);
  assert.equal(answers[10], 429);
  const headers = elsewhere();
  const right = { email: stolen.email, password };
  assert.equal((await postPortal(service, '/sign-in', right, { headers })).status, 200);
});

test("mails per mailbox are limited, and an IP address over its limit uses up no account's limit", async () => {
  const ask = (email: string, headers: Record<string, string>) =>
    postPortal(service, '/password-links', { email }, { headers });
  const stranger = elsewhere();
  const answers = await statuses(6, () => ask('filled+tag@example.org', stranger));
  assert.deepEqual(answers, [202, 202, 202, 202, 202, 429]);
  assert.equal(
    (await ask('filled@example.org', stranger)).status,
    429,
    'the tag counts as its address',
  );
  const others = await statuses(16, () => ask('filled@example.org', elsewhere()));
  assert.deepEqual([others.indexOf(429), others.length], [15, 16], 'twenty from anybody');
  const headers = elsewhere();
  let account = 0;
  const sprayed = await statuses(31, () => {
    account += 1;
    return ask(`mailed-${account}@example.org`, headers);
  });
  assert.equal(sprayed.at(-1), 429);
  assert.deepEqual(
    await statuses(6, () => ask('later@example.org', headers)),
    [429, 429, 429, 429, 429, 429],
  );
  assert.equal((await ask('later@example.org', elsewhere())).status, 202);
});

test('a known device gets its links while strangers use up theirs', () => {
  const limits = createSignInLimits();
  const email = 'owner@example.org';
  const ask = (ip: string, device: string | null) => limits.mail({ ip, email, device });
  for (let asked = 0; asked < 5; asked += 1) ask('203.0.113.30', null);
  assert.throws(() => ask('203.0.113.30', null));
  for (let asked = 0; asked < 15; asked += 1) ask('203.0.113.30', 'a known device');
  assert.throws(() => ask('203.0.113.30', 'a known device'));
});

test('a forged IP address is ignored', async () => {
  const answers = await statuses(61, () =>
    postPortal(
      local,
      '/sign-in',
      { email: `made-up-${next}@example.org`, password: 'not this one' },
      { headers: { ...elsewhere(), 'x-orgdir-address': `203.0.113.${next & 255}` } },
    ),
  );
  assert.equal(answers[60], 429);
});

test('few passwords per IP address are checked at once, and others do not wait', async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const limits = createSignInLimits();
  const attempt = (ip: string, index: number) =>
    limits.attempt({ ip, email: `busy-${index}@example.org`, device: null }, () => held);
  const flood = Array.from({ length: 15 }, (_, index) => attempt('203.0.113.20', index));
  const refused = await Promise.allSettled(flood.slice(10));
  assert.ok(refused.every(({ status }) => status === 'rejected'));
  const other = attempt('203.0.113.21', 0);
  release();
  await Promise.all([...flood.slice(0, 10), other]);
  await limits.attempt(
    { ip: '203.0.113.20', email: 'again@example.org', device: null },
    () => held,
  );
});

test('the public API responds while many sign in', async () => {
  const real = await startTestService({ beside: service, hashing: createPasswordHashing() });
  await choosePassword(real, 'many@example.org');
  // The first request of a process takes as long as some passwords.
  await real.call('/orgs');
  let waiting = true;
  const flood = Array.from({ length: 9 }, (_, index) =>
    postPortal(real, '/sign-in', { email: `many-${index}@example.org`, password }),
  );
  const ended = Promise.all(flood).finally(() => (waiting = false));
  assert.equal((await real.call('/orgs')).status, 200);
  assert.ok(waiting, 'the response did not wait for the passwords');
  assert.deepEqual([...new Set((await ended).map(({ status }) => status))], [401]);
  await signInAs(real, 'many@example.org');
});

test('links are mailed, and the response does not wait for the mail server', async () => {
  let take = () => {};
  const taken = new Promise<void>((resolve) => (take = resolve));
  const slow = await startSmtpServer({
    refuseMessage: async () => {
      await taken;
      return null;
    },
  });
  const mailing = await startTestService({
    env: { ...env, HOST: '0.0.0.0', ...slow.env },
    beside: service,
  });
  const { body } = await callPortal(mailing, '/sign-in-options');
  assert.equal(body.data.password.links, 'mail');
  const email = 'mailed@example.org';
  assert.equal((await postPortal(mailing, '/password-links', { email })).status, 202);
  take();
  const [mail] = await slow.received(1);
  assert.deepEqual(mail?.to, [email]);
  assert.equal(mail?.headers.get('subject'), 'Service: finish signing up');
  const [, token] =
    /^http:\/\/directory\.localhost\/profile\/developer\/set-password#([\w-]{43})$/m.exec(
      mail?.text ?? '',
    ) ?? [];
  assert.ok(token, mail?.text);
  const set = await postPortal(mailing, '/password', { token, password, name: 'M' });
  assert.equal(set.status, 200);
  await signInAs(mailing, email);
  assert.equal(mailing.printed.length, 0);
});
