import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { sql } from '../../src/database/database.ts';
import { codeAt, matchingStep, toBase32 } from '../../src/sign-in/authenticators.ts';
import { codeOf, createDevice, wrongCodeOf, type Device } from '../support/authenticator.ts';
import { put } from '../support/directory.ts';
import { portalOpenApi } from '../support/openapi-check.ts';
import { startOidcProvider } from '../support/oidc-provider.ts';
import {
  choosePassword,
  comeBack,
  cookiesOf,
  password,
  personOf,
  postPortal,
  printedToken,
  type Person,
} from '../support/portal.ts';
import { commandsOn } from '../support/run-here.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { startTestService, type TestService } from '../support/service.ts';

const provider = await startOidcProvider();
const smtp = await startSmtpServer();
const mailEnv = { TRUST_PROXY: '127.0.0.0/8', ...smtp.env };
/** Prints its links, for signing up. */
const local = await startTestService({ env: provider.env });
const { database } = local;
const startBeside = (env: Record<string, string>) =>
  startTestService({ env: { ...provider.env, ...env }, beside: local });
const service = await startBeside(mailEnv);
const forAll = await startBeside({ REQUIRE_SECOND_FACTOR: 'all' });
const forManagers = await startBeside({ REQUIRE_SECOND_FACTOR: 'managers' });
const page = '/profile/developer';
const back = { provider: 'oidc', callbackURL: page, errorCallbackURL: page };

let ips = 0;

/** From another address each time: limits by address are tested elsewhere. */
function elsewhere() {
  ips += 1;
  return { 'x-forwarded-for': `10.0.${ips >> 8}.${ips & 255}` };
}

async function signInAs(on: Pick<TestService, 'url'>, email: string): Promise<Person> {
  const answer = await postPortal(on, '/sign-in', { email, password }, { headers: elsewhere() });
  assert.equal(answer.status, 200, answer.text);
  return personOf(on, email, cookiesOf(answer));
}

async function person(name: string, on: Pick<TestService, 'url'> = service): Promise<Person> {
  const email = `${name}@example.org`;
  assert.equal((await choosePassword(local, email)).status, 200);
  return signInAs(on, email);
}

const post = (who: Person, path: string, json: unknown = {}) =>
  who.call(path, { method: 'POST', json, headers: elsewhere() });

const { mailTo } = smtp;
service.mailSender?.start();

/** Adds an authenticator app, and returns its secret and the recovery codes. */
async function addApp(who: Person): Promise<{ secret: string; recoveryCodes: string[] }> {
  const { body } = await post(who, '/account/authenticator');
  const { secret } = body.data;
  const added = await post(who, '/account/authenticator/confirm', { code: codeOf(secret) });
  assert.equal(added.status, 200, added.text);
  // As if it had been added earlier: the code of now works once more.
  await sql`
    update authenticators set last_step = 0 where user_id = (select id from users where email = ${who.email})
  `.execute(database);
  return { secret, recoveryCodes: added.body.data.recoveryCodes };
}

async function addPasskey(who: Person, name = 'Laptop', device = createDevice()) {
  const { body } = await post(who, '/account/passkeys/options');
  const credential = device.create(body.data);
  return { device, answer: await post(who, '/account/passkeys', { name, credential }) };
}

async function signInWithPasskey(device: Device, on: Pick<TestService, 'url'> = service) {
  const { body } = await postPortal(on, '/sign-in/passkey/options', {});
  return postPortal(on, '/sign-in/passkey', { credential: device.get(body.data) });
}

/** Signs in with OpenID Connect. */
async function comeFromProvider(
  sub: string,
  on: Pick<TestService, 'url'> = service,
  email?: string,
) {
  provider.person = { sub, ...(email && { email, email_verified: true }) };
  const answer = await comeBack(on, await postPortal(on, '/sign-in/provider', back));
  return personOf(on, email ?? `${sub}@oidc.invalid`, cookiesOf(answer));
}

const missing = async (who: Person) => (await who.call('/session')).body.data.missingFactor;
const complete = (who: Person, code: string) => post(who, '/sign-in/second-factor', { code });

/** The session opens nothing; every other operation is tried in a test of its own. */
async function assertClosed(who: Person): Promise<void> {
  assert.equal((await who.call('/apps')).status, 401);
  assert.equal((await post(who, '/account/authenticator')).status, 401);
}

