/**
 * Random histories of two people and an attacker who knows every address, reads nobody else's mail, can have any
 * mailed link opened, and gets every invitation forwarded. Everybody has two mailboxes, and accounts change between addresses: whatever they do and in whatever order, nobody ever has a session for an account that is not
 * theirs, and whoever should be signed in is. A second factor holds against an attacker who knows the
 * password as well. `ACCOUNT_HISTORIES=5000` runs more of them.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createApp } from '../../src/access/apps.ts';
import { createInvitation } from '../../src/access/invitations.ts';
import { sql } from '../../src/database/database.ts';
import { createPasswordLink } from '../../src/sign-in/password-links.ts';
import { createToken, digest } from '../../src/sign-in/token.ts';
import { testActor } from '../support/actor.ts';
import { codeOf, createDevice, type Device } from '../support/authenticator.ts';
import { eventually } from '../support/eventually.ts';
import { startOidcProvider } from '../support/oidc-provider.ts';
import {
  addressTokenOf,
  ageSessions,
  callPortal,
  comeBack,
  cookiesOf,
  postPortal,
  tokenOf,
} from '../support/portal.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { startTestService, type Answer } from '../support/service.ts';

const histories = Number(process.env['ACCOUNT_HISTORIES'] ?? 50);
const provider = await startOidcProvider();
const smtp = await startSmtpServer();
const service = await startTestService({
  env: { TRUST_PROXY: '127.0.0.0/8', ...smtp.env, ...provider.env },
});

const people = ['ada', 'bob', 'mallory'] as const;
type Who = (typeof people)[number];

/** One of somebody's two mailboxes. */
type Box = 0 | 1;

type Command =
  | {
      do: 'request link' | 'sign in' | 'ask for address';
      who: Who;
      at: Who;
      box: Box;
      pick: number;
    }
  | { do: 'use address link'; who: Who; pick: number; link: number }
  | { do: 'open link'; who: Who; at: Who }
  | { do: 'use link'; who: Who; pick: number }
  | { do: 'guess token'; at: Who; pick: number }
  | { do: 'provider'; who: Who; claims: Who }
  | {
      do: 'link' | 'unlink' | 'change password' | 'end others' | 'sign out' | 'delete account';
      who: Who;
      pick: number;
    }
  | { do: 'invite'; at: Who; box: Box }
  | { do: 'sign up by invitation' | 'accept invitation'; who: Who; pick: number }
  | { do: 'delete' | 'expire'; at: Who; box: Box };

/** Histories that begin with accounts get further. */
const start: Command[] = people.map((person) => ({ do: 'provider', who: person, claims: person }));
const who = fc.constantFrom(...people);
const pick = fc.nat(3);
const mailbox = fc.constantFrom<Box>(0, 0, 0, 1);
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('request link' as const, 'sign in' as const),
      who,
      at: who,
      box: mailbox,
      pick,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('ask for address' as const),
      who,
      at: who,
      box: fc.constantFrom<Box>(0, 1),
      pick,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('use address link' as const),
      who,
      pick,
      link: fc.constantFrom(0, 0, 0, 1),
    }),
  },
  fc.record({ do: fc.constant('open link' as const), who, at: who }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant('use link' as const), who, pick }) },
  fc.record({ do: fc.constant('guess token' as const), at: who, pick }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant('provider' as const), who, claims: who }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'link' as const,
        'unlink' as const,
        'change password' as const,
        'end others' as const,
        'sign out' as const,
        'delete account' as const,
      ),
      who,
      pick,
    }),
  },
  fc.record({ do: fc.constantFrom('delete' as const, 'expire' as const), at: who, box: mailbox }),
  fc.record({ do: fc.constant('invite' as const), at: who, box: mailbox }),
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('sign up by invitation' as const, 'accept invitation' as const),
      who,
      pick,
    }),
  },
);

const commands = fc.array(command, { minLength: 8, maxLength: 24 });

