/**
 * Tests who may see and change what in the portal, with every operation of openapi.portal.json. For those who are no
 * members of an app, it does not exist; developers and viewers may do what their role allows and nothing else.
 */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { createApp } from '../../../src/access/apps.ts';
import { bindApp } from '../../../src/access/bindings.ts';
import { createInvitation } from '../../../src/access/invitations.ts';
import { createKey } from '../../../src/access/keys.ts';
import { removeManager } from '../../../src/access/managers.ts';
import { listMembers, removeMember, setMember } from '../../../src/access/members.ts';
import { suspend } from '../../../src/access/suspensions.ts';
import { includesRole, type AppRole } from '../../../src/contract/app-roles.ts';
import { sql, type Transaction } from '../../../src/database/database.ts';
import { publishEvent } from '../../../src/directory/publish-in-groups.ts';
import { createSecretBox } from '../../../src/runtime/secret-box.ts';
import { loadConfig } from '../../../src/settings/config.ts';
import { suspendWebhooks } from '../../../src/webhooks/management/suspend-webhooks.ts';
import { createWebhook } from '../../../src/webhooks/management/webhooks.ts';
import { testActor } from '../../support/actor.ts';
import { addSubject, put } from '../../support/directory.ts';
import { endedDelivery, eventually } from '../../support/eventually.ts';
import { portalOpenApi, type Operation } from '../../support/openapi-check.ts';
import {
  addressTokenOf,
  callPortal,
  password,
  signInAs,
  signUp,
  type Person,
} from '../../support/portal.ts';
import { queueDrained } from '../../support/queue.ts';
import { loopbackAllowed, startReceiver } from '../../support/receiver.ts';
import { assertUnread, secretHeaders, secretPath } from '../../support/unreadable.ts';
import { startTestService, type Answer } from '../../support/service.ts';

/** In all texts of the app. */
const mark = 'mark-of-the-owner';
const insiders = { developer: 'developer@example.org', viewer: 'viewer@example.org' } as const;
const outsiders = {
  'a former owner': 'former-owner@example.org',
  'another user': 'stranger@example.org',
  'an unbound manager': 'manager@example.org',
  'a former manager': 'former@example.org',
  'the owner of another app': 'neighbour@example.org',
} as const;
const people = { owner: 'owner@example.org', ...insiders, ...outsiders } as const;
/** Members of each app whom tests remove or promote. */
const colleague = 'colleague@example.org';
const secondOwner = 'second-owner@example.org';

/** The role that an operation on an app needs: by default `viewer` to read and `developer` to write. */
const roleNeeded: Record<string, AppRole> = {
  updateApp: 'owner',
  deleteApp: 'owner',
  bindApp: 'owner',
  unbindApp: 'owner',
  transferApp: 'owner',
  updateMember: 'owner',
  removeMember: 'owner',
  createInvitation: 'owner',
  resendInvitation: 'owner',
  revokeInvitation: 'owner',
  updateMembership: 'viewer',
  leaveApp: 'viewer',
};

/** Repeats what it gets, as error pages do. */
const receiver = await startReceiver((response, { path, headers, body }) =>
  response
    .setHeader('x-request', `${path} ${String(headers['authorization'])}`)
    .end(`${path} ${JSON.stringify(headers)} ${body.toString()}`),
);
const { origin } = new URL(receiver.url);

/** In each part of what is sent and received that may hold a secret. */
const canaries = {
  path: 'canary-in-path',
  query: 'canary-in-query',
  responseHeader: 'canary-in-header',
  responseBody: 'canary-in-response',
  internalBody: 'canary-in-internal-event',
};

/** Repeats its request, as error pages and redirects do. */
const repeating = await startReceiver((response, { path, body }, count) =>
  response
    .writeHead([200, 302, 404][count % 3] ?? 200, {
      location: path,
      'x-debug': `${canaries.responseHeader} ${path}`,
    })
    .end(`Cannot POST ${path} ${canaries.responseBody} ${body.toString()}`),
);

/** For signing up, so that its mails do not count towards the limit of the other. */
const local = await startTestService();
const { database } = local;
const secretKeys = [randomBytes(32)];
const secretBox = createSecretBox(secretKeys);
const config = loadConfig(loopbackAllowed);
const service = await startTestService({
  env: { ...loopbackAllowed, GITHUB_CLIENT_ID: 'id', GITHUB_CLIENT_SECRET: 'secret' },
  beside: { ...local, secretKeys },
  worker: true,
  chatOrigins: { discord: [], slack: [origin], teams: [] },
});

