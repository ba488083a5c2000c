import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addManager } from '../../src/access/managers.ts';
import { setMember } from '../../src/access/members.ts';
import { sql } from '../../src/database/database.ts';
import type { AppRole } from '../../src/contract/app-roles.ts';
import { disableMaintenance, enableMaintenance } from '../../src/system/maintenance.ts';
import { testActor } from '../support/actor.ts';
import { addSubject, announce } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import {
  addressTokenOf,
  password,
  postPortal,
  signInAs,
  signUp,
  tokenOf,
  type Person,
} from '../support/portal.ts';
import { fanOutParked, queueDrained } from '../support/queue.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { startTestService, type Answer } from '../support/service.ts';
import { waitingForLocks } from '../support/waiting-for-locks.ts';

const smtp = await startSmtpServer();
/** Prints its links, for signing up. */
const local = await startTestService({ env: loopbackAllowed });
const { database } = local;
const service = await startTestService({
  env: { ...loopbackAllowed, ...smtp.env },
  beside: local,
});
service.mailSender?.start();
const subject = await addSubject(database, 'organization', { slug: 'acme', name: 'Acme' });

async function person(email: string): Promise<Person> {
  await signUp(local, email);
  return signInAs(service, email);
}

async function post(who: Person, path: string, json: object): Promise<any> {
  const { status, body, text } = await who.call(path, { method: 'POST', json });
  assert.ok(status < 300, text);
  return body.data;
}

async function createApp(who: Person, name: string): Promise<string> {
  return (await post(who, '/apps', { name })).id;
}

async function add(appId: string, { email }: Pick<Person, 'email'>, role: AppRole): Promise<void> {
  await database.transaction().execute((tx) => setMember(tx, testActor, { appId, email, role }));
}

async function manage(email: string): Promise<void> {
  await database.transaction().execute((tx) => addManager(tx, testActor, subject, email));
}

async function bind(who: Person, appId: string): Promise<void> {
  const json = { kind: 'organization', slug: 'acme' };
  const { status, text } = await who.call(`/apps/${appId}/binding`, { method: 'PUT', json });
  assert.equal(status, 200, text);
}

const preview = async (who: Person) => (await who.call('/account/deletion')).body.data;

function remove(who: Person, apps: string[], email = who.email): Promise<Answer> {
  return who.call('/account/deletion', { method: 'POST', json: { email, apps } });
}

async function appIds(): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`select id from apps order by id`.execute(database);
  return rows.map(({ id }) => id);
}

