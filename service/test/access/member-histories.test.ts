/**
 * Random histories of two people and an attacker around one app: they invite, accept, leave, transfer and bind, each with
 * what they know, in any order. Nobody ever has a role that an owner did not give them, and the app keeps an owner. An
 * operator suspends and restores the app, its key and accounts meanwhile: what is suspended opens nothing. Everybody also
 * begins exports and reads them page by page, as slowly as somebody who stops reading, while sessions end: no page shows
 * what was lost before it was begun. `MEMBER_HISTORIES=10000` runs more of them.
 */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { createApp, deleteApp, readApp } from '../../src/access/apps.ts';
import { createKey } from '../../src/access/keys.ts';
import { createInvitation } from '../../src/access/invitations.ts';
import { listMembers } from '../../src/access/members.ts';
import { writeExport } from '../../src/http/portal/account-export.ts';
import { holdExport, type ExportHold } from '../../src/sign-in/hold-export.ts';
import { endSession } from '../../src/sign-in/sessions.ts';
import { restore, suspend, type Suspendable } from '../../src/access/suspensions.ts';
import { appRoles, type AppRole } from '../../src/contract/app-roles.ts';
import { sql } from '../../src/database/database.ts';
import { ServiceError } from '../../src/errors.ts';
import { testActor } from '../support/actor.ts';
import { put } from '../support/directory.ts';
import { signUp } from '../support/portal.ts';
import { startTestService } from '../support/service.ts';

const histories = Number(process.env['MEMBER_HISTORIES'] ?? 20);
let exportsBegun = 0;
let exportsBroken = 0;
const service = await startTestService();
const { database } = service;
const people = ['ada', 'bob', 'mallory'] as const;
type Who = (typeof people)[number];

const addressOf = (person: Who) => `${person}@example.org`;
const signedIn = {
  ada: await signUp(service, addressOf('ada')),
  bob: await signUp(service, addressOf('bob')),
  mallory: await signUp(service, addressOf('mallory')),
};
const userIds = Object.fromEntries(
  await Promise.all(
    people.map(async (person) => [
      person,
      (await signedIn[person].call('/session')).body.data.user.id as string,
    ]),
  ),
) as Record<Who, string>;
const managers: Who[] = ['ada', 'mallory'];
await put(database, 'orgs', [
  { slug: 'acme', name: 'Acme', managers: managers.map((person) => addressOf(person)) },
]);

type Invite = { do: 'invite'; who: Who; at: Who; role: AppRole };
type Command =
  | Invite
  | { do: 'set role'; who: Who; at: Who; role: AppRole }
  | { do: 'accept' | 'decline' | 'revoke' | 'remove' | 'transfer'; who: Who; at: Who }
  | { do: 'leave' | 'bind' | 'unbind'; who: Who };
/** `read`: the next part of the export, which may have a page. */
type Export = { exporting: 'begin' | 'read' | 'end session'; who: Who };
type Switch = { do: 'suspend' | 'restore'; kind: Exclude<Suspendable, 'webhook'>; who: Who };

const who = fc.constantFrom(...people);
const role = fc.constantFrom(...appRoles);
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('invite' as const), who, at: who, role }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('set role' as const), who, at: who, role }) },
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'accept' as const,
        'accept' as const,
        'decline' as const,
        'revoke' as const,
        'remove' as const,
        'transfer' as const,
      ),
      who,
      at: who,
    }),
  },
  // By the first owner, and accepted by the invited person, so that histories have members.
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('invite' as const),
      who: fc.constant(people[0]),
      at: who,
      role,
    }),
  },
  {
    weight: 10,
    arbitrary: who.map((person) => ({ do: 'accept' as const, who: person, at: person })),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('leave' as const, 'bind' as const, 'bind' as const, 'unbind' as const),
      who,
    }),
  },
);

const turn: fc.Arbitrary<Switch> = fc.record({
  do: fc.constantFrom('suspend' as const, 'restore' as const),
  kind: fc.constantFrom('account' as const, 'app' as const, 'key' as const),
  who,
});

const exporting: fc.Arbitrary<Export> = fc.record({
  exporting: fc.constantFrom(
    'begin' as const,
    'read' as const,
    'read' as const,
    'end session' as const,
  ),
  who,
});