type Account = { address: string; password: string | null; subjects: Set<string> };
type Session = { cookie: string; account: Account };
type Link = { token: string; address: string };
type Invitation = Link & { id: string };
type World = {
  run: string;
  accounts: Map<string, Account>;
  sessions: Record<Who, Session[]>;
  /** Each person's own passwords, and the links that were mailed to them, oldest first. */
  passwords: Record<Who, string[]>;
  links: Record<Who, Link[]>;
  addressLinks: Record<Who, Link[]>;
  /** The token that works now, by address, if the address still has an account, or none if it creates one. */
  live: Map<string, { token: string; creates: boolean }>;
  /** Those that can be accepted. Everybody has their links. */
  invitations: Invitation[];
  /** The token that changes the address of an account. Null: it was asked for, but nobody has it. */
  changes: Map<Account, string | null>;
  /** The cookies of every session there was, and whose it was. */
  seen: Map<string, Who>;
};

let runs = 0;
let ips = 0;
let changedAddresses = 0;
let deletedAccounts = 0;
let invitations = 0;
let invitedSignUps = 0;

/** From another address each time: limits by address are tested elsewhere. */
function elsewhere() {
  ips += 1;
  return { 'x-forwarded-for': `10.${(ips >> 16) & 255}.${(ips >> 8) & 255}.${ips & 255}` };
}

function addressOf({ run }: World, person: Who, box: Box = 0): string {
  return `${person}-${run}@example.${box === 0 ? 'org' : 'com'}`;
}
function subjectOf({ run }: World, person: Who): string {
  return `${person}-${run}`;
}

function post(path: string, json: unknown, cookie?: string): Promise<Answer> {
  return postPortal(service, path, json, { headers: elsewhere(), ...(cookie && { cookie }) });
}

async function begin(world: World, person: Who, account: Account, answer: Answer): Promise<void> {
  const session = { cookie: cookiesOf(answer), account };
  world.sessions[person].push(session);
  world.seen.set(session.cookie, person);
  await checkOwner(world, person, session);
}

async function checkOwner(world: World, person: Who, { cookie, account }: Session): Promise<void> {
  const { status, body } = await callPortal(service, '/session', {}, cookie);
  assert.equal(status, 200, `${person} should be signed in to ${account.address}`);
  assert.equal(body.data.user.email, account.address);
  const mailboxes = ([0, 1] as const).map((box) => addressOf(world, person, box));
  const own = [...mailboxes, `${subjectOf(world, person)}@oidc.invalid`];
  assert.ok(own.includes(account.address), `${person} has ${account.address}`);
}

function endSessions(world: World, account: Account, except?: Session): void {
  for (const person of people)
    world.sessions[person] = world.sessions[person].filter(
      (session) => session.account !== account || session === except,
    );
}

function newPassword(world: World, person: Who): string {
  const password = `password ${world.passwords[person].length} of ${subjectOf(world, person)}`;
  world.passwords[person].push(password);
  return password;
}

function sessionOf(world: World, person: Who, index: number): Session | undefined {
  const all = world.sessions[person];
  return all[index % Math.max(all.length, 1)];
}

/** As if they had confirmed that it is them, which a provider's redirect does not. */
async function proveSessions(address: string): Promise<void> {
  await sql`
    update sessions set proven_at = now() where user_id = (select id from users where email = ${address})
  `.execute(service.database);
}