test('the preview lists what goes with the account, and the deletion does just that', async () => {
  const ada = await person('ada@example.org');
  const bob = await person('bob@example.org');
  const elsewhere = await signInAs(service, ada.email);
  const alone = await createApp(ada, 'Alone');
  const staffed = await createApp(ada, 'Staffed');
  const shared = await createApp(ada, 'Shared');
  await add(staffed, bob, 'developer');
  await add(shared, bob, 'owner');
  await manage(ada.email);
  await bind(ada, alone);
  await bind(ada, shared);
  const { key } = await post(ada, `/apps/${alone}/keys`, {
    name: 'Bot',
    scopes: ['read:directory'],
  });
  await post(ada, `/apps/${alone}/webhooks`, { url: 'http://127.0.0.1:18080/' });
  await announce(database);
  await fanOutParked(database);
  await post(ada, `/apps/${shared}/invitations`, { email: 'guest@example.org', role: 'viewer' });
  const bobs = await createApp(bob, 'Of Bob');
  await post(bob, `/apps/${bobs}/invitations`, { email: ada.email, role: 'viewer' });

  const none = { keyCount: 0, webhookCount: 0, pendingDeliveryCount: 0, otherMemberCount: 0 };
  const acme = { kind: 'organization', slug: 'acme', name: 'Acme' };
  assert.deepEqual(await preview(ada), {
    appsToDelete: [
      { ...none, id: alone, name: 'Alone', keyCount: 1, webhookCount: 1, pendingDeliveryCount: 1 },
      { ...none, id: staffed, name: 'Staffed', otherMemberCount: 1 },
    ],
    appsToLeave: [{ id: shared, name: 'Shared', role: 'owner' }],
    endingBindings: [
      { appId: alone, appName: 'Alone', ...acme },
      { appId: shared, appName: 'Shared', ...acme },
    ],
    managed: [acme],
    managedCount: 1,
  });

  const wrong = await remove(ada, [alone, staffed], 'bob@example.org');
  assert.deepEqual(wrong.body.error.details.issues, [
    { path: 'body.email', message: 'is not the address of your account' },
  ]);
  const { rows: before } = await sql<{ count: number }>`
    select count(*) from audit_log
  `.execute(database);
  // Without agreeing to one, and with an app that is somebody else's or has another owner.
  for (const apps of [[alone], [alone, staffed, shared], [alone, bobs], [alone, staffed, bobs]])
    assert.equal((await remove(ada, apps)).status, 409);
  const { rows: after } = await sql<{ count: number }>`
    select count(*) from audit_log
  `.execute(database);
  assert.deepEqual(after, before, 'a refused deletion changes nothing');

  const deleted = await remove(ada, [staffed, alone], 'ADA@example.org');
  assert.equal(deleted.status, 200, deleted.text);
  for (const who of [ada, elsewhere]) assert.equal((await who.call('/session')).status, 401);
  const signedIn = await postPortal(service, '/sign-in', { email: ada.email, password });
  assert.equal(signedIn.status, 401);
  const left = await appIds();
  assert.deepEqual(
    [alone, staffed, shared, bobs].map((id) => left.includes(id)),
    [false, false, true, true],
  );
  await service.settled();
  assert.equal((await service.call('/orgs', { key })).status, 401);
  const app = (await bob.call(`/apps/${shared}`)).body.data;
  assert.deepEqual([app.isLastOwner, app.binding], [true, null]);
  assert.deepEqual((await bob.call(`/apps/${shared}/invitations`)).body.data, []);
  assert.deepEqual((await bob.call(`/apps/${bobs}/invitations`)).body.data, []);
  await smtp.mailTo(ada.email, /account .* deleted/);

  const { rows: managers } = await sql<{ email: string }>`select email from org_managers`.execute(
    database,
  );
  assert.deepEqual(managers, [{ email: ada.email }], 'the organisation decides about its managers');
  const { rows: entries } = await sql<{ action: string; details: { ip?: string } }>`
    select action, details from audit_log where actor_kind = 'user' and actor_name = ${ada.email}
    order by id desc limit 1
  `.execute(database);
  assert.equal(entries[0]?.action, 'account.deleted');
  assert.deepEqual(Object.keys(entries[0].details).sort(), ['ip', 'userAgent']);
});

test('nothing opens a deleted account, and a new one with the address is empty', async () => {
  const cleo = await person('cleo@example.org');
  await createApp(cleo, 'Old');
  const before = smtp.mails.length;
  await cleo.call('/account/address-changes', {
    method: 'POST',
    json: { email: 'cleo@example.com' },
  });
  await eventually(async () => smtp.mails.slice(before).some(({ text }) => addressTokenOf(text)));
  await local.signIn.accounts.requestLink(cleo.email);
  const token = tokenOf(local.printed.at(-1) ?? '');
  const { appsToDelete } = await preview(cleo);
  assert.equal((await remove(cleo, [appsToDelete[0].id.toUpperCase()])).status, 200);
  const used = await postPortal(service, '/password', { token, password, name: 'Mallory' });
  assert.equal(used.status, 403);
  const { rows } = await sql`
    select from users where email = ${cleo.email} union all select from address_changes where email = 'cleo@example.com'
  `.execute(database);
  assert.equal(rows.length, 0);

  const again = await person('cleo@example.org');
  assert.deepEqual((await again.call('/apps')).body.data, []);
  const { body } = await again.call('/account/activity');
  const actions = body.data.map(({ action }: { action: string }) => action);
  assert.ok(!actions.includes('account.deleted'), actions.join());
});

test('a request that began before a deletion makes nobody a member', async () => {
  const kay = await person('kay@example.org');
  const lou = await person('lou@example.org');
  const app = await createApp(lou, 'Of Lou');
  const { id } = await post(lou, `/apps/${app}/invitations`, { email: kay.email, role: 'owner' });
  let answers: Promise<Answer[]> | undefined;
  await database.transaction().execute(async (tx) => {
    // Each request waits for one of them, after it was let in.
    await sql`select from users where email = ${kay.email} for update`.execute(tx);
    await sql`select pg_advisory_xact_lock(70420005, hashtext(${kay.email}))`.execute(tx);
    answers = Promise.all([
      kay.call('/apps', { method: 'POST', json: { name: 'Late' } }),
      kay.call(`/invitations/${id}/accept`, { method: 'POST' }),
    ]);
    await waitingForLocks(database, 2);
    await sql`delete from users where email = ${kay.email}`.execute(tx);
  });
  const statuses = (await answers)?.map(({ status }) => status);
  const { rows } = await sql`select from app_members where email = ${kay.email}`.execute(database);
  assert.equal(rows.length, 0);
  assert.deepEqual(statuses, [401, 401]);
});