async function join(email: string): Promise<Person> {
  await signUp(local, email);
  return signInAs(service, email);
}

const org = await addSubject(database, 'organization', {
  slug: 'acme-corporation',
  name: 'Acme',
  listed: false,
  managers: [
    people.owner,
    people['an unbound manager'],
    people['a former manager'],
    people['the owner of another app'],
  ],
});

const signedIn = new Map<string, Person>();
for (const [role, email] of Object.entries(people)) signedIn.set(role, await join(email));
await database
  .transaction()
  .execute((tx) => removeManager(tx, testActor, org, people['a former manager']));
const owner = signedIn.get('owner') as Person;
const unbound = signedIn.get('an unbound manager') as Person;
const neighbour = signedIn.get('the owner of another app') as Person;

type Things = {
  appId: string;
  memberId: string;
  invitationId: string;
  keyId: string;
  id: string;
  deliveryId: string;
  eventId: string;
  methodId: string;
  sessionId: string;
  passkeyId: string;
};

/**
 * An app with all that an app can have, bound to the organisation, or without a webhook. Its delivery is the one of another
 * webhook again, or really sent if there is none.
 */
async function makeThings(
  { email: by }: Person,
  { words = mark, webhook: hasWebhook = true, delivered = null as Things | null } = {},
): Promise<Omit<Things, 'methodId' | 'sessionId' | 'passkeyId'>> {
  const made = await inTransaction(async (tx) => {
    const appId = await createApp(tx, testActor, { name: `${words} app`, owner: by });
    await bindApp(tx, testActor, appId, { kind: 'organization', id: org.id });
    const others = await addPeople(tx, appId, by);
    const { id: keyId } = await createKey(tx, testActor, {
      appId,
      name: `${words} key`,
      scopes: ['read:directory'],
      expiresAt: new Date(Date.now() + 86_400_000),
    });
    const parts = { appId, ...others, keyId, id: '', deliveryId: '', eventId: '' };
    if (!hasWebhook) return parts;
    const input = {
      url: `${receiver.url}${words}`,
      description: `${words} webhook`,
      headers: secretHeaders,
    };
    const { id } = await createWebhook(tx, testActor, appId, input, config.webhooks, {
      secretBox,
      serviceName: config.serviceName,
    });
    const { rows } = await sql<{ deliveryId: string; eventId: string }>`
      insert into deliveries (id, event_id, event, webhook_id, status, attempt_count, created_at)
      select uuid_v7(created_at), event_id, event, ${id}, status, attempt_count, created_at
      from deliveries where id = ${delivered?.deliveryId ?? null}
      returning id as "deliveryId", event_id as "eventId"
    `.execute(tx);
    return { ...parts, id, ...rows[0] };
  });
  if (!hasWebhook || delivered) return made;
  await put(database, 'alliances', [{ name: 'Alliance' }], { emitEvents: true });
  const { id: deliveryId, event_id: eventId } = await endedDelivery(service, made.id);
  // The webhook's health is updated a moment later.
  await queueDrained(database);
  return { ...made, deliveryId, eventId };
}

function inTransaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
  return database.transaction().execute(work);
}

/** Adds members with every role, and one who is removed again, and invites somebody. */
async function addPeople(tx: Transaction, appId: string, by: string) {
  const formerOwner = people['a former owner'];
  for (const [email, role] of [
    [secondOwner, 'owner'],
    [formerOwner, 'owner'],
    [insiders.developer, 'developer'],
    [insiders.viewer, 'viewer'],
    [colleague, 'viewer'],
  ] as const)
    await setMember(tx, testActor, { appId, email, role });
  await removeMember(tx, testActor, { appId, email: formerOwner });
  const invitation = { appId, by, email: 'invited@example.org', role: 'viewer' } as const;
  const { id: invitationId } = await createInvitation(tx, testActor, {
    ...invitation,
    hash: randomBytes(32),
  });
  const members = await listMembers(tx, appId);
  return { invitationId, memberId: members.find(({ email }) => email === colleague)?.id ?? '' };
}

