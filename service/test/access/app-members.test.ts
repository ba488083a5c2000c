/** Tests members and invitations: who becomes one and how, who stays the last owner, and what ends with a role. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApp } from '../../src/access/apps.ts';
import { listAudit } from '../../src/access/audit-log.ts';
import { bindApp } from '../../src/access/bindings.ts';
import { addManager, removeManager } from '../../src/access/managers.ts';
import { listMembers, removeMember, setMember, transferApp } from '../../src/access/members.ts';
import { listOwnApps } from '../../src/access/own-apps.ts';
import type { AppRole } from '../../src/contract/app-roles.ts';
import { sql, type Transaction } from '../../src/database/database.ts';
import { testActor } from '../support/actor.ts';
import { addSubject } from '../support/directory.ts';
import {
  addressTokenOf,
  password,
  postPortal,
  printedToken,
  signInAs,
  type Person,
} from '../support/portal.ts';
import { commandsOn } from '../support/run-here.ts';
import { startTestService, type Answer } from '../support/service.ts';
import { waitingForLocks } from '../support/waiting-for-locks.ts';

const service = await startTestService();
const { database, printed } = service;
const acme = await addSubject(database, 'organization', { slug: 'acme', name: 'Acme' });
const league = await addSubject(database, 'alliance', { slug: 'league', name: 'League' });
const commands = commandsOn(service);

let people = 0;
const nextAddress = () => `person-${(people += 1)}@example.org`;

/** Somebody who has signed up. The link is not requested by HTTP, which allows one address 30 mails per hour. */
async function next(email = nextAddress()): Promise<Person> {
  await service.signIn.accounts.requestLink(email);
  const chosen = { token: printedToken(service, email), name: 'Ada', password };
  assert.equal((await postPortal(service, '/password', chosen)).status, 200);
  return signInAs(service, email);
}

function inTransaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
  return database.transaction().execute(work);
}

async function send(person: Person, method: string, path: string, json?: unknown): Promise<any> {
  const { status, body, text } = await person.call(path, { method, json });
  assert.ok(status < 300, `${method} ${path}: ${text}`);
  return body.data;
}

async function refuse(person: Person, method: string, path: string, json?: unknown) {
  const { body } = await person.call(path, { method, json });
  return body.error?.code;
}

/** An app with a member for each role, and the portal's paths of the members. */
async function makeApp(owner: Person, roles: Record<string, AppRole> = {}) {
  const { id: appId } = await send(owner, 'POST', '/apps', { name: 'Herald' });
  for (const [email, role] of Object.entries(roles))
    await inTransaction((tx) => setMember(tx, testActor, { appId, email, role }));
  const members = await listMembers(database, appId);
  const path = `/apps/${appId}`;
  const pathOf = (email: string) =>
    `${path}/members/${members.find((member) => member.email === email)?.id}`;
  return { appId, path, pathOf };
}

async function rolesOf(appId: string): Promise<Record<string, AppRole>> {
  const members = await listMembers(database, appId);
  return Object.fromEntries(members.map(({ email, role }) => [email, role]));
}

async function audited(appId: string): Promise<unknown[]> {
  const filter = { actor: null, action: null, subjectId: null, since: null, limit: 100 };
  const entries = await listAudit(database, { ...filter, appId });
  return entries
    .toReversed()
    .map(({ actor, action, details }) => [actor.name, action, details['email'], details['cause']]);
}

/** The token of the last invitation that was printed for somebody. */
function invitationToken(email: string): string {
  const line = printed.findLast((each) => each.includes(`invitation to an app (${email})`));
  return /\/profile\/developer\/invitation#([\w-]{43})$/.exec(line ?? '')?.[1] ?? '';
}

