import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHashQueue } from '../src/sign-in/hash-queue.ts';
import { callAuth, callPortal, password, signUp, type Person } from './support/portal.ts';
import { startSmtpServer } from './support/smtp-server.ts';
import { startTestService } from './support/service.ts';

const service = await startTestService({ env: { TRUST_PROXY: '127.0.0.0/8' } });

/** From another address each time, as a botnet would. */
let next = 0;
function elsewhere(): Record<string, string> {
  next += 1;
  return { 'x-forwarded-for': `198.51.${next >> 8}.${next & 255}` };
}

async function statuses(count: number, ask: () => ReturnType<typeof callAuth>): Promise<number[]> {
  const answers: number[] = [];
  for (let index = 0; index < count; index += 1) answers.push((await ask()).status);
  return answers;
}

test('guesses at one account come to an end, wherever they come from, and other accounts go on', async () => {
  const email = 'guessed@example.org';
  const guess = () =>
    callAuth(service, '/sign-in/email', {
      json: { email, password: 'not this one' },
      headers: elsewhere(),
    });
  const answers = await statuses(21, guess);
  assert.deepEqual([...new Set(answers.slice(0, 20))], [401]);
  assert.equal(answers[20], 429);
  const refused = await callAuth(service, '/sign-in/email', {
    json: { email: ` ${email.toUpperCase()}`, password },
    headers: elsewhere(),
  });
  assert.equal(refused.status, 429);
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
  assert.equal(refused.body.error.code, 'rate_limited');
  const other = { email: 'other@example.org', password };
  const answer = await callAuth(service, '/sign-in/email', { json: other, headers: elsewhere() });
  assert.equal(answer.status, 401);
});

test('whoever has a session has no more guesses at its password than others', async () => {
  const stolen = await signUp(service, 'stolen@example.org');
  // Each counts, whatever it lacks, and whoever it names.
  const change = ({ credentials: { cookie = '' } }: Person) =>
    callAuth(service, '/change-password', {
      json: { email: `${next}@example.org` },
      cookie,
      headers: elsewhere(),
    });
  const answers = await statuses(20, () => change(stolen));
  // Signing in counted, too.
  assert.deepEqual([...new Set(answers.slice(0, 19))], [400]);
  assert.equal(answers[19], 429);
  const signingIn = { json: { email: stolen.email, password }, headers: elsewhere() };
  assert.equal((await callAuth(service, '/sign-in/email', signingIn)).status, 429);
  const other = await signUp(service, 'unharmed@example.org');
  assert.equal((await change(other)).status, 400);
});

test('guesses from one address come to an end, whatever they are for', async () => {
  const headers = elsewhere();
  let account = 0;
  const answers = await statuses(61, () => {
    account += 1;
    const json = { token: `guess-${account}`, newPassword: 'not this one' };
    return callAuth(service, '/reset-password', { json, headers });
  });
  assert.deepEqual([...new Set(answers.slice(0, 60))], [400]);
  assert.equal(answers[60], 429);
});

test("nobody's mailbox is filled", async () => {
  const json = { email: 'flooded@example.org', name: 'Flooded', password };
  const answers = await statuses(6, () =>
    callAuth(service, '/request-password-reset', { json, headers: elsewhere() }),
  );
  assert.deepEqual(answers, [200, 200, 200, 200, 200, 429]);
  assert.equal(
    (await callAuth(service, '/sign-up/email', { json, headers: elsewhere() })).status,
    429,
  );
});

test('an address that a caller makes up counts for nothing', async () => {
  const open = await startTestService({ beside: service });
  const answers = await statuses(61, () =>
    callAuth(open, '/reset-password', {
      json: { token: 'guess', newPassword: 'not this one' },
      headers: { ...elsewhere(), 'x-orgdir-address': `203.0.113.${next & 255}` },
    }),
  );
  assert.equal(answers[60], 429);
});

test('one password is hashed at a time, few wait, and whoever fails holds up nobody', async () => {
  const queue = createHashQueue(() => new Error('too many'));
  let atOnce = 0;
  let most = 0;
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const work = (index: number) => async () => {
    atOnce += 1;
    most = Math.max(most, atOnce);
    await held;
    atOnce -= 1;
    if (index % 2) throw new Error('wrong');
    return index;
  };
  const all = Array.from({ length: 60 }, (_, index) => queue(work(index)));
  const refused = await Promise.allSettled(all.slice(41));
  assert.ok(
    refused.every(
      (each) => each.status === 'rejected' && String(each.reason) === 'Error: too many',
    ),
  );
  release();
  const ended = await Promise.allSettled(all.slice(0, 41));
  assert.equal(ended.filter(({ status }) => status === 'fulfilled').length, 21);
  assert.equal(most, 1);
  assert.equal(await queue(async () => 'again'), 'again');
});

test('a flood of sign-ins ends in the queue, and the public API answers beside it', async () => {
  const email = 'flood@example.org';
  await signUp(service, email);
  const flood = Array.from({ length: 80 }, (_, index) =>
    callAuth(service, '/sign-in/email', {
      json: { email: `flood-${index}@example.org`, password },
      headers: elsewhere(),
    }),
  );
  // Answered while the flood still waits, or these would come last.
  let waiting = true;
  const ended = Promise.all(flood).finally(() => (waiting = false));
  for (let index = 0; index < 20; index += 1)
    assert.equal((await service.call(`/orgs?page=${index + 1}`)).status, 200);
  assert.ok(waiting);
  const answers = new Set((await ended).map(({ status }) => status));
  assert.deepEqual([...answers].sort(), [401, 429]);
});

test('links go out by mail, and an answer does not wait for the mail server', async () => {
  let take = () => {};
  const taken = new Promise<void>((resolve) => (take = resolve));
  const smtp = await startSmtpServer({
    refuseMessage: async () => {
      await taken;
      return null;
    },
  });
  const mailing = await startTestService({
    env: {
      HOST: '0.0.0.0',
      SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
      MAIL_FROM: 'Directory <no-reply@example.org>',
    },
    beside: service,
  });
  const { body } = await callPortal(mailing, '/sign-in-options');
  assert.equal(body.data.password.links, 'mail');
  const email = 'mailed@example.org';
  const made = await callAuth(mailing, '/sign-up/email', { json: { email, name: 'M', password } });
  assert.equal(made.status, 200);
  take();
  const [mail] = await smtp.received(1);
  assert.deepEqual(mail?.to, [email]);
  assert.equal(mail?.headers.get('subject'), 'Service: confirm your address');
  const [, path] =
    /^http:\/\/directory\.localhost\/portal\/api\/auth(\/verify-email\S+)$/m.exec(
      mail?.text ?? '',
    ) ?? [];
  assert.ok(path, mail?.text);
  assert.equal((await callAuth(mailing, path)).status, 302);
  assert.equal(
    (await callAuth(mailing, '/sign-in/email', { json: { email, password } })).status,
    200,
  );
  assert.equal(mailing.printed.length, 0);
});