/** As if all sessions had begun, and last been proved, so long ago. */
async function age({ email }: Person, minutes = 31): Promise<void> {
  await sql`
    update sessions set proven_at = now() - ${minutes} * interval '1 minute',
      created_at = now() - ${minutes} * interval '1 minute'
    where user_id = (select id from users where email = ${email})
  `.execute(local.database);
}

const isProofRequired = ({ status, body }: { status: number; body: any }) =>
  status === 403 && body.error.code === 'proof_required';

test('codes are those of RFC 6238, and match only near their time', () => {
  const secret = toBase32(Buffer.from('12345678901234567890'));
  // Appendix B, the last six digits.
  const known = [
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ] as const;
  for (const [seconds, code] of known) {
    const step = Math.floor(seconds / 30);
    assert.equal(codeAt(secret, step), code);
    const match = (timeMs: number, lastStep = 0) =>
      matchingStep(secret, code, { timeMs, lastStep });
    assert.deepEqual(
      [-60_000, -30_000, 0, 30_000, 60_000].map((late) => match(seconds * 1000 + late)),
      [null, step, step, step, null],
    );
    assert.equal(match(seconds * 1000, step), null, 'used already');
  }
});

test('an authenticator app is set up, asked for after the password, and removed', async () => {
  const ada = await person('ada');
  const other = await signInAs(service, ada.email);
  const { secret, recoveryCodes } = await addApp(ada);
  assert.match(secret, /^[A-Z2-7]{32}$/);
  assert.equal(new Set(recoveryCodes).size, 10);
  await mailTo(ada.email, /An authenticator app was added/);
  assert.equal(await missing(ada), null, 'the session that added it has proved it');
  assert.equal((await post(ada, '/account/authenticator')).status, 409);
  await assertClosed(other);

  const { rows } = await sql<{ secret: Buffer }>`
    select secret from authenticators a join users u on u.id = a.user_id where u.email = ${ada.email}
  `.execute(database);
  assert.ok(!rows[0]?.secret.toString('latin1').includes(secret), 'encrypted');

  const again = await signInAs(service, ada.email);
  assert.equal(await missing(again), 'confirm');
  assert.equal((await again.call('/session')).body.data.user.name, ada.email, 'no name yet');
  await assertClosed(again);
  assert.equal((await complete(again, wrongCodeOf(secret))).status, 400);
  await assertClosed(again);
  const code = codeOf(secret);
  assert.equal((await complete(again, code)).status, 200);
  assert.equal(await missing(again), null);
  assert.equal((await again.call('/apps')).status, 200);

  const replaying = await signInAs(service, ada.email);
  assert.equal((await complete(replaying, code)).status, 400, 'no code works twice');
  await assertClosed(replaying);

  assert.equal((await again.call('/account/authenticator', { method: 'DELETE' })).status, 200);
  await mailTo(ada.email, /authenticator app was removed/);
  const state = (await again.call('/account/second-factor')).body.data;
  assert.deepEqual(state, { passkeys: [], authenticator: null, recoveryCodesLeft: 0 });
  assert.equal((await ada.call('/apps')).status, 401, 'the other sessions have ended');
  assert.equal(await missing(await signInAs(service, ada.email)), null);
  const actions = (await again.call('/account/activity')).body.data.map(
    ({ action }: { action: string }) => action,
  );
  for (const action of ['authenticator_added', 'second_factor_asked', 'authenticator_removed'])
    assert.ok(actions.includes(`account.${action}`), action);
});

test('an app counts only after its first code, and a newer set-up replaces it', async () => {
  const unsure = await person('unsure');
  const first = (await post(unsure, '/account/authenticator')).body.data;
  assert.match(first.uri, /^otpauth:\/\/totp\/Service:unsure%40example.org\?secret=[A-Z2-7]{32}&/);
  assert.equal(await missing(await signInAs(service, unsure.email)), null);
  const second = (await post(unsure, '/account/authenticator')).body.data;
  const confirm = (code: string) => post(unsure, '/account/authenticator/confirm', { code });
  assert.equal((await confirm(codeOf(first.secret))).status, 400);
  assert.equal((await confirm(codeOf(second.secret))).status, 200);
  assert.equal((await confirm(codeOf(second.secret, 1))).status, 409);
});