async function perform(world: World, step: Command): Promise<void> {
  switch (step.do) {
    case 'request link': {
      const address = addressOf(world, step.at, step.box);
      const before = smtp.mails.length;
      const answer = await post('/password-links', { email: address });
      // The sixth in an hour.
      if (answer.status === 429) return;
      assert.equal(answer.status, 202);
      const token = tokenOf(await newMail(before, address)) ?? '';
      world.links[step.at].push({ token, address });
      world.live.set(address, { token, creates: !world.accounts.has(address) });
      return;
    }
    case 'ask for address': {
      const session = sessionOf(world, step.who, step.pick);
      if (!session) return;
      const { account, cookie } = session;
      // Mostly for a mailbox of their own.
      const owner = step.pick > 0 ? step.who : step.at;
      const address = addressOf(world, owner, step.box);
      const before = smtp.mails.length;
      await proveSessions(account.address);
      const answer = await post('/account/address-changes', { email: address }, cookie);
      if (answer.status === 429) return;
      assert.equal(answer.status, address === account.address ? 400 : 202, answer.text);
      if (answer.status === 400) return;
      const token = addressTokenOf(await newMail(before, address));
      assert.equal(token === null, world.accounts.has(address), 'who has an account gets no link');
      world.changes.set(account, token);
      if (token !== null) world.addressLinks[owner].push({ token, address });
      return;
    }
    case 'use address link': {
      const session = sessionOf(world, step.who, step.pick);
      const links = world.addressLinks[step.who];
      const link = links.at(-1 - (step.link % Math.max(links.length, 1)));
      if (!session || !link) return;
      const { account, cookie } = session;
      const options = { method: 'PUT', json: { token: link.token }, headers: elsewhere() };
      const answer = await callPortal(service, '/account/address', options, cookie);
      const isLive = world.changes.get(account) === link.token;
      const isTaken = world.accounts.has(link.address);
      assert.equal(answer.status, isLive ? (isTaken ? 409 : 200) : 403, answer.text);
      if (answer.status !== 200) return;
      world.changes.delete(account);
      for (const address of [account.address, link.address]) world.live.delete(address);
      world.accounts.delete(account.address);
      account.address = link.address;
      world.accounts.set(account.address, account);
      endSessions(world, account, session);
      changedAddresses += 1;
      return;
    }
    case 'open link': {
      // A mail scanner, or the attacker, has the link opened: nobody gets anything by it.
      const token = world.links[step.at].at(-1)?.token ?? 'none';
      const change = world.addressLinks[step.at].at(-1)?.token ?? 'none';
      for (const path of [
        '/set-password',
        `/set-password?token=${token}`,
        `/change-address?token=${change}`,
      ]) {
        const answer = await fetch(`${service.url}/profile/developer${path}`);
        assert.deepEqual([answer.status, answer.headers.getSetCookie()], [200, []]);
      }
      return;
    }
    case 'use link': {
      const links = world.links[step.who];
      const link = links.at(-1 - (step.pick % Math.max(links.length, 1)));
      if (!link) return;
      const { token, address } = link;
      const password = newPassword(world, step.who);
      const answer = await post('/password', { token, password, name: step.who });
      const works = isUsable(world, address) && world.live.get(address)?.token === token;
      assert.equal(answer.status, works ? 200 : 403, answer.text);
      if (!works) return;
      world.live.delete(address);
      const account = world.accounts.get(address) ?? { address, password, subjects: new Set() };
      assert.equal(answer.body.data.methods.length, account.subjects.size);
      account.password = password;
      world.accounts.set(address, account);
      world.changes.delete(account);
      endSessions(world, account);
      return;
    }
    case 'guess token': {
      const own = world.links.mallory.at(-1)?.token ?? 'x'.repeat(43);
      const guesses = ['', 'x', own.split('').toReversed().join(''), addressOf(world, step.at)];
      const json = {
        token: guesses[step.pick],
        password: newPassword(world, 'mallory'),
        name: 'M',
      };
      assert.ok([400, 403].includes((await post('/password', json)).status));
      return;
    }
    case 'sign in': {
      const own = world.passwords[step.who];
      const password = own.at(-1 - (step.pick % Math.max(own.length, 1))) ?? 'never set this one';
      const email = addressOf(world, step.at, step.box);
      const account = world.accounts.get(email);
      const answer = await post('/sign-in', { email, password });
      const right = account?.password === password;
      assert.equal(answer.status, right ? 200 : 401, answer.text);
      if (account && right) await begin(world, step.who, account, answer);
      return;
    }
    case 'provider':
      return comeFromProvider(world, step.who, step.claims, null);
    case 'link': {
      const session = sessionOf(world, step.who, step.pick);
      if (!session) return;
      await proveSessions(session.account.address);
      // Seldom in another session than the one that began.
      const back = step.pick === 3 ? sessionOf(world, step.who, step.pick + 1) : session;
      await comeFromProvider(world, step.who, step.who, { begun: session, back: back ?? session });
      return;
    }
    case 'unlink': {
      const session = sessionOf(world, step.who, step.pick);
      if (!session) return;
      const path = '/account/methods';
      const { body } = await callPortal(service, path, {}, session.cookie);
      const method = body.data.find((each: { provider: string }) => each.provider === 'oidc');
      if (!method) return;
      await proveSessions(session.account.address);
      const options = { method: 'DELETE' };
      const answer = await callPortal(service, `${path}/${method.id}`, options, session.cookie);
      const { account } = session;
      const isLast = account.password === null && account.subjects.size === 1;
      assert.equal(answer.status, isLast ? 409 : 200);
      if (isLast) return;
      const { rows } = await sql<{ subject: string }>`
        select account_id as subject from accounts a join users u on u.id = a.user_id
        where u.email = ${account.address} and provider_id = 'oidc'
      `.execute(service.database);
      account.subjects = new Set(rows.map(({ subject }) => subject));
      endSessions(world, account, session);
      return;
    }
    case 'change password': {
      const session = sessionOf(world, step.who, step.pick);
      if (!session) return;
      const { account, cookie } = session;
      const chosen = newPassword(world, step.who);
      const json = { currentPassword: account.password ?? 'none', newPassword: chosen };
      const options = { method: 'PUT', json, headers: elsewhere() };
      const answer = await callPortal(service, '/account/password', options, cookie);
      assert.equal(answer.status, account.password === null ? 409 : 200);
      if (answer.status !== 200) return;
      account.password = chosen;
      endSessions(world, account, session);
      return;
    }
    case 'end others': {
      const session = sessionOf(world, step.who, step.pick);
      if (!session) return;
      await callPortal(service, '/account/sessions', { method: 'DELETE' }, session.cookie);
      endSessions(world, session.account, session);
      return;
    }
    case 'sign out': {
      const session = sessionOf(world, step.who, step.pick);
      if (!session) return;
      await callPortal(service, '/sign-out', { method: 'POST' }, session.cookie);
      world.sessions[step.who] = world.sessions[step.who].filter((each) => each !== session);
      return;
    }
    case 'delete account': {
      const session = sessionOf(world, step.who, step.pick);
      if (!session) return;
      const { account, cookie } = session;
      // Seldom by mistake: for the address of somebody else, or of their other mailbox.
      const email = step.pick > 0 ? account.address : addressOf(world, 'ada', 1);
      await proveSessions(account.address);
      const answer = await post('/account/deletion', { email, apps: [] }, cookie);
      assert.equal(answer.status, email === account.address ? 200 : 400, answer.text);
      if (answer.status !== 200) return;
      world.live.delete(account.address);
      world.accounts.delete(account.address);
      world.changes.delete(account);
      world.invitations = world.invitations.filter((each) => each.address !== account.address);
      endSessions(world, account);
      deletedAccounts += 1;
      return;
    }
    case 'invite': {
      const address = addressOf(world, step.at, step.box);
      world.invitations.push(await invite(address));
      return;
    }
    case 'sign up by invitation': {
      const invitation = latest(world.invitations, step.pick);
      if (!invitation) return;
      const { token, address } = invitation;
      const checked = await post('/invitations/check', { token });
      assert.equal(checked.body.data.email, address);
      const before = smtp.mails.length;
      const answer = await post('/invitations/sign-up', { token });
      if (answer.status === 429) return;
      assert.deepEqual([answer.status, answer.body.data], [202, { done: true }]);
      // Whoever asked: the link is in the mailbox.
      const mailed = tokenOf(await newMail(before, address));
      const getsLink = !world.accounts.has(address);
      assert.equal(mailed !== null, getsLink, 'only an address without an account gets a link');
      if (mailed === null) return;
      const owner = people.find((person) => address.startsWith(`${person}-`)) ?? 'ada';
      world.links[owner].push({ token: mailed, address });
      world.live.set(address, { token: mailed, creates: true });
      invitedSignUps += 1;
      return;
    }
    case 'accept invitation': {
      const session = sessionOf(world, step.who, step.pick);
      const invitation = latest(world.invitations, step.pick);
      if (!session || !invitation) return;
      const answer = await post(`/invitations/${invitation.id}/accept`, {}, session.cookie);
      const isInvited = session.account.address === invitation.address;
      assert.equal(answer.status, isInvited ? 200 : 404, answer.text);
      if (isInvited) world.invitations = world.invitations.filter((each) => each !== invitation);
      return;
    }
    case 'delete': {
      const address = addressOf(world, step.at, step.box);
      await sql`delete from users where email = ${address}`.execute(service.database);
      const account = world.accounts.get(address);
      world.accounts.delete(address);
      if (account) endSessions(world, account);
      return;
    }
    case 'expire': {
      const address = addressOf(world, step.at, step.box);
      for (const table of ['password_links', 'address_changes'])
        await sql`
          update ${sql.table(table)} set expires_at = now() where email = ${address}
        `.execute(service.database);
      world.live.delete(address);
      for (const { token } of Object.values(world.addressLinks)
        .flat()
        .filter((link) => link.address === address))
        for (const [account, live] of world.changes)
          if (live === token) world.changes.delete(account);
    }
  }
}