const rest = ',\n"activity"';

type OpenExport = {
  parts: AsyncGenerator<string>;
  hold: ExportHold;
  sessionId: string;
  hasSession: boolean;
  text: string;
};

type World = {
  appId: string;
  keyId: string;
  key: string;
  /** `app`, `key`, and the people. */
  suspended: Set<string>;
  roles: Map<Who, AppRole>;
  invitations: Map<Who, { id: string; role: AppRole; by: Who }>;
  boundBy: Who | null;
  /** One for each account. */
  exports: Map<Who, OpenExport>;
  /** The ids of all members and invitations there were: everybody knows them. */
  ids: Map<string, string>;
};

/** What must come of the command: a status, and the change if it succeeds. */
type Expected = { status: number; change?: () => void };

function expected(world: World, step: Command): Expected {
  const { roles, invitations, suspended } = world;
  const own = roles.get(step.who);
  if (suspended.has(step.who) && step.do !== 'invite') return { status: 403 };
  if (step.do === 'accept' || step.do === 'decline') {
    const invitation = invitations.get(step.at);
    if (!invitation || step.who !== step.at) return { status: 404 };
    if (step.do === 'accept' && suspended.has('app')) return { status: 403 };
    return {
      status: 200,
      change() {
        invitations.delete(step.at);
        if (step.do === 'accept') roles.set(step.at, invitation.role);
      },
    };
  }
  if (own === undefined) return { status: 404 };
  if (step.do === 'leave') return setRole(world, step.who, null);
  if (own !== 'owner' || suspended.has('app')) return { status: 403 };
  switch (step.do) {
    case 'invite':
      return { status: roles.has(step.at) || invitations.has(step.at) ? 409 : 201 };
    case 'revoke':
      if (!invitations.has(step.at)) return { status: 404 };
      return { status: 200, change: () => invitations.delete(step.at) };
    case 'set role':
      return roles.has(step.at) ? setRole(world, step.at, step.role) : { status: 404 };
    case 'remove':
      return roles.has(step.at) ? setRole(world, step.at, null) : { status: 404 };
    case 'transfer':
      if (!roles.has(step.at)) return { status: 404 };
      if (step.at === step.who) return { status: 409 };
      return {
        status: 200,
        change() {
          roles.set(step.at, 'owner');
          setRole(world, step.who, 'developer').change?.();
        },
      };
    case 'bind':
      if (!managers.includes(step.who)) return { status: 403 };
      if (world.boundBy !== null) return { status: 409 };
      return { status: 200, change: () => (world.boundBy = step.who) };
    default:
      return { status: 200, change: () => (world.boundBy = null) };
  }
}

function setRole(world: World, person: Who, next: AppRole | null): Expected {
  const { roles, invitations } = world;
  const others = [...roles].filter(([member]) => member !== person);
  if (next !== 'owner' && !others.some(([, each]) => each === 'owner')) return { status: 409 };
  return {
    status: 200,
    change() {
      if (next === null) roles.delete(person);
      else roles.set(person, next);
      if (next === 'owner') return;
      if (world.boundBy === person) world.boundBy = null;
      for (const [invited, { by }] of invitations) if (by === person) invitations.delete(invited);
    },
  };
}

async function perform(world: World, step: Command): Promise<number> {
  if (step.do === 'invite') return invite(world, step);
  const [method, path, json] = requestOf(world, step);
  return (await signedIn[step.who].call(path, { method, ...(json && { json }) })).status;
}

/** Not over HTTP, where an address gets five invitations per hour. */
async function invite(world: World, { who: by, at, role: offered }: Invite): Promise<number> {
  const invitation = { by: addressOf(by), email: addressOf(at), role: offered };
  try {
    const { id } = await database.transaction().execute((tx) =>
      createInvitation(tx, testActor, {
        appId: world.appId,
        ...invitation,
        hash: randomBytes(32),
      }),
    );
    world.invitations.set(at, { id, role: offered, by });
    world.ids.set(`invitation of ${at}`, id);
    return 201;
  } catch (error) {
    if (error instanceof ServiceError) return error.status;
    throw error;
  }
}