test('a deletion waits for the end of maintenance', async () => {
  const dora = await person('dora@example.org');
  const maintained = async () => (await dora.call('/overview')).body.data.maintenance !== null;
  await enableMaintenance(database, testActor, { message: 'Moving.', expectedEnd: null });
  await eventually(maintained);
  assert.equal((await remove(dora, [])).status, 503);
  await disableMaintenance(database, testActor);
  await eventually(async () => !(await maintained()));
  assert.equal((await remove(dora, [])).status, 200);
});

test('of two deletions of an account one succeeds, and of two owners one keeps the app', async () => {
  const eve = await person('eve@example.org');
  const app = await createApp(eve, 'Herald');
  const twice = await Promise.all([remove(eve, [app]), remove(eve, [app])]);
  assert.equal(twice.filter(({ status }) => status === 200).length, 1);
  assert.ok(twice.every(({ status }) => [200, 401, 409].includes(status)));

  for (let round = 0; round < 5; round += 1) {
    const owners = await Promise.all(
      ['fay', 'gil'].map((name) => person(`${name}-${round}@example.org`)),
    );
    const [fay, gil] = owners as [Person, Person];
    const both = await createApp(fay, 'Both');
    await add(both, gil, 'owner');
    const answers = await Promise.all(owners.map((owner) => remove(owner, [])));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
    assert.ok((await appIds()).includes(both), 'nobody agreed to delete it');
  }
});

test('a deletion and a change of address at once leave one of the two', async () => {
  for (let round = 0; round < 5; round += 1) {
    const ida = await person(`ida-${round}@example.org`);
    const app = await createApp(ida, 'Herald');
    const before = smtp.mails.length;
    const email = `ida-${round}@example.com`;
    await ida.call('/account/address-changes', { method: 'POST', json: { email } });
    const token = await eventually(async () =>
      smtp.mails
        .slice(before)
        .map(({ text }) => addressTokenOf(text))
        .find((each) => each !== null),
    );
    const [deleted, changed] = await Promise.all([
      remove(ida, [app]),
      ida.call('/account/address', { method: 'PUT', json: { token } }),
    ]);
    // 400: the address that it names was already the one before.
    assert.ok([200, 400, 401, 409].includes(deleted.status), deleted.text);
    assert.ok([200, 401, 403].includes(changed.status), changed.text);
    const isDeleted = deleted.status === 200;
    assert.notEqual(isDeleted, changed.status === 200);
    assert.equal((await appIds()).includes(app), !isDeleted);
  }
});

test('deletions succeed while deliveries are in flight and webhooks are deactivated', async () => {
  const working = await startTestService({
    env: {
      ...loopbackAllowed,
      WEBHOOK_RETRY_BASE_MS: '1',
      WEBHOOK_RETRY_FACTOR: '1',
      WEBHOOK_DEACTIVATE_AFTER: '1',
    },
    beside: local,
    worker: true,
  });
  let release: () => void = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const slow = await startReceiver((response) => void held.then(() => response.end()));
  const failing = await startReceiver((response) => response.writeHead(500).end());
  const people = await Promise.all(
    [0, 1, 2, 3].map((index) => person(`busy-${index}@example.org`)),
  );
  const apps = new Map<Person, string[]>();
  for (const who of people) {
    const ids = [await createApp(who, 'First'), await createApp(who, 'Second')];
    apps.set(who, ids);
    for (const id of ids)
      for (const { url } of [slow, failing]) await post(who, `/apps/${id}/webhooks`, { url });
  }
  for (let event = 0; event < 5; event += 1) await announce(database);
  // Attempts are in flight, and others have failed and count towards a deactivation.
  await slow.waitFor(people.length);
  await failing.waitFor(people.length);
  const answers = await Promise.all(people.map((who) => remove(who, apps.get(who) ?? [])));
  release();
  assert.deepEqual(
    answers.map(({ status }) => status),
    people.map(() => 200),
  );
  await queueDrained(database);
  const { rows } = await sql`
    select from webhooks w join app_members m on m.app_id = w.app_id where m.email like 'busy-%'
  `.execute(database);
  assert.equal(rows.length, 0);
  await working.worker.stop();
});