/** An invitation of the person to an app of the neighbour. */
async function inviteTo(email: string): Promise<string> {
  const appId = neighboursThings.appId;
  return inTransaction(async (tx) => {
    await removeMember(tx, testActor, { appId, email });
    await sql`delete from app_invitations where app_id = ${appId} and email = ${email}`.execute(tx);
    const role = 'viewer';
    const hash = randomBytes(32);
    return (
      await createInvitation(tx, testActor, { appId, by: neighbour.email, email, role, hash })
    ).id;
  });
}

/** A provider and a passkey to sign in with, and a session in another browser. */
async function makeSignIns({ email }: Person) {
  const { body } = await (await signInAs(service, email)).call('/session');
  const { rows } = await sql<{ id: string }>`
    insert into accounts (id, user_id, provider_id, account_id)
    values (${randomUUID()}, ${body.data.user.id}, 'github', ${randomUUID()}) returning id
  `.execute(database);
  const passkeyId = randomUUID();
  await sql`
    insert into passkeys (id, user_id, name, credential_id, public_key, counter)
    values (${passkeyId}, ${body.data.user.id}, ${mark}, ${randomUUID()}, '', 0)
  `.execute(database);
  // As if each of the sessions had used it.
  await sql`
    update sessions set second_factor_at = now(), proven_at = now() where user_id = ${body.data.user.id}
  `.execute(database);
  return { methodId: rows[0]?.id ?? '', sessionId: body.data.id, passkeyId };
}

const things: Things = { ...(await makeThings(owner)), ...(await makeSignIns(owner)) };
const neighboursThings = await makeThings(neighbour, { words: 'neighbour', delivered: things });

/** An owner of the app whose account is suspended. */
const suspended = await join('suspended@example.org');
const { body: ofSuspended } = await suspended.call('/session');
/** An app that is suspended, with the same members. */
const stopped: Things = {
  ...things,
  ...(await makeThings(owner, { words: 'stopped', delivered: things })),
};
await inTransaction(async (tx) => {
  await setMember(tx, testActor, { appId: things.appId, email: suspended.email, role: 'owner' });
  const subject = {
    kind: 'account',
    id: ofSuspended.data.user.id,
    appId: null,
    details: {},
  } as const;
  await suspend(tx, testActor, subject, 'Reason of the operator.');
  const app = { kind: 'app', id: stopped.appId } as const;
  await suspendWebhooks(tx, testActor, app, 'Reason of the operator.');
});

/** What an operation may change or delete. */
async function makeOwn(target: Target): Promise<Things> {
  if (ofAnAccount(target)) return { ...things, ...(await makeSignIns(owner)) };
  if (ofAnInvitation(target)) return { ...things, invitationId: await inviteTo(owner.email) };
  const options = { webhook: hasWebhook(target), delivered: things };
  return { ...things, ...(await makeThings(owner, options)) };
}

/** Nobody may have more than ten apps. */
async function forget({ appId }: Things): Promise<void> {
  if (appId !== things.appId) await sql`delete from apps where id = ${appId}`.execute(database);
}

/** Of somebody who tries another's things below it. */
const ownApp = await inTransaction((tx) =>
  createApp(tx, testActor, { name: 'Own', owner: unbound.email }),
);

type Target = { path: string; method: string; operation: Operation };
/** Those of the console: `operator.test.ts`. */
const ofPortal = Object.entries(portalOpenApi.paths).filter(
  ([path]) => !path.includes('/operator/'),
);
const targets: Target[] = ofPortal.flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    path: path.replace('/portal/api', ''),
    method,
    operation,
  })),
);

/** A member's own, also of a suspended app. */
const ofMembership = new Set(['leaveApp', 'updateMembership']);

const queryNeeded: Record<string, string> = {
  explainTime: '?event=event.created&subject=acme-corporation&at=2026-11-20T12:00:00Z',
};

async function ask(
  target: Target,
  ids: Things,
  person: Person | null,
  json = bodyOf(target, ids),
): Promise<Answer> {
  const answer = await send(target, ids, person, json);
  assertUnread(answer, target.operation.operationId);
  return answer;
}

function send(
  target: Target,
  ids: Things,
  person: Person | null,
  json: object | undefined,
): Promise<Answer> {
  const query = queryNeeded[target.operation.operationId] ?? '';
  const path = target.path.replaceAll(/\{(\w+)\}/g, (_, name: keyof Things) => ids[name]) + query;
  const options = { method: target.method.toUpperCase(), ...(json && { json }) };
  // Signing out would end the session of all that follows.
  if (!person || target.operation.operationId === 'signOut')
    return callPortal(service, path, options);
  return person.call(path, options);
}