test('an invited user accepts, and the audit log has every step', async () => {
  const owner = await next();
  const invited = await next();
  const { appId, path } = await makeApp(owner);
  const json = { email: ` ${invited.email.toUpperCase()}`.trim(), role: 'developer' };
  const invitation = await send(owner, 'POST', `${path}/invitations`, json);
  assert.deepEqual(
    [invitation.email, invitation.role, invitation.invitedBy],
    [invited.email, 'developer', owner.email],
  );
  assert.deepEqual(await send(owner, 'GET', `${path}/invitations`), [invitation]);
  assert.equal(await refuse(owner, 'POST', `${path}/invitations`, json), 'conflict');
  const [own] = await send(invited, 'GET', '/invitations');
  assert.deepEqual(own, { ...invitation, appName: 'Herald' });
  assert.equal(await refuse(invited, 'GET', path), 'not_found');
  const app = await send(invited, 'POST', `/invitations/${own.id}/accept`);
  assert.deepEqual([app.id, app.role, app.isLastOwner], [appId, 'developer', false]);
  assert.equal(await refuse(invited, 'POST', `/invitations/${own.id}/accept`), 'not_found');
  assert.deepEqual(await send(owner, 'GET', `${path}/invitations`), []);
  assert.equal(await refuse(owner, 'POST', `${path}/invitations`, json), 'conflict');
  assert.deepEqual(await audited(appId), [
    [owner.email, 'app.created', undefined, undefined],
    [owner.email, 'invitation.created', invited.email, undefined],
    [invited.email, 'member.added', invited.email, undefined],
    [invited.email, 'invitation.ended', invited.email, 'accepted'],
  ]);
});

test('keys of a removed member stay valid, or are revoked with the removal', async () => {
  const owner = await next();
  const [kept, removed] = [await next(), await next()];
  const { appId, path, pathOf } = await makeApp(owner, {
    [kept.email]: 'developer',
    [removed.email]: 'developer',
  });
  const create = async (person: Person, name: string) =>
    (await send(person, 'POST', `${path}/keys`, { name, scopes: ['read:directory'] })) as {
      id: string;
      key: string;
    };
  const [theirs, mine] = [await create(removed, 'Theirs'), await create(owner, 'Mine')];
  const other = await create(kept, 'Other');
  const rotated = await send(removed, 'POST', `${path}/keys/${mine.id}/rotate`);
  const isValid = async ({ key }: { key: string }) =>
    (await service.call('/orgs', { key })).status === 200;

  const left = await send(owner, 'DELETE', pathOf(kept.email));
  assert.equal(left.revokedKeys, 0);
  const gone = await send(owner, 'DELETE', `${pathOf(removed.email)}?revokeKeys=true`);
  assert.equal(gone.revokedKeys, 2);
  await service.settled();
  const all = [theirs, rotated, mine, other];
  assert.deepEqual(await Promise.all(all.map(isValid)), [false, false, true, true]);

  await inTransaction((tx) =>
    setMember(tx, testActor, { appId, email: kept.email, role: 'viewer' }),
  );
  const words = ['apps', 'members', 'remove', appId, '--email', kept.email, '--revoke-keys'];
  assert.deepEqual(await commands.json(...words), { changed: true, revokedKeys: 1 });
  await service.settled();
  assert.equal(await isValid(other), false);
  const revoked = (await audited(appId)).filter(
    (entry) => (entry as unknown[])[1] === 'key.revoked',
  );
  assert.equal(revoked.length, 3);
});

test('the keys of whoever had the address before a removed member stay valid', async () => {
  const owner = await next();
  const first = await next();
  const { appId, path } = await makeApp(owner, { [first.email]: 'developer' });
  const created = { name: 'First', scopes: ['read:directory'] };
  const { key } = await send(first, 'POST', `${path}/keys`, created);
  await send(first, 'POST', '/account/address-changes', { email: nextAddress() });
  const token = addressTokenOf(printed.at(-1) ?? '');
  await send(first, 'PUT', '/account/address', { token });
  const second = await next(first.email);
  await inTransaction((tx) =>
    setMember(tx, testActor, { appId, email: second.email, role: 'developer' }),
  );
  const madeKey = async (person: Person) =>
    (await send(person, 'GET', `/audit?app=${appId}`)).find(
      ({ action }: { action: string }) => action === 'key.created',
    ).actor;
  assert.deepEqual(await madeKey(first), { kind: 'user', name: first.email, isYou: true });
  assert.deepEqual(await madeKey(second), { kind: 'user', name: first.email, isYou: false });
  const members = await listMembers(database, appId);
  const { id } = members.find(({ email }) => email === second.email)!;
  const gone = await send(owner, 'DELETE', `${path}/members/${id}?revokeKeys=true`);
  assert.equal(gone.revokedKeys, 0);
  await service.settled();
  assert.equal((await service.call('/orgs', { key })).status, 200);
});