/** A link that creates an account ends when the address has one, and one that resets a password ends with the account. */
function isUsable(world: World, address: string): boolean {
  return world.live.get(address)?.creates === !world.accounts.has(address);
}

function latest<T>(all: T[], index: number): T | undefined {
  return all.at(-1 - (index % Math.max(all.length, 1)));
}

/** To an app of its own. */
async function invite(email: string): Promise<Invitation> {
  invitations += 1;
  const token = createToken();
  const by = `inviter-${invitations}@example.org`;
  const { id } = await service.database.transaction().execute(async (tx) => {
    const appId = await createApp(tx, testActor, { name: 'Herald', owner: by });
    const invitation = { appId, by, email, role: 'viewer', hash: digest(token) } as const;
    return createInvitation(tx, testActor, invitation);
  });
  return { id, token, address: email };
}

/**
 * The provider says that an address is verified only to whoever has it. `link`: the session that begins to add the
 * provider, and the one in which the browser comes back.
 */
async function comeFromProvider(
  world: World,
  person: Who,
  claims: Who,
  link: { begun: Session; back: Session } | null,
) {
  const subject = subjectOf(world, person);
  provider.person = {
    sub: subject,
    email: addressOf(world, claims),
    email_verified: claims === person,
    name: person,
  };
  const page = '/profile/developer/account';
  const json = { provider: 'oidc', callbackURL: page, errorCallbackURL: page };
  const path = link ? '/account/methods' : '/sign-in/provider';
  const begun = await post(path, json, link?.begun.cookie);
  const answer = await comeBack(service, begun, {
    cookie: link?.back.cookie,
    headers: elsewhere(),
  });
  const failed = answer.headers.get('location')?.includes('error=') ?? true;

  const linked = [...world.accounts.values()].find(({ subjects }) => subjects.has(subject));
  if (link) {
    const { account } = link.begun;
    const works = linked === account || (linked === undefined && link.back === link.begun);
    assert.equal(failed, !works, answer.headers.get('location') ?? '');
    if (works) account.subjects.add(subject);
    return;
  }
  const address = claims === person ? addressOf(world, person) : `${subject}@oidc.invalid`;
  const works = linked !== undefined || !world.accounts.has(address);
  assert.equal(failed, !works, answer.headers.get('location') ?? '');
  if (!works) return;
  const account = linked ?? { address, password: null, subjects: new Set([subject]) };
  if (!linked) world.live.delete(address);
  world.accounts.set(account.address, account);
  await begin(world, person, account, answer);
}