function bodyOf(
  { operation }: Target,
  { memberId, deliveryId }: Things,
): Record<string, unknown> | undefined {
  const example = operation.requestBody?.content['application/json']?.example;
  if (!example) return undefined;
  const since = new Date(Date.now() - 3_600_000).toISOString();
  return {
    ...example,
    ...('url' in example ? { url: receiver.url } : {}),
    ...('since' in example ? { since } : {}),
    ...('memberId' in example ? { memberId } : {}),
    ...('deliveryIds' in example ? { deliveryIds: [deliveryId] } : {}),
    // The same again: people sign in with it later.
    ...('newPassword' in example ? { newPassword: password } : {}),
  };
}

/** Operations on the account itself, which nobody else can name: somebody new calls them with a body of their own. */
const ofANewAccount: Record<string, (person: Person) => Promise<Record<string, unknown>>> = {
  requestAddressChange: async (person) => ({ email: `new-${person.email}` }),
  checkAddressChange: addressToken,
  changeAddress: addressToken,
  deleteAccount: async ({ email }) => ({ email, apps: [] }),
};

async function addressToken(person: Person): Promise<Record<string, unknown>> {
  const json = { email: `new-${person.email}` };
  await person.call('/account/address-changes', { method: 'POST', json });
  return { token: addressTokenOf(service.printed.at(-1) ?? '') };
}