test('an invitation is only for its address, and ends when declined, revoked or expired', async () => {
  const owner = await next();
  const [declining, revoked, late] = [await next(), await next(), await next()];
  const { appId, path } = await makeApp(owner);
  const invite = async ({ email }: Person) =>
    (await send(owner, 'POST', `${path}/invitations`, { email, role: 'owner' })).id as string;
  const ids = [await invite(declining), await invite(revoked), await invite(late)];
  for (const verb of ['accept', 'decline'])
    assert.equal(await refuse(late, 'POST', `/invitations/${ids[0]}/${verb}`), 'not_found');
  await send(declining, 'POST', `/invitations/${ids[0]}/decline`);
  await send(owner, 'DELETE', `${path}/invitations/${ids[1]}`);
  await sql`
    update app_invitations set expires_at = now() - interval '1 second' where id = ${ids[2]}
  `.execute(database);
  for (const [index, person] of [declining, revoked, late].entries()) {
    assert.deepEqual(await send(person, 'GET', '/invitations'), []);
    assert.equal(await refuse(person, 'POST', `/invitations/${ids[index]}/accept`), 'not_found');
  }
  assert.equal(await refuse(owner, 'POST', `${path}/invitations/${ids[2]}/resend`), 'not_found');
  await invite(late);
  assert.deepEqual(Object.keys(await rolesOf(appId)), [owner.email]);
  const causes = (await audited(appId)).map((entry) => (entry as unknown[])[3]);
  assert.deepEqual(
    causes.filter((cause) => cause !== undefined),
    ['declined', 'revoked', 'expired'],
  );
});

test('a link in another mail signs up the invited person, and an invitation is replaced when resent', async () => {
  const owner = await next();
  const { path } = await makeApp(owner);
  const email = nextAddress();
  const { id } = await send(owner, 'POST', `${path}/invitations`, { email, role: 'viewer' });
  const first = invitationToken(email);
  await send(owner, 'POST', `${path}/invitations/${id}/resend`);
  const token = invitationToken(email);
  assert.ok(token && first !== token);
  const checked = await postPortal(service, '/invitations/check', { token });
  assert.deepEqual([checked.body.data.appName, checked.body.data.email], ['Herald', email]);
  for (const verb of ['check', 'sign-up'])
    assert.equal((await postPortal(service, `/invitations/${verb}`, { token: first })).status, 403);
  const asked = await postPortal(service, '/invitations/sign-up', { token });
  assert.deepEqual([asked.status, asked.body.data], [202, { done: true }]);
  const [line] = printed.slice(-1);
  assert.ok(line?.includes(`(${email})`) && line.includes(encodeURIComponent(id)), line);
  const account = { token: printedToken(service, email), name: 'Grace', password };
  assert.equal((await postPortal(service, '/password', account)).body.data.email, email);
  const invited = await signInAs(service, email);
  await send(invited, 'POST', `/invitations/${id}/accept`);
  assert.equal((await postPortal(service, '/invitations/sign-up', { token })).status, 403);
});

test('an invitation gives its holder no link, neither to a new account nor to an existing one', async () => {
  const owner = await next();
  const known = await next();
  const unknown = nextAddress();
  const { path } = await makeApp(owner);
  await postPortal(service, '/password-links', { email: known.email });
  const reset = printedToken(service, known.email);
  assert.ok(reset);
  const responses = [];
  for (const email of [known.email, unknown]) {
    await send(owner, 'POST', `${path}/invitations`, { email, role: 'viewer' });
    const token = invitationToken(email);
    const checked = await postPortal(service, '/invitations/check', { token });
    const asked = await postPortal(service, '/invitations/sign-up', { token });
    responses.push([Object.keys(checked.body.data), asked.status, asked.body]);
  }
  assert.deepEqual(responses[0], responses[1]);
  const told = printed.findLast((line) => line.includes(`(${known.email})`)) ?? '';
  assert.match(told, /^this address has an account .*\/profile\/developer\/sign-in\?next=/);
  // The link that resets the password still works, and the one that creates an account is for a new account only.
  const link = (token: string | null) => postPortal(service, '/password-links/check', { token });
  assert.equal((await link(reset)).body.data.hasAccount, true);
  assert.equal((await link(printedToken(service, unknown))).body.data.hasAccount, false);
});