test('spaces and dashes in a code do not matter', async () => {
  const email = 'reader@example.org';
  // Not over HTTP, which allows one address 30 mails per hour.
  await local.signIn.accounts.requestLink(email);
  const chosen = { token: printedToken(local, email), name: 'Reader', password };
  assert.equal((await postPortal(local, '/password', chosen)).status, 200);
  const reader = await signInAs(service, email);
  for (const between of [' ', '-']) {
    const { secret } = (await post(reader, '/account/authenticator')).body.data;
    const code = () => codeOf(secret).replace(/^.../, `$&${between}`);
    const forget = () => sql`update authenticators set last_step = 0`.execute(database);
    const added = await post(reader, '/account/authenticator/confirm', { code: code() });
    assert.equal(added.status, 200, added.text);
    await forget();
    const proven = await post(reader, '/account/proof/authenticator', { code: code() });
    assert.equal(proven.status, 200, proven.text);
    await forget();
    const completed = await complete(await signInAs(service, email), code());
    assert.equal(completed.status, 200, completed.text);
    const spelled = added.body.data.recoveryCodes[0].replaceAll('-', between).toUpperCase();
    assert.equal((await complete(await signInAs(service, email), spelled)).status, 200);
    const removed = await reader.call('/account/authenticator', { method: 'DELETE' });
    assert.equal(removed.status, 200, removed.text);
  }
});

test('after ten wrong codes no more are accepted, from wherever; recovery codes still work', async () => {
  const guessed = await person('guessed');
  const { secret, recoveryCodes } = await addApp(guessed);
  const attacker = await signInAs(service, guessed.email);
  const wrong = wrongCodeOf(secret);
  await sql`update authenticators set wrong_codes = 7, wrong_since = now()`.execute(database);
  const answers = await Promise.all(
    [wrong, wrong, wrong, wrong].map((each) => complete(attacker, each)),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [400, 400, 400, 429]);
  await mailTo(guessed.email, /entered ten wrong codes/);
  const right = await complete(attacker, codeOf(secret));
  assert.equal(right.status, 429);
  assert.ok(Number(right.headers.get('retry-after')) > 3500);
  await assertClosed(attacker);
  const owner = await signInAs(service, guessed.email);
  assert.equal((await complete(owner, recoveryCodes[0]!.toUpperCase())).status, 200);
  await sql`update authenticators set wrong_since = now() - interval '61 minutes'`.execute(
    database,
  );
  const later = await signInAs(service, guessed.email);
  assert.equal((await complete(later, codeOf(secret))).status, 200);
});

test('a wrong code is counted also if the notice about it cannot be stored', async () => {
  const unlucky = await person('unlucky');
  const { secret } = await addApp(unlucky);
  const attacker = await signInAs(service, unlucky.email);
  const isTheirs = sql`user_id = (select id from users where email = ${unlucky.email})`;
  await sql`
    update authenticators set wrong_codes = 9, wrong_since = now() where ${isTheirs}
  `.execute(database);
  const recipient = sql.lit(unlucky.email);
  await sql`
    alter table notices add constraint refused check (recipient <> ${recipient}) not valid
  `.execute(database);
  assert.equal((await complete(attacker, wrongCodeOf(secret))).status, 500);
  assert.equal((await complete(attacker, codeOf(secret))).status, 429);
  await sql`alter table notices drop constraint refused`.execute(database);
});

test('a recovery code works once, and new ones replace the old', async () => {
  const careful = await person('careful');
  const { recoveryCodes } = await addApp(careful);
  const { rows } = await sql<{ hash: string }>`
    select encode(hash, 'escape') as hash from recovery_codes
  `.execute(database);
  assert.ok(rows.every(({ hash }) => !recoveryCodes.includes(hash)));
  const [first, second, third] = recoveryCodes as [string, string, string];
  const one = await signInAs(service, careful.email);
  assert.equal((await complete(one, ` ${first.replaceAll('-', ' ')} `)).status, 200);
  await mailTo(careful.email, /recovery code was used .* 9 are left/);
  const two = await signInAs(service, careful.email);
  assert.equal((await complete(two, first)).status, 400, 'used up');
  const both = await Promise.all([complete(two, second), complete(two, second)]);
  const [winner] = both.map(({ status }) => status).sort();
  assert.equal(winner, 200);
  const created = await post(two, '/account/recovery-codes');
  assert.equal(created.status, 201);
  await mailTo(careful.email, /New recovery codes/);
  const three = await signInAs(service, careful.email);
  assert.equal((await complete(three, third)).status, 400, 'replaced');
  assert.equal((await complete(three, created.body.data.recoveryCodes[0])).status, 200);
  const stranger = await person('stranger');
  assert.equal((await post(stranger, '/account/recovery-codes')).status, 409);
});