/** The mail with a link to this address since, or about its account, once it has come. */
async function newMail(since: number, address: string): Promise<string> {
  const find = () =>
    smtp.mails
      .slice(since)
      .find(
        ({ to, text }) =>
          to[0] === address &&
          (tokenOf(text) ??
            addressTokenOf(text) ??
            /asked to (use|sign up with) this address/.exec(text)) !== null,
      );
  await eventually(async () => find() !== undefined);
  return find()?.text ?? '';
}

/** Each session is whose it should be, and those that have ended open nothing. */
async function check(world: World): Promise<void> {
  const live = new Set<string>();
  for (const person of people)
    for (const session of world.sessions[person]) {
      live.add(session.cookie);
      await checkOwner(world, person, session);
    }
  for (const [cookie, person] of world.seen)
    if (!live.has(cookie)) {
      const { status } = await callPortal(service, '/session', {}, cookie);
      assert.equal(status, 401, `a session of ${person} has ended, and still opens the account`);
    }
}

test("nobody ever has a session of another user's account", async () => {
  const counts = { commands: 0, sessions: 0 };
  await fc.assert(
    fc.asyncProperty(fc.boolean(), commands, async (hasAccounts, random) => {
      runs += 1;
      const steps = [...(hasAccounts ? start : []), ...random];
      const world: World = {
        run: String(runs),
        accounts: new Map(),
        sessions: { ada: [], bob: [], mallory: [] },
        passwords: { ada: [], bob: [], mallory: [] },
        links: { ada: [], bob: [], mallory: [] },
        addressLinks: { ada: [], bob: [], mallory: [] },
        live: new Map(),
        invitations: [],
        changes: new Map(),
        seen: new Map(),
      };
      for (const step of steps) await perform(world, step);
      await check(world);
      smtp.mails.length = 0;
      counts.commands += steps.length;
      counts.sessions += people.flatMap((person) => world.sessions[person]).length;
    }),
    { numRuns: histories },
  );
  // Histories in which nobody ever signs in would show nothing.
  assert.ok(counts.sessions > histories / 4, `${counts.sessions} sessions`);
  // Rare, so a short run may have none.
  if (histories >= 500)
    assert.ok(changedAddresses > 0 && deletedAccounts > 0 && invitedSignUps > 0);
});