test('a link that reset an account which has another address now does not keep a new owner from signing up', async () => {
  const owner = await next();
  const { email } = await next();
  const { path } = await makeApp(owner);
  await postPortal(service, '/password-links', { email });
  await sql`update users set email = ${nextAddress()} where email = ${email}`.execute(database);
  await send(owner, 'POST', `${path}/invitations`, { email, role: 'viewer' });
  await postPortal(service, '/invitations/sign-up', { token: invitationToken(email) });
  assert.match(printed.at(-1) ?? '', /^finish signing up/);
  const { body } = await postPortal(service, '/password-links/check', {
    token: printedToken(service, email),
  });
  assert.deepEqual(body.data, { email, hasAccount: false });
});

test('a link that was to create an account never resets one, whoever asks for a link afterwards', async () => {
  const owner = await next();
  const { email: former } = await next();
  const email = nextAddress();
  const { path } = await makeApp(owner);
  await postPortal(service, '/password-links', { email });
  const token = printedToken(service, email);
  // At the same moment, so that the change did not see the link.
  await sql`update users set email = ${email} where email = ${former}`.execute(database);
  await send(owner, 'POST', `${path}/invitations`, { email, role: 'viewer' });
  await postPortal(service, '/invitations/sign-up', { token: invitationToken(email) });
  assert.match(printed.at(-1) ?? '', /^this address has an account/);
  assert.equal((await postPortal(service, '/password-links/check', { token })).status, 403);
});

test('mails that an invitation asks for count as mails to the address', async () => {
  const owner = await next();
  const email = nextAddress();
  const { path } = await makeApp(owner);
  await send(owner, 'POST', `${path}/invitations`, { email, role: 'viewer' });
  const token = invitationToken(email);
  const statuses = [];
  for (let count = 0; count < 3; count += 1) {
    statuses.push((await postPortal(service, '/invitations/sign-up', { token })).status);
    statuses.push((await postPortal(service, '/password-links', { email })).status);
  }
  assert.deepEqual(statuses, [202, 202, 202, 202, 202, 429]);
});

test('the response does not tell whether an invited address has an account', async () => {
  const owner = await next();
  const known = await next();
  const unknown = nextAddress();
  const { path } = await makeApp(owner);
  const responses = [];
  for (const email of [known.email, unknown]) {
    const { status, headers, body } = await owner.call(`${path}/invitations`, {
      method: 'POST',
      json: { email, role: 'viewer' },
    });
    const { id, email: invited, createdAt, expiresAt, ...same } = body.data;
    assert.ok(id && invited === email && createdAt && expiresAt);
    responses.push([status, [...headers.keys()], same]);
  }
  assert.deepEqual(responses[0], responses[1]);
});

test('an app sends 20 invitations per hour, and an address gets five from one account', async () => {
  const owner = await next();
  const { appId, path } = await makeApp(owner);
  for (let count = 0; count < 20; count += 1) {
    const { id } = await send(owner, 'POST', `${path}/invitations`, {
      email: nextAddress(),
      role: 'viewer',
    });
    await send(owner, 'DELETE', `${path}/invitations/${id}`);
  }
  const json = { email: nextAddress(), role: 'viewer' };
  assert.equal(await refuse(owner, 'POST', `${path}/invitations`, json), 'rate_limited');
  assert.equal((await rolesOf(appId))[owner.email], 'owner');

  const flooding = await next();
  const other = await makeApp(flooding);
  const { id } = await send(flooding, 'POST', `${other.path}/invitations`, json);
  for (let count = 0; count < 4; count += 1)
    await send(flooding, 'POST', `${other.path}/invitations/${id}/resend`);
  assert.equal(
    await refuse(flooding, 'POST', `${other.path}/invitations/${id}/resend`),
    'rate_limited',
  );
});