test('a passkey is added, named, signs in alone, and is removed', async () => {
  const bea = await person('bea');
  const { device, answer } = await addPasskey(bea, ' Laptop ');
  assert.equal(answer.status, 201, answer.text);
  assert.equal(answer.body.data.recoveryCodes.length, 10);
  await mailTo(bea.email, /The passkey "Laptop" was added/);
  const again = await addPasskey(bea, 'The same', device);
  assert.equal(again.answer.status, 409);
  const second = await addPasskey(bea, 'Phone');
  assert.equal(second.answer.body.data.recoveryCodes, null);

  const signedIn = await signInWithPasskey(device);
  assert.equal(signedIn.status, 200, signedIn.text);
  const there = personOf(service, bea.email, cookiesOf(signedIn));
  assert.equal(await missing(there), null);
  const { passkeys } = (await there.call('/account/second-factor')).body.data;
  assert.deepEqual(
    passkeys.map(({ name, lastUsedAt }: any) => [name, lastUsedAt !== null]),
    [
      ['Laptop', true],
      ['Phone', false],
    ],
  );
  const withPassword = await signInAs(service, bea.email);
  assert.equal(await missing(withPassword), 'confirm');
  await assertClosed(withPassword);

  const path = `/account/passkeys/${passkeys[0].id}`;
  const renamed = await there.call(path, { method: 'PATCH', json: { name: 'Work' } });
  assert.equal(renamed.status, 200);
  const stranger = await person('bea-stranger');
  assert.equal((await stranger.call(path, { method: 'DELETE' })).status, 404);
  assert.equal((await stranger.call(path, { method: 'PATCH', json: { name: 'x' } })).status, 404);
  assert.equal((await there.call(path, { method: 'DELETE' })).status, 200);
  await mailTo(bea.email, /The passkey "Work" was removed/);
  assert.equal((await signInWithPasskey(device)).status, 401);
  assert.equal((await bea.call('/session')).status, 401, 'the other sessions have ended');
});

test('what a device says of its maker is not read: checking it would call addresses that the caller chooses', async () => {
  const stranger = await signInAs(service, 'bea-stranger@example.org');
  // A certificate that is none.
  const statement = Buffer.from([0xa1, 0x63, ...Buffer.from('x5c'), 0x81, 0x41, 0x00]);
  for (const format of ['packed', 'android-key', 'tpm', 'apple']) {
    const device = createDevice({ maker: { format, statement } });
    const { answer } = await addPasskey(stranger, format, device);
    assert.equal(answer.status, 201, answer.text);
    assert.equal((await signInWithPasskey(device)).status, 200);
  }
});

test('a passkey proves nothing for another site, without its user, twice, or for another session', async () => {
  const cleo = await person('cleo');
  const evil = createDevice({ origin: 'http://evil.localhost' });
  assert.equal((await addPasskey(cleo, 'Evil', evil)).answer.status, 400);
  const unattended = createDevice({ flags: 0x01 });
  assert.equal((await addPasskey(cleo, 'Unattended', unattended)).answer.status, 400);
  const { device } = await addPasskey(cleo);

  const options = (await postPortal(service, '/sign-in/passkey/options', {})).body.data;
  const credential = device.get(options);
  assert.equal((await postPortal(service, '/sign-in/passkey', { credential })).status, 200);
  assert.equal(
    (await postPortal(service, '/sign-in/passkey', { credential })).status,
    401,
    'replayed',
  );
  const invented = { challenge: Buffer.alloc(32, 1).toString('base64url') };
  assert.equal(
    (await postPortal(service, '/sign-in/passkey', { credential: device.get(invented) })).status,
    401,
  );
  const forSession = (await post(cleo, '/account/proof/passkey/options')).body.data;
  assert.equal(
    (await postPortal(service, '/sign-in/passkey', { credential: device.get(forSession) })).status,
    401,
    'a challenge to confirm does not sign in',
  );
  const forged = {
    ...device.get((await postPortal(service, '/sign-in/passkey/options', {})).body.data),
  };
  forged.signature = createDevice().get({ challenge: 'x' }).signature;
  assert.equal((await postPortal(service, '/sign-in/passkey', { credential: forged })).status, 401);
  const late = (await postPortal(service, '/sign-in/passkey/options', {})).body.data;
  await sql`update passkey_challenges set expires_at = now()`.execute(database);
  assert.equal(
    (await postPortal(service, '/sign-in/passkey', { credential: device.get(late) })).status,
    401,
  );
  const { rows } = await sql`select 1 from passkey_challenges where expires_at <= now()`.execute(
    database,
  );
  await postPortal(service, '/sign-in/passkey/options', {});
  const left = await sql`select 1 from passkey_challenges where expires_at <= now()`.execute(
    database,
  );
  assert.deepEqual([rows.length > 0, left.rows.length], [true, 0], 'expired ones are deleted');
});