type Factor = { email: string; cookie: string; codes: string[]; spent: string[]; device: Device };
const factorCommands = [
  'sign in with a recovery code',
  'replace the recovery codes',
  'sign in with the passkey',
  'reset the password',
  'attack with the password',
  'attack with an old session',
  'attack with a recovery code alone',
  'attack with a passkey',
] as const;
type FactorCommand = (typeof factorCommands)[number];
/** The attacker knows it all the time. */
const knownPassword = 'correct horse battery staple';

/** Somebody with an authenticator app, a passkey and recovery codes. */
async function protect(email: string): Promise<Factor> {
  const cookie = await setKnownPassword(email);
  const { secret } = (await post('/account/authenticator', {}, cookie)).body.data;
  const code = codeOf(secret);
  const added = await post('/account/authenticator/confirm', { code }, cookie);
  const device = createDevice();
  const { data } = (await post('/account/passkeys/options', {}, cookie)).body;
  const passkey = { name: 'Laptop', credential: device.create(data) };
  assert.equal((await post('/account/passkeys', passkey, cookie)).status, 201);
  return { email, cookie, codes: added.body.data.recoveryCodes, spent: [code], device };
}

/** By a link, and signs in with it. */
async function setKnownPassword(email: string): Promise<string> {
  const { token } = await createPasswordLink(service.database, email);
  const set = await post('/password', { token, password: knownPassword, name: 'Ada' });
  assert.equal(set.status, 200, set.text);
  return cookiesOf(await post('/sign-in', { email, password: knownPassword }));
}