test('five invitations by one account do not keep an address from its mails', async () => {
  const json = { email: nextAddress(), role: 'viewer' };
  const flooding = await next();
  const { path } = await makeApp(flooding);
  for (let count = 0; count < 5; count += 1) {
    const { id } = await send(flooding, 'POST', `${path}/invitations`, json);
    await send(flooding, 'DELETE', `${path}/invitations/${id}`);
  }
  assert.equal(await refuse(flooding, 'POST', `${path}/invitations`, json), 'rate_limited');
  const owner = await next();
  const other = await makeApp(owner);
  await send(owner, 'POST', `${other.path}/invitations`, json);
});

test('the last owner cannot leave, be removed or get another role', async () => {
  const owner = await next();
  const other = await next();
  const { appId, path, pathOf } = await makeApp(owner, { [other.email]: 'developer' });
  assert.equal(await refuse(owner, 'DELETE', `${path}/membership`), 'conflict');
  assert.equal(await refuse(owner, 'DELETE', pathOf(owner.email)), 'conflict');
  assert.equal(await refuse(owner, 'PATCH', pathOf(owner.email), { role: 'viewer' }), 'conflict');
  await assert.rejects(
    inTransaction((tx) => removeMember(tx, testActor, { appId, email: owner.email })),
    { code: 'conflict' },
  );
  await assert.rejects(sql`delete from app_members where app_id = ${appId}`.execute(database));
  assert.equal((await send(owner, 'GET', path)).isLastOwner, true);
  await send(owner, 'PATCH', pathOf(other.email), { role: 'owner' });
  assert.equal((await send(owner, 'GET', path)).isLastOwner, false);
  await send(owner, 'DELETE', `${path}/membership`);
  assert.deepEqual(await rolesOf(appId), { [other.email]: 'owner' });
});

test('of two owners who leave at the same time, one stays', async () => {
  for (let round = 0; round < 5; round += 1) {
    const emails = [nextAddress(), nextAddress()];
    const appId = await inTransaction((tx) =>
      createApp(tx, testActor, { name: 'Left', owner: emails[0] ?? '' }),
    );
    const email = emails[1] ?? '';
    await inTransaction((tx) => setMember(tx, testActor, { appId, email, role: 'owner' }));
    const results = await Promise.allSettled(
      // By SQL, so that only the trigger stands in between.
      emails.map((each) =>
        sql`delete from app_members where app_id = ${appId} and email = ${each}`.execute(database),
      ),
    );
    const outcomes = results.map(({ status }) => status).toSorted();
    assert.deepEqual(outcomes, ['fulfilled', 'rejected']);
    assert.equal((await listMembers(database, appId)).length, 1);
  }
});