test('a copied passkey is refused: its counter does not increase', async () => {
  const copied = await person('copied');
  const { device } = await addPasskey(copied);
  await signInWithPasskey(device);
  await sql`update passkeys set counter = 1000`.execute(database);
  assert.equal((await signInWithPasskey(device)).status, 401);
});

test('a provider does not replace the second factor', async () => {
  const dan = await person('dan');
  provider.person = { sub: 'dan', email: dan.email, email_verified: true };
  const begun = await post(dan, '/account/methods', back);
  await comeBack(service, begun, { cookie: dan.credentials['cookie'] });
  const { secret } = await addApp(dan);
  const again = await comeFromProvider('dan', service, dan.email);
  assert.equal(await missing(again), 'confirm');
  await assertClosed(again);
  assert.equal((await complete(again, codeOf(secret))).status, 200);
  assert.equal((await again.call('/apps')).status, 200);
});

test('a new password leaves the second factor, and a session waits for it for ten minutes', async () => {
  const eve = await person('eve');
  const { secret, recoveryCodes } = await addApp(eve);
  const pending = await signInAs(service, eve.email);
  await choosePassword(local, eve.email);
  assert.equal((await eve.call('/session')).status, 401);
  assert.equal((await complete(pending, recoveryCodes[0]!)).status, 401);
  const unused = await signInAs(service, eve.email);
  assert.equal((await complete(unused, recoveryCodes[0]!)).status, 200, 'it was not used up');
  const again = await signInAs(service, eve.email);
  await assertClosed(again);
  await age(again, 11);
  assert.equal((await again.call('/session')).status, 401);
  assert.equal((await complete(again, codeOf(secret))).status, 401);
});

test('sessions that miss the second factor are at most five, and end no complete one', async () => {
  const owner = await person('sessions');
  const { secret, recoveryCodes } = await addApp(owner);
  const idle = await signInAs(service, owner.email);
  const pending = [];
  for (let count = 0; count < 5; count += 1) pending.push(await signInAs(service, owner.email));
  assert.equal((await idle.call('/session')).status, 401, 'the oldest of six');
  assert.equal(await missing(owner), null);
  for (const each of pending) assert.equal(await missing(each), 'confirm');
  const listed = (await owner.call('/account/sessions')).body.data;
  assert.deepEqual(
    listed.map(({ current }: { current: boolean }) => current),
    [true],
    'the others are not signed in',
  );
  // As if it had been there before 50 others, all of them complete.
  await sql`
    insert into sessions (id, user_id, token, created_at, updated_at, expires_at, second_factor_at)
    select gen_random_uuid(), id, gen_random_uuid()::text, now() - n * interval '1 hour', now(), now() + interval '1 day', now()
    from users, generate_series(1, 49) n where email = ${owner.email}
  `.execute(database);
  await age(owner, 60 * 100);
  const last = await signInAs(service, owner.email);
  assert.equal((await complete(last, recoveryCodes[0] ?? codeOf(secret))).status, 200);
  const { rows } = await sql<{ complete: number; count: number }>`
    select count(second_factor_at)::int as complete, count(*)::int as count
    from sessions s join users u on u.id = s.user_id where u.email = ${owner.email}
  `.execute(database);
  assert.deepEqual(rows, [{ complete: 50, count: 50 + 4 }]);
});

test('sessions that still must set up a second factor are at most five', async () => {
  for (const [rule, strict] of Object.entries({ forAll, forManagers })) {
    const first = await person(`sets-up-${rule.toLowerCase()}`, strict);
    await put(database, 'orgs', [{ name: 'Org', managers: [first.email] }]);
    const later: Person[] = [];
    for (let count = 0; count < 5; count += 1) later.push(await signInAs(strict, first.email));
    assert.equal((await first.call('/session')).status, 401, 'the oldest of six');
    for (const each of later) assert.equal(await missing(each), 'set_up');
  }
});