function requestOf(
  { appId, ids }: World,
  step: Exclude<Command, Invite>,
): [string, string, object?] {
  const app = `/apps/${appId}`;
  const idOf = (name: string) => ids.get(name) ?? randomUUID();
  switch (step.do) {
    case 'leave':
      return ['DELETE', `${app}/membership`];
    case 'bind':
      return ['PUT', `${app}/binding`, { kind: 'organization', slug: 'acme' }];
    case 'unbind':
      return ['DELETE', `${app}/binding`];
    case 'accept':
    case 'decline':
      return ['POST', `/invitations/${idOf(`invitation of ${step.at}`)}/${step.do}`];
    case 'revoke':
      return ['DELETE', `${app}/invitations/${idOf(`invitation of ${step.at}`)}`];
    case 'remove':
      return ['DELETE', `${app}/members/${idOf(step.at)}`];
    case 'transfer':
      return ['POST', `${app}/transfer`, { memberId: idOf(step.at) }];
    default:
      return ['PATCH', `${app}/members/${idOf(step.at)}`, { role: step.role }];
  }
}

/** Done by the operator; a second time changes nothing. */
async function turnOnOrOff(world: World, step: Switch): Promise<void> {
  const id = { account: userIds[step.who], app: world.appId, key: world.keyId }[step.kind];
  const subject = { kind: step.kind, id, appId: null, details: {} };
  const name = step.kind === 'account' ? step.who : step.kind;
  await database
    .transaction()
    .execute<unknown>((tx) =>
      step.do === 'suspend'
        ? suspend(tx, testActor, subject, 'Reason')
        : restore(tx, testActor, subject),
    );
  if (step.do === 'suspend') world.suspended.add(name);
  else world.suspended.delete(name);
  await service.settled();
}