test('a binding and an invitation end with the ownership of whoever made them', async () => {
  const [owner, other, developer] = [nextAddress(), nextAddress(), nextAddress()];
  for (const email of [owner, other])
    await inTransaction((tx) => addManager(tx, testActor, acme, email));
  const ends: [string, (tx: Transaction, appId: string) => Promise<unknown>][] = [
    ['owner lost', (tx, appId) => removeMember(tx, testActor, { appId, email: owner })],
    [
      'owner lost',
      (tx, appId) => setMember(tx, testActor, { appId, email: owner, role: 'viewer' }),
    ],
    [
      'owner lost',
      async (tx, appId) => {
        const members = await listMembers(tx, appId);
        const memberId = members.find(({ email }) => email === developer)?.id ?? '';
        await transferApp(tx, testActor, { appId, from: owner, memberId });
      },
    ],
    [
      'owner lost',
      (tx, appId) =>
        sql`delete from app_members where app_id = ${appId} and email = ${owner}`.execute(tx),
    ],
    ['role lost', (tx) => removeManager(tx, testActor, acme, owner)],
  ];
  for (const [cause, end] of ends) {
    const appId = await inTransaction(async (tx) => {
      const id = await createApp(tx, testActor, { name: 'Bound', owner });
      await setMember(tx, testActor, { appId: id, email: other, role: 'owner' });
      await setMember(tx, testActor, { appId: id, email: developer, role: 'developer' });
      await bindApp(tx, testActor, id, acme, owner);
      await sql`
        insert into app_invitations (id, app_id, email, role, invited_by, hash, expires_at)
        values (uuid_v7(), ${id}, 'guest@example.org', 'owner', ${owner},
          sha256(uuid_v7()::text::bytea), now() + interval '1 hour')
      `.execute(tx);
      return id;
    });
    // The other owner's leaving ends nothing.
    await inTransaction((tx) =>
      setMember(tx, testActor, { appId, email: other, role: 'developer' }),
    );
    await inTransaction((tx) => setMember(tx, testActor, { appId, email: other, role: 'owner' }));
    const [app] = await listOwnApps(database, other);
    assert.deepEqual([app?.binding?.slug, app?.binding?.boundBy], ['acme', owner]);
    await inTransaction((tx) => end(tx, appId));
    const entries = (await audited(appId)) as [string, string, string, string][];
    const ended = entries.filter(([, action]) => action.endsWith('.ended'));
    const invitation = ['invitation.ended', 'owner lost'];
    assert.deepEqual(ended.map(([, action, , why]) => [action, why]).toSorted(), [
      ['binding.ended', cause],
      ...(cause === 'owner lost' ? [invitation] : []),
    ]);
    assert.equal((await listOwnApps(database, other))[0]?.binding, null);
    await sql`delete from apps where id = ${appId}`.execute(database);
  }
});

test('only an owner who manages an alliance binds the app to it', async () => {
  const owner = await next();
  const manager = await next();
  const { path, pathOf } = await makeApp(owner, { [manager.email]: 'developer' });
  await inTransaction((tx) => addManager(tx, testActor, league, manager.email));
  const json = { kind: 'alliance', slug: 'league' };
  for (const person of [owner, manager])
    assert.equal(await refuse(person, 'PUT', `${path}/binding`, json), 'forbidden');
  await send(owner, 'PATCH', pathOf(manager.email), { role: 'owner' });
  assert.equal(await refuse(owner, 'PUT', `${path}/binding`, json), 'forbidden');
  const bound = await send(manager, 'PUT', `${path}/binding`, json);
  const { binding } = bound;
  assert.deepEqual(
    [binding.kind, binding.slug, binding.boundBy],
    ['alliance', 'league', manager.email],
  );
});

test('a transfer makes the other the owner and the caller a developer', async () => {
  const owner = await next();
  const other = await next();
  const { appId, path, pathOf } = await makeApp(owner, { [other.email]: 'viewer' });
  const transfer = (email: string) => ({ memberId: pathOf(email).split('/').at(-1) });
  assert.equal(await refuse(owner, 'POST', `${path}/transfer`, transfer(owner.email)), 'conflict');
  const { memberId = '' } = transfer(other.email);
  const json = { memberId: memberId.toUpperCase() };
  const app = await send(owner, 'POST', `${path}/transfer`, json);
  assert.equal(app.role, 'developer');
  assert.deepEqual(await rolesOf(appId), { [other.email]: 'owner', [owner.email]: 'developer' });
  assert.equal(await refuse(owner, 'POST', `${path}/transfer`, transfer(other.email)), 'forbidden');
});

test('a member of 100 apps becomes the owner of one of them', async () => {
  const owner = await next();
  const busy = await next();
  const { appId, pathOf } = await makeApp(owner, { [busy.email]: 'viewer' });
  await inTransaction(async (tx) => {
    await sql`
      insert into apps (id, name) select uuid_v7(), 'Other' from generate_series(1, 99)
    `.execute(tx);
    await sql`
      insert into app_members (app_id, email, role)
      select id, ${busy.email}, 'viewer' from apps where name = 'Other'
    `.execute(tx);
  });
  await send(owner, 'PATCH', pathOf(busy.email), { role: 'owner' });
  assert.equal((await rolesOf(appId))[busy.email], 'owner');
});