test('REQUIRE_SECOND_FACTOR=all: whoever has none sets one up, and can do nothing else before', async () => {
  const gil = await person('gil', forAll);
  assert.equal(await missing(gil), 'set_up');
  assert.equal((await gil.call('/apps')).status, 401);
  await addApp(gil);
  assert.equal(await missing(gil), null);
  assert.equal((await gil.call('/apps')).status, 200);

  const hal = await comeFromProvider('hal', forAll);
  assert.equal(await missing(hal), 'set_up', 'by a provider too');
  const { device } = await addPasskey(hal);
  assert.equal(await missing(hal), null);
  assert.equal((await signInWithPasskey(device, forAll)).status, 200);
});

test('a session that misses its second factor may call what completes it, and no other operation', async () => {
  const unset = await person('val', forAll);
  const xen = await person('xen');
  await addApp(xen);
  const half = await signInAs(service, xen.email);
  assert.deepEqual([await missing(unset), await missing(half)], ['set_up', 'confirm']);
  /** The operations for signed-in users that are not refused for the missing factor. */
  async function openTo(who: Person): Promise<string[]> {
    const open: string[] = [];
    for (const [path, operations] of Object.entries(portalOpenApi.paths))
      for (const [method, { operationId, security }] of Object.entries(operations)) {
        // The console does not exist for them.
        if (security?.length === 0 || path.includes('/operator/')) continue;
        const below = path.replace('/portal/api', '').replaceAll(/\{\w+\}/g, randomUUID());
        const options = { method: method.toUpperCase(), ...(method !== 'get' && { json: {} }) };
        const { status, body } = await who.call(below, { ...options, headers: elsewhere() });
        if (status !== 401 || body.error.details.missingFactor === undefined)
          open.push(operationId);
      }
    return open.toSorted();
  }
  assert.deepEqual(await openTo(half), ['completeSignIn', 'getSession']);
  assert.deepEqual(await openTo(unset), [
    'addPasskey',
    'confirmAuthenticator',
    'createRecoveryCodes',
    'getNewPasskeyOptions',
    'getProofPasskeyOptions',
    'getSecondFactor',
    'getSession',
    'listProofMethods',
    'mailProofCode',
    'proveWithAuthenticator',
    'proveWithMailedCode',
    'proveWithPasskey',
    'proveWithPassword',
    'removeAuthenticator',
    'removePasskey',
    'setUpAuthenticator',
    'updatePasskey',
  ]);
});

test('REQUIRE_SECOND_FACTOR=managers: who manages something needs one, at once', async () => {
  const ida = await person('ida', forManagers);
  assert.equal(await missing(ida), null);
  await put(database, 'orgs', [{ slug: 'acme-corporation', name: 'Acme', managers: [ida.email] }]);
  assert.equal(await missing(ida), 'set_up');
  assert.equal((await ida.call('/apps')).status, 401);
});

test('sensitive changes need a recent proof, and others do not', async () => {
  const jan = await person('jan');
  const app = (await post(jan, '/apps', { name: 'A' })).body.data.id;
  const url = 'https://example.org/';
  const hook = (await post(jan, `/apps/${app}/webhooks`, { url })).body.data.id;
  const key = (await post(jan, `/apps/${app}/keys`, { name: 'K', scopes: ['read:directory'] })).body
    .data.id;
  const newKey = () => post(jan, `/apps/${app}/keys`, { name: 'K', scopes: ['read:directory'] });
  await age(jan, 29);
  assert.equal((await newKey()).status, 201, 'a proof counts for 30 minutes');
  await age(jan, 30);
  assert.ok(isProofRequired(await newKey()));
  await age(jan);
  const write = (method: string) => (path: string, json?: unknown) =>
    jan.call(path, { method, ...(json !== undefined && { json }) });
  const binding = { kind: 'organization', slug: 'acme-corporation' };
  const webhook = `/apps/${app}/webhooks/${hook}`;
  const refused = [
    await newKey(),
    await post(jan, `/apps/${app}/keys/${key}/rotate`),
    await post(jan, `${webhook}/rotate-secret`),
    await post(jan, `/apps/${app}/webhooks`, { url: 'https://example.com/' }),
    await write('PATCH')(webhook, { url: 'https://example.com/' }),
    await write('PUT')(`/apps/${app}/binding`, binding),
    await write('DELETE')(`/apps/${app}`),
    await post(jan, '/account/methods', back),
    await write('DELETE')(`/account/methods/${randomUUID()}`),
    await post(jan, '/account/address-changes', { email: 'jan@example.com' }),
    await post(jan, '/account/deletion', { email: jan.email, apps: [app] }),
    await post(jan, '/account/authenticator'),
    await post(jan, '/account/authenticator/confirm', { code: '123456' }),
    await post(jan, '/account/passkeys/options'),
    await post(jan, '/account/recovery-codes'),
    await write('DELETE')('/account/authenticator'),
  ];
  assert.deepEqual(
    refused.map(isProofRequired),
    refused.map(() => true),
  );
  const allowed = [
    await write('PATCH')(webhook, { url, description: 'The same URL' }),
    await write('PATCH')(webhook, { active: false }),
    await write('PATCH')(`/apps/${app}`, { name: 'B' }),
    await write('DELETE')(`/apps/${app}/keys/${key}`),
    await write('DELETE')('/account/sessions'),
  ];
  assert.deepEqual(
    allowed.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  );
});