const nothing = (): Things => ({
  appId: randomUUID(),
  memberId: randomUUID(),
  invitationId: randomUUID(),
  keyId: randomUUID(),
  id: randomUUID(),
  deliveryId: randomUUID(),
  eventId: randomUUID(),
  methodId: randomUUID(),
  sessionId: randomUUID(),
  passkeyId: randomUUID(),
});
const isOpen = ({ operation }: Target) => operation.security.length === 0;
const ofAnApp = ({ path }: Target) => path.includes('{appId}');
const ofAnAccount = ({ path }: Target) => /^\/account\/.*\{/.test(path);
const ofAnInvitation = ({ path }: Target) => path.startsWith('/invitations/{');
/** Whether the path or the body names a webhook or something of it. */
const hasWebhook = ({ path, operation }: Target) =>
  /\{(id|deliveryId|eventId)\}/.test(path) ||
  'deliveryIds' in (operation.requestBody?.content['application/json']?.example ?? {});
/** Whether the path names something of the app besides the app. */
const ofAPart = ({ path }: Target) => /\{(memberId|invitationId|keyId|id)\}/.test(path);
const mayDo = (role: AppRole, { method, operation }: Target) =>
  includesRole(
    role,
    roleNeeded[operation.operationId] ?? (method === 'get' ? 'viewer' : 'developer'),
  );

/** All that differs from request to request. */
const perRequest = new Set(['date', 'x-request-id', 'x-ratelimit-remaining', 'x-ratelimit-reset']);
function seen({ status, headers, text }: Answer) {
  return { status, text, headers: [...headers].filter(([name]) => !perRequest.has(name)) };
}

function mustHaveNothing(answer: Answer, what: string, ids: Things): void {
  const said = answer.text + JSON.stringify([...answer.headers]);
  for (const secret of [mark, ...Object.values(ids)])
    assert.ok(!said.includes(secret), `${what}: ${secret}`);
}

/** Of everything that belongs to the app, as the database has it. */
async function stateOf({ appId, methodId, sessionId, passkeyId }: Things): Promise<string> {
  const { rows } = await sql<{ state: string }>`
    select jsonb_build_array(
      (select to_jsonb(a) from apps a where id = ${appId}),
      (select jsonb_agg(k order by id) from api_keys k where app_id = ${appId}),
      (select jsonb_agg(b) from bindings b where app_id = ${appId}),
      (select jsonb_agg(m order by id) from app_members m where app_id = ${appId}),
      (select jsonb_agg(i order by id) from app_invitations i where app_id = ${appId}),
      (select jsonb_agg(w order by id) from webhooks w where app_id = ${appId}),
      (select jsonb_agg(d order by d.id) from deliveries d join webhooks w on w.id = d.webhook_id where w.app_id = ${appId}),
      (select jsonb_agg(p order by p.id) from pending_deliveries p join webhooks w on w.id = p.webhook_id where w.app_id = ${appId}),
      (select count(*) from audit_log where app_id = ${appId}),
      (select jsonb_agg(a order by a.id) from accounts a join accounts m using (user_id) where m.id = ${methodId}),
      (select id from sessions where id = ${sessionId}),
      (select to_jsonb(p) from passkeys p where id = ${passkeyId})
    )::text as state
  `.execute(database);
  return rows[0]?.state ?? '';
}

test('the owner sees everything that the others are denied', async () => {
  const seenByOwner = await Promise.all(
    targets.filter(({ method }) => method === 'get').map((target) => ask(target, things, owner)),
  );
  assert.deepEqual([...new Set(seenByOwner.map(({ status }) => status))], [200]);
  const marked = seenByOwner.filter(({ text }) => text.includes(mark));
  assert.ok(marked.length >= 7, `${marked.length}`);
});

test('a forged session opens nothing', async () => {
  const cookie = 'orgdir.session_token=forged.signature';
  assert.equal((await callPortal(service, '/apps', {}, cookie)).status, 401);
});

test('whoever may read something may ask for its head', async () => {
  const viewer = signedIn.get('viewer') as Person;
  for (const target of targets.filter((each) => each.method === 'get' && ofAnApp(each))) {
    const { status } = await send(target, things, viewer, undefined);
    const head = await send({ ...target, method: 'head' }, things, viewer, undefined);
    assert.equal(head.status, status, target.operation.operationId);
  }
});

/** The examples of these are no codes or keys of the owner. */
const provingNothing: Record<string, number> = {
  addPasskey: 400,
  confirmAuthenticator: 400,
  proveWithAuthenticator: 400,
  proveWithMailedCode: 400,
  proveWithPasskey: 400,
  removeAuthenticator: 404,
};

for (const target of targets) {
  const name = `${target.operation.operationId} (${target.method} ${target.path})`;
  const expected =
    provingNothing[target.operation.operationId] ??
    Number(Object.keys(target.operation.responses)[0]);

  if (!isOpen(target))
    test(`${name}: nobody is let in`, async () => {
      const before = await stateOf(things);
      const answer = await ask(target, things, null);
      assert.equal(answer.status, 401);
      assert.equal(answer.headers.get('cache-control'), 'no-store');
      assert.equal(answer.headers.get('access-control-allow-origin'), null);
      assert.deepEqual(seen(answer), seen(await ask(target, nothing(), null)));
      assert.equal(await stateOf(things), before);
    });

  test(`${name}: who is no member gets nothing of the owner's`, async () => {
    const before = await stateOf(things);
    for (const role of Object.keys(outsiders)) {
      const person = signedIn.get(role) as Person;
      const answer = await ask(target, things, person);
      mustHaveNothing(answer, `${name}: ${role}`, things);
      if (ofAnApp(target) || ofAnAccount(target) || ofAnInvitation(target)) {
        assert.equal(answer.status, 404, role);
        assert.deepEqual(seen(answer), seen(await ask(target, nothing(), person)), role);
      }
      // Another's key, webhook or delivery below one's own app.
      if (ofAPart(target) && ofAnApp(target)) {
        const mixed = await ask(target, { ...things, appId: neighboursThings.appId }, person);
        assert.equal(mixed.status, 404, role);
      }
    }
    assert.equal(await stateOf(things), before);
  });

  if (!isOpen(target))
    test(`${name}: a suspended account opens nothing`, async () => {
      const before = await stateOf(things);
      const answer = await ask(target, things, suspended);
      if (target.operation.operationId === 'getSession') {
        assert.equal(answer.body.data.suspendedReason, 'Reason of the operator.');
        return;
      }
      assert.deepEqual(
        [answer.status, answer.body.error?.code, answer.body.error?.details.subject],
        [403, 'suspended', 'account'],
      );
      mustHaveNothing(answer, name, things);
      assert.equal(await stateOf(things), before);
    });

  if (ofAnApp(target) && !ofMembership.has(target.operation.operationId))
    test(`${name}: of a suspended app, members ${target.method === 'get' ? 'may read' : 'change nothing'}`, async () => {
      const before = await stateOf(stopped);
      const answer = await ask(target, stopped, owner);
      if (target.method === 'get') assert.equal(answer.status, 200, answer.text);
      else
        assert.deepEqual(
          [answer.status, answer.body.error?.code, answer.body.error?.details.subject],
          [403, 'suspended', 'app'],
        );
      assert.equal(await stateOf(stopped), before);
    });

  if (ofAnApp(target) && target.path !== '/apps/{appId}')
    test(`${name}: an own app opens nothing of another's`, async () => {
      const before = await stateOf(things);
      const answer = await ask(target, { ...things, appId: ownApp }, unbound);
      if (ofAPart(target)) {
        assert.equal(answer.status, 404);
        mustHaveNothing(answer, name, things);
      }
      assert.equal(await stateOf(things), before);
    });

  if (ofAnApp(target))
    for (const role of Object.keys(insiders) as (keyof typeof insiders)[]) {
      const person = signedIn.get(role) as Person;
      const allowed = mayDo(role, target);

      test(`${name}: a ${role} ${allowed ? 'may' : 'may not'}`, async () => {
        const own = allowed && target.method !== 'get' ? await makeOwn(target) : things;
        const before = await stateOf(own);
        const answer = await ask(target, own, person);
        assert.equal(answer.status, allowed ? expected : 403, answer.text);
        if (!allowed) assert.equal(await stateOf(own), before);
        await forget(own);
      });
    }

  if (!isOpen(target) && target.operation.operationId !== 'createApp')
    test(`${name}: the owner may`, async () => {
      const { operationId } = target.operation;
      const bodyOfNew = ofANewAccount[operationId];
      if (bodyOfNew) {
        const somebody = await join(`${operationId.toLowerCase()}@example.org`);
        const answer = await ask(target, things, somebody, await bodyOfNew(somebody));
        assert.equal(answer.status, expected, answer.text);
        return;
      }
      const own = target.method === 'get' ? things : await makeOwn(target);
      // Bound already.
      if (operationId === 'bindApp')
        await owner.call(`/apps/${own.appId}/binding`, { method: 'DELETE' });
      const answer = await ask(target, own, owner);
      assert.equal(answer.status, expected, answer.text);
      await forget(own);
    });
}

test('the app below which things of others were tried is still there', async () => {
  assert.equal((await unbound.call(`/apps/${ownApp}`)).status, 200);
});

test('viewers see no canary in path, query, headers and bodies; developers and owners see all', async () => {
  const { appId } = things;
  const hooks = `/apps/${appId}/webhooks`;
  const url = `${repeating.url}/${canaries.path}?token=${canaries.query}`;
  const made = await owner.call(hooks, { method: 'POST', json: { url, description: 'Repeats' } });
  assert.equal(made.status, 201, made.text);
  const { id } = made.body.data;
  const deliveryIds: string[] = [];
  // Enough for each of the receiver's statuses.
  for (let count = 0; count < 3; count += 1) {
    const tested = await owner.call(`${hooks}/${id}/test`, { method: 'POST', json: {} });
    deliveryIds.push(tested.body.data.id);
  }
  await put(database, 'alliances', [{ name: 'Alliance of canaries' }], { emitEvents: true });
  await inTransaction((tx) =>
    publishEvent(tx, {
      name: 'application.created',
      org: 'acme-corporation',
      alliance: null,
      data: {
        id: 'a-1',
        applicantHandle: canaries.internalBody,
        submittedAt: '2026-11-20T12:00:00.000Z',
      },
      publicUrl: 'http://directory.test',
    }),
  );
  // A delivery that failed waits for its retry.
  const attempted = async (event: string) => {
    const { body } = await owner.call(`${hooks}/${id}/deliveries?event=${event}`);
    return body.data[0]?.attemptCount > 0 && (body.data[0].id as string);
  };
  const global = await eventually(() => attempted('alliance.created'));
  const internal = await eventually(() => attempted('application.created'));
  // Changes of the address are in the audit log.
  await owner.call(`${hooks}/${id}`, { method: 'PATCH', json: { url: `${url}2` } });

  for (const [role, person] of [...signedIn, ['nobody', null] as const]) {
    const texts: string[] = [];
    for (const target of targets.filter(({ method }) => method === 'get')) {
      const all = [internal, global, ...deliveryIds];
      const named = target.path.includes('{deliveryId}') ? all : [internal];
      for (const deliveryId of named)
        texts.push((await ask(target, { ...things, id, deliveryId }, person)).text);
    }
    const text = texts.join();
    const found = Object.keys(canaries).filter((part) =>
      text.includes(canaries[part as keyof typeof canaries]),
    );
    const all = role === 'owner' || role === 'developer';
    assert.deepEqual(found, all ? Object.keys(canaries) : [], role);
  }
  assert.ok(!service.printed.join().includes('canary'));

  const viewer = signedIn.get('viewer') as Person;
  const read = async (deliveryId: string) =>
    (await viewer.call(`${hooks}/${id}/deliveries/${deliveryId}`)).body.data;
  assert.equal((await read(internal)).body, null);
  const open = await read(global);
  assert.ok(open.body.includes('Alliance of canaries'), 'the body of a public event');
  const [{ statusCode, responseHeaders, responseBody }] = open.attempts;
  assert.ok([200, 302, 404].includes(statusCode), 'the status');
  assert.deepEqual([responseHeaders, responseBody], [null, null]);
  // Its retries would keep the queue from draining.
  await owner.call(`${hooks}/${id}`, { method: 'DELETE' });
});

test('nobody reads the URL of a chat channel, in any operation on its webhook', async () => {
  const own = { ...things, ...(await makeThings(owner, { delivered: things })) };
  const hooks = `/apps/${own.appId}/webhooks`;
  const fields = { format: 'slack', events: ['alliance.created'] };
  const channel = async (path: string) => {
    const json = { url: `${origin}${path}`, ...fields };
    const answer = await owner.call(hooks, { method: 'POST', json });
    assert.equal(answer.status, 201, answer.text);
    assertUnread(answer, 'createWebhook');
    return answer.body.data.id as string;
  };
  const id = await channel(secretPath);
  await put(database, 'alliances', [{ name: 'Alliance of channels' }], { emitEvents: true });
  const { id: deliveryId, event_id: eventId } = await endedDelivery(service, id);
  const ofChannel = { ...own, id, deliveryId, eventId };
  const last = (target: Target) => Number(target.method === 'delete');
  const onWebhooks = targets
    .filter(({ path }) => path.includes('/webhooks'))
    .sort((a, b) => last(a) - last(b));
  assert.ok(onWebhooks.length > 15);
  for (const target of onWebhooks)
    for (const [role, person] of [...signedIn, ['nobody', null] as const])
      if (last(target) === 0 || role === 'owner') {
        await ask(target, ofChannel, person);
        if ('url' in (bodyOf(target, ofChannel) ?? {}))
          for (const path of [`${secretPath}X`, `${secretPath}/not-slack`])
            await ask(target, ofChannel, person, { ...fields, url: `${origin}${path}` });
      }
  for (const target of targets.filter(({ method }) => method === 'get'))
    if (!onWebhooks.includes(target))
      for (const person of signedIn.values()) await ask(target, ofChannel, person);
  assert.ok(receiver.received.some(({ path }) => path.startsWith(secretPath)));
  await owner.call(`/apps/${own.appId}`, { method: 'DELETE' });
});

test('only the last owners see the audit log of a deleted app', async () => {
  const own: Things = { ...things, ...(await makeThings(owner, { delivered: things })) };
  await owner.call(`/apps/${own.appId}`, { method: 'DELETE' });
  const entries = async (person: Person | null, appId: string) => {
    const path = `/audit?app=${appId}&limit=100`;
    return person ? person.call(path) : callPortal(service, path);
  };
  const { text, body } = await entries(owner, own.appId);
  assert.ok(text.includes(mark));
  assert.equal(body.data[0].action, 'app.deleted');
  for (const [role, person] of [...signedIn, ['nobody', null] as const]) {
    if (person === owner) continue;
    const answer = await entries(person, own.appId);
    assert.deepEqual(seen(answer), seen(await entries(person, randomUUID())), role);
    mustHaveNothing(answer, role, own);
    if (person) {
      const { text: all } = await person.call('/audit?limit=100');
      assert.ok(!all.includes(own.appId), role);
    }
  }
});

test('users can bind only to what they manage, and do not see unlisted organisations', async () => {
  for (const text of ['acme', 'acmee', 'corporation%20acme']) {
    const found = await Promise.all(
      [...signedIn].map(async ([role, person]) => {
        const { body } = await person.call(`/bindable?search=${text}`);
        return [role, body.data.map(({ available }: { available: boolean }) => available)];
      }),
    );
    assert.deepEqual(Object.fromEntries(found), {
      owner: [true],
      developer: [],
      viewer: [],
      'a former owner': [],
      'another user': [],
      'an unbound manager': [true],
      'a former manager': [],
      'the owner of another app': [true],
    });
  }
});