test('a request that waits while a member is removed or demoted changes nothing', async () => {
  const owner = await next();
  const other = await next();
  const { appId, path } = await makeApp(owner);
  const key = { name: 'Late', scopes: ['read:events'] };
  for (const [role, later, method, at, json] of [
    ['developer', null, 'POST', `${path}/keys`, key],
    ['developer', 'viewer', 'POST', `${path}/webhooks`, { url: 'https://example.org/late' }],
    ['owner', 'developer', 'DELETE', path, undefined],
  ] as const) {
    const member = { appId, email: other.email };
    await inTransaction((tx) => setMember(tx, testActor, { ...member, role }));
    let answer: Promise<Answer> | undefined;
    await inTransaction(async (tx) => {
      if (later === null) await removeMember(tx, testActor, member);
      else await setMember(tx, testActor, { ...member, role: later });
      answer = other.call(at, { method, json });
      await waitingForLocks(database);
    });
    assert.equal((await answer)?.status, later === null ? 404 : 403, at);
  }
  const { keyCount, webhookCount, isLastOwner } = await send(owner, 'GET', path);
  assert.deepEqual([keyCount, webhookCount, isLastOwner], [0, 0, true]);
});

test('nobody becomes the owner of more than ten apps, in any way', async () => {
  const owner = await next();
  const full = await next();
  for (let count = 0; count < 10; count += 1)
    await send(full, 'POST', '/apps', { name: `App ${count}` });
  const { appId, path, pathOf } = await makeApp(owner, { [full.email]: 'developer' });
  const memberId = pathOf(full.email).split('/').at(-1);
  assert.equal(await refuse(owner, 'POST', `${path}/transfer`, { memberId }), 'conflict');
  assert.equal(await refuse(owner, 'PATCH', pathOf(full.email), { role: 'owner' }), 'conflict');
  await send(full, 'DELETE', `${path}/membership`);
  const json = { email: full.email, role: 'owner' };
  const { id } = await send(owner, 'POST', `${path}/invitations`, json);
  assert.equal(await refuse(full, 'POST', `/invitations/${id}/accept`), 'conflict');
  assert.deepEqual(Object.keys(await rolesOf(appId)), [owner.email]);
});

test('each member chooses whether to get failure mails', async () => {
  const owner = await next();
  const other = await next();
  const { path } = await makeApp(owner, { [other.email]: 'owner' });
  const changed = await send(other, 'PATCH', `${path}/membership`, { failureMails: false });
  assert.deepEqual([changed.failureMails, changed.isLastOwner], [false, false]);
  const unchanged = await send(owner, 'GET', path);
  assert.deepEqual([unchanged.failureMails, unchanged.isLastOwner], [true, false]);
});

test('commands list, add and remove members, and change their roles', async () => {
  const [owner, other] = [nextAddress(), nextAddress()];
  const appId = await inTransaction((tx) => createApp(tx, testActor, { name: 'Herald', owner }));
  const run = async (...words: string[]) => {
    const { code, stdout, stderr } = await commands.run('apps', 'members', ...words, '--json');
    return code === 0 ? JSON.parse(stdout) : stderr;
  };
  const email = ['--email', ` ${other.toUpperCase()} `];
  const add = (role: string) => run('add', appId, ...email, '--role', role);
  assert.deepEqual(await add('viewer'), { changed: true });
  assert.deepEqual(await add('viewer'), { changed: false });
  assert.deepEqual(await add('owner'), { changed: true });
  assert.deepEqual(await run('remove', appId, '--email', owner), {
    changed: true,
    revokedKeys: 0,
  });
  const [only, ...none] = await run('list', appId);
  assert.deepEqual([only.email, only.role, none], [other, 'owner', []]);
  assert.match(await run('remove', appId, ...email), /needs an owner/);
  assert.match(await add('developer'), /needs an owner/);
  assert.match(await run('list', acme.id), /There is no app/);
  const entries = await audited(appId);
  assert.deepEqual(
    entries.map((entry) => (entry as unknown[]).slice(1, 3)),
    [
      ['app.created', undefined],
      ['member.added', other],
      ['member.role_changed', other],
      ['member.removed', owner],
    ],
  );
});