/** In a session of its own, which can end. */
async function beginExport(world: World, person: Who): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    insert into sessions (id, user_id, token, created_at, updated_at, expires_at)
    values (gen_random_uuid(), ${userIds[person]}, gen_random_uuid()::text, now(), now(), now() + interval '1 hour')
    returning id
  `.execute(database);
  const sessionId = rows[0]?.id ?? '';
  const account = { id: userIds[person], email: addressOf(person), sessionId };
  const hold = await holdExport(database, account);
  assert.equal(hold === null, world.exports.has(person), 'an account has one export at a time');
  if (!hold) return;
  const context = {
    database,
    search: { find: () => Promise.resolve(null) },
    account,
    signedIn: { name: person, image: null },
  };
  const parts = writeExport(context, hold);
  world.exports.set(person, { parts, hold, sessionId, hasSession: true, text: '' });
  exportsBegun += 1;
}

/** Reads the next part. Returns false at the end. */
async function readOn(world: World, person: Who, found: OpenExport): Promise<boolean> {
  const mayRead = found.hasSession && !world.suspended.has(person);
  const part = await found.parts.next().catch((error: unknown) => {
    assert.ok(error instanceof ServiceError, String(error));
    const code = found.hasSession ? 'suspended' : 'unauthorized';
    assert.deepEqual([mayRead, error.code], [false, code]);
    return null;
  });
  if (part?.done === false) {
    const { value } = part;
    const own = world.roles.get(person);
    if (!mayRead) assert.match(value, /^(,\n"\w+":\[|\]|\}\n)$/, 'a page after the right was lost');
    if (own === undefined) assert.ok(!/key-of-app|https:/.test(value), 'an app that was lost');
    if (own === 'viewer') assert.ok(!value.includes('token-in-path'), 'more than a viewer sees');
    found.text += value;
    return true;
  }
  world.exports.delete(person);
  await found.hold.release();
  if (part === null) exportsBroken += 1;
  else JSON.parse(found.text);
  return false;
}

async function stepExport(world: World, step: Export): Promise<void> {
  const { exports } = world;
  if (step.exporting === 'begin') return beginExport(world, step.who);
  const found = exports.get(step.who);
  if (!found) return;
  if (step.exporting === 'read') return void (await readOn(world, step.who, found));
  await endSession(database, userIds[step.who], found.sessionId);
  found.hasSession = false;
}

/** The members, what each person sees, and the binding are as the model has them. */
async function check(world: World): Promise<void> {
  const members = await listMembers(database, world.appId);
  for (const { id, email } of members) world.ids.set(email.split('@')[0] ?? '', id);
  const roles = [...world.roles].map(([person, each]): [string, AppRole] => [
    addressOf(person),
    each,
  ]);
  assert.deepEqual(
    Object.fromEntries(members.map(({ email, role: each }) => [email, each])),
    Object.fromEntries(roles),
  );
  assert.ok(members.some(({ role: each }) => each === 'owner'));
  for (const person of people) {
    const { status, body } = await signedIn[person].call(`/apps/${world.appId}`);
    if (world.suspended.has(person)) {
      assert.deepEqual([status, body.error.details.subject], [403, 'account'], person);
      continue;
    }
    const own = world.roles.get(person);
    assert.deepEqual([status, body.data?.role], own ? [200, own] : [404, undefined], person);
    if (own)
      assert.equal(
        body.data.binding?.boundBy,
        world.boundBy === null ? undefined : addressOf(world.boundBy),
      );
  }
  const { status, body } = await service.call('/webhooks', { key: world.key });
  const refusedFor = ['key', 'app'].find((each) => world.suspended.has(each));
  assert.deepEqual(
    [status, body.error?.details.subject],
    refusedFor === undefined ? [200, undefined] : [403, refusedFor],
  );
  assert.equal(
    (await readApp(database, world.appId)).organizationSlug,
    world.boundBy === null ? null : 'acme',
  );
}

async function makeApp() {
  return database.transaction().execute(async (tx) => {
    const appId = await createApp(tx, testActor, { name: 'App', owner: addressOf('ada') });
    const fields = { appId, name: 'Key', scopes: ['write:webhooks'], expiresAt: null };
    const { id: keyId, key } = await createKey(tx, testActor, fields);
    // Two pages of an export.
    await sql`
      insert into api_keys (id, app_id, name, hash, last4, scopes)
      select uuid_v7(), ${appId}, 'key-of-app', sha256(gen_random_uuid()::text::bytea), 'xxxx', array['read:events']
      from generate_series(1, 60)
    `.execute(tx);
    await sql`
      insert into webhooks (id, app_id, url, secret)
      values (uuid_v7(), ${appId}, 'https://example.org/hooks/token-in-path', '')
    `.execute(tx);
    return { appId, keyId, key };
  });
}

const anything = fc.oneof(
  { weight: 5, arbitrary: command },
  { weight: 1, arbitrary: turn },
  { weight: 3, arbitrary: exporting },
);

test('nobody ever has a role that no owner gave them, and an app keeps an owner', async () => {
  let joined = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(anything, { minLength: 8, maxLength: 24 }), async (steps) => {
      const { appId, keyId, key } = await makeApp();
      const world: World = {
        appId,
        keyId,
        key,
        suspended: new Set(),
        roles: new Map([['ada', 'owner']]),
        invitations: new Map(),
        boundBy: null,
        exports: new Map(),
        ids: new Map(),
      };
      try {
        await check(world);
        for (const step of steps) {
          if ('exporting' in step) {
            await stepExport(world, step);
            continue;
          }
          if ('kind' in step) {
            await turnOnOrOff(world, step);
            await check(world);
            continue;
          }
          const { status, change } = expected(world, step);
          const found = await perform(world, step);
          assert.equal(found, status, JSON.stringify(step));
          change?.();
          await check(world);
          if (step.do === 'accept' && status === 200) joined += 1;
        }
        for (const [person, found] of world.exports) {
          // What follows is the audit log, which grows with the number of histories.
          while (!found.text.includes(rest) && (await readOn(world, person, found)));
          if (world.exports.has(person)) JSON.parse(`${found.text.split(rest)[0] ?? ''}}`);
        }
      } finally {
        await sql`delete from suspensions`.execute(database);
        await sql`delete from account_exports`.execute(database);
        await database.transaction().execute((tx) => deleteApp(tx, testActor, appId));
      }
    }),
    { numRuns: histories },
  );
  assert.ok(exportsBegun > histories / 2, `${exportsBegun} exports`);
  // A run in which nobody joins would show nothing. Both are rare, so a short run may have none.
  if (histories >= 60) assert.ok(joined > histories / 20, `${joined} joined`);
  if (histories >= 300) assert.ok(exportsBroken > 0);
});