const complete = (cookie: string, code: string) => post('/sign-in/second-factor', { code }, cookie);

async function withPasskey(device: Device): Promise<Answer> {
  const { data } = (await post('/sign-in/passkey/options', {})).body;
  return post('/sign-in/passkey', { credential: device.get(data) });
}

async function isOpen(cookie: string): Promise<boolean> {
  return (await callPortal(service, '/apps', {}, cookie)).status === 200;
}

async function performFactor(factor: Factor, step: FactorCommand): Promise<void> {
  const { email, device, spent } = factor;
  switch (step) {
    case 'sign in with a recovery code': {
      const code = factor.codes.pop();
      if (code === undefined) return;
      spent.push(code);
      factor.cookie = cookiesOf(await post('/sign-in', { email, password: knownPassword }));
      assert.equal((await complete(factor.cookie, code)).status, 200);
      return;
    }
    case 'replace the recovery codes': {
      factor.cookie = cookiesOf(await withPasskey(device));
      spent.push(...factor.codes);
      const { body } = await post('/account/recovery-codes', {}, factor.cookie);
      factor.codes = body.data.recoveryCodes;
      return;
    }
    case 'sign in with the passkey': {
      factor.cookie = cookiesOf(await withPasskey(device));
      assert.ok(await isOpen(factor.cookie));
      return;
    }
    case 'reset the password': {
      const pending = await setKnownPassword(email);
      assert.ok(!(await isOpen(pending)), 'a reset leaves the second factor');
      assert.ok(!(await isOpen(factor.cookie)));
      factor.cookie = cookiesOf(await withPasskey(device));
      return;
    }
    case 'attack with the password': {
      const cookie = cookiesOf(await post('/sign-in', { email, password: knownPassword }));
      for (const code of [spent.at(-1) ?? '', '000000'])
        assert.ok([400, 429].includes((await complete(cookie, code)).status));
      assert.ok(!(await isOpen(cookie)), 'a password opens an account with a second factor');
      const proof = await post('/account/proof/password', { password: knownPassword }, cookie);
      assert.equal(proof.status, 401);
      return;
    }
    case 'attack with an old session': {
      await ageSessions(service, email);
      const proof = await post('/account/proof/mailed-code', { code: '00000000' }, factor.cookie);
      assert.equal(proof.status, 400);
      for (const path of ['/account/recovery-codes', '/account/passkeys/options']) {
        const { status, body } = await post(path, {}, factor.cookie);
        assert.deepEqual([status, body.error.code], [403, 'proof_required']);
      }
      return;
    }
    case 'attack with a recovery code alone': {
      const code = factor.codes.at(-1) ?? 'aaaa-bbbb-cccc-dddd';
      assert.equal((await complete('', code)).status, 401);
      return;
    }
    case 'attack with a passkey': {
      const { data } = (await post('/sign-in/passkey/options', {})).body;
      const credential = { ...createDevice().get(data), id: device.get(data).id };
      assert.equal((await post('/sign-in/passkey', { credential })).status, 401);
      return;
    }
  }
}

test('a password, an old session or a used code never opens an account with a second factor', async () => {
  const steps = fc.array(fc.constantFrom(...factorCommands), { minLength: 6, maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      runs += 1;
      const factor = await protect(`protected-${runs}@example.org`);
      for (const step of history) await performFactor(factor, step);
      assert.ok(await isOpen(factor.cookie), 'the owner is signed in');
    }),
    // Attempts beyond ten a minute wait for a second each.
    { numRuns: Math.ceil(histories / 20) },
  );
});