test('a session confirms with a password, a mailed code, an app or a passkey', async () => {
  const kim = await person('kim');
  const change = () => post(kim, '/account/authenticator');
  const methods = async () => (await kim.call('/account/proof')).body.data.methods;
  assert.deepEqual(await methods(), ['password', 'mail']);

  await age(kim);
  assert.equal((await post(kim, '/account/proof/password', { password: 'not this' })).status, 400);
  assert.ok(isProofRequired(await change()));
  assert.equal((await post(kim, '/account/proof/password', { password })).status, 200);
  assert.equal((await change()).status, 201);

  await age(kim);
  assert.equal((await post(kim, '/account/proof/mail')).status, 202);
  const code = /code is (\d{8})/.exec(await mailTo(kim.email, /code is/))?.[1] ?? '';
  const wrong = code === '12345678' ? '87654321' : '12345678';
  for (let tries = 0; tries < 4; tries += 1)
    assert.equal((await post(kim, '/account/proof/mailed-code', { code: wrong })).status, 400);
  assert.equal((await post(kim, '/account/proof/mailed-code', { code })).status, 200);
  assert.equal((await change()).status, 201);
  await age(kim);
  assert.equal((await post(kim, '/account/proof/mailed-code', { code })).status, 400, 'used up');
  await post(kim, '/account/proof/password', { password });

  const { secret } = await addApp(kim);
  const { device } = await addPasskey(kim);
  assert.deepEqual(await methods(), ['passkey', 'authenticator', 'password', 'mail']);
  const codes = () => post(kim, '/account/recovery-codes');
  await age(kim);
  assert.equal(
    (await post(kim, '/account/proof/authenticator', { code: wrongCodeOf(secret) })).status,
    400,
  );
  assert.ok(isProofRequired(await codes()));
  assert.equal(
    (await post(kim, '/account/proof/authenticator', { code: codeOf(secret) })).status,
    200,
  );
  assert.equal((await codes()).status, 201);

  await age(kim);
  const prove = async (with_: Device) => {
    const { body } = await post(kim, '/account/proof/passkey/options');
    return post(kim, '/account/proof/passkey', { credential: with_.get(body.data) });
  };
  const lee = await person('lee');
  const others = await addPasskey(lee);
  assert.equal((await prove(others.device)).status, 400, "another user's passkey");
  assert.ok(isProofRequired(await codes()));
  assert.equal((await prove(device)).status, 200);
  assert.equal((await codes()).status, 201);
});

test('a mailed code is for its session, for five tries and ten minutes', async () => {
  const max = await person('max');
  const other = await signInAs(service, max.email);
  await age(max);
  await post(max, '/account/proof/mail');
  const code = /code is (\d{8})/.exec(await mailTo(max.email, /code is/))?.[1] ?? '';
  assert.equal((await post(other, '/account/proof/mailed-code', { code })).status, 400);
  await sql`update confirmation_codes set expires_at = now()`.execute(database);
  assert.equal((await post(max, '/account/proof/mailed-code', { code })).status, 400, 'expired');
  await sql`update confirmation_codes set expires_at = now() + interval '1 minute', tries = 5`.execute(
    database,
  );
  assert.equal((await post(max, '/account/proof/mailed-code', { code })).status, 400, 'five tries');
  assert.ok(isProofRequired(await post(max, '/account/authenticator')));
});

test('links that strangers request keep nobody from a mailed code', async () => {
  const rae = await person('rae');
  for (let asked = 0; asked < 6; asked += 1)
    await postPortal(service, '/password-links', { email: rae.email }, { headers: elsewhere() });
  const statuses = [];
  for (let asked = 0; asked < 6; asked += 1)
    statuses.push((await post(rae, '/account/proof/mail')).status);
  assert.deepEqual(statuses, [202, 202, 202, 202, 202, 429]);
});

test("a provider's redirect is no proof, unless there is no other", async () => {
  const ned = await comeFromProvider('ned', service, 'ned@example.org');
  assert.deepEqual((await ned.call('/account/proof')).body.data.methods, ['mail']);
  assert.ok(isProofRequired(await post(ned, '/account/authenticator')));
  // Nobody can mail a code to this one.
  const oda = await comeFromProvider('oda');
  assert.deepEqual((await oda.call('/account/proof')).body.data.methods, []);
  assert.equal((await post(oda, '/account/proof/mail')).status, 409);
  assert.equal((await post(oda, '/account/authenticator')).status, 201);
  await age(oda);
  assert.ok(isProofRequired(await post(oda, '/account/authenticator')));
  const again = await comeFromProvider('oda');
  await addPasskey(again);
  const third = await comeFromProvider('oda');
  assert.equal(await missing(third), 'confirm');
});

test('an operator removes a second factor, which is audited', async () => {
  const pat = await person('pat');
  await addApp(pat);
  await addPasskey(pat);
  const { run, json } = commandsOn(local, mailEnv);
  const words = ['accounts', 'remove-second-factor'];
  assert.deepEqual(await json(...words, 'Pat@Example.org'), {
    email: 'pat@example.org',
    passkeys: 1,
    authenticator: true,
    endedSessions: 1,
    mailed: true,
  });
  assert.equal((await pat.call('/session')).status, 401);
  const again = await signInAs(service, pat.email);
  assert.equal(await missing(again), null);
  const { data } = (await again.call('/account/second-factor')).body;
  assert.deepEqual(data, { passkeys: [], authenticator: null, recoveryCodesLeft: 0 });
  const { rows } = await sql<{ kind: string }>`
    select actor_kind as kind from audit_log where action = 'account.second_factor_removed'
  `.execute(database);
  assert.deepEqual(rows, [{ kind: 'cli' }]);
  const nobody = await run(...words, 'nobody@example.org');
  assert.equal(nobody.code, 1);
  assert.match(nobody.stderr, /no account/);
});

test('the mailed code of a service without mail is on its terminal', async () => {
  const quin = await person('quin', local);
  await post(quin, '/account/proof/mail');
  assert.match(local.printed.at(-1) ?? '', /^confirm a change \(quin@example.org\): \d{8}$/);
  assert.equal(printedToken(local, quin.email), null);
});

test('a provider is added by the session that began, complete and recently proven, and by no other', async () => {
  const uma = await person('uma');
  const other = await signInAs(service, uma.email);
  provider.person = { sub: 'uma', email: 'uma@elsewhere.example', email_verified: true };
  /** Goes to the provider in the session, and comes back in the one of this cookie. */
  async function link(
    meanwhile?: () => Promise<unknown>,
    cookie = uma.credentials['cookie'],
  ): Promise<string | null> {
    const begun = await post(uma, '/account/methods', back);
    const answer = await comeBack(service, begun, { cookie, meanwhile });
    const { rows } = await sql<{ provider: string }>`
      select provider_id as provider from accounts a join users u on u.id = a.user_id
      where u.email = ${uma.email} and provider_id <> 'credential'
    `.execute(database);
    const error = new URL(answer.headers.get('location') ?? '').searchParams.get('error');
    assert.equal(rows.length, error === null ? 1 : 0);
    return error;
  }
  const refused = 'unable_to_link_account';
  // Not its beginning, from which it waits for the second factor.
  const expire = () =>
    sql`update sessions set proven_at = now() - interval '31 minutes'`.execute(database);

  assert.equal(await link(undefined, ''), refused, 'signed out');
  assert.equal(await link(undefined, other.credentials['cookie']), refused, 'another session');
  assert.equal(await link(expire), refused, 'the proof is too old');
  assert.equal((await post(uma, '/account/proof/password', { password })).status, 200);
  assert.equal((await post(other, '/account/proof/password', { password })).status, 200);
  let secret = '';
  const addFactor = async () => void ({ secret } = await addApp(other));
  assert.equal(await link(addFactor), refused, 'the session misses its second factor');
  assert.equal((await post(uma, '/account/methods', back)).status, 401);
  assert.equal((await complete(uma, codeOf(secret))).status, 200);
  assert.equal(await link(), null);
});
