import assert from 'node:assert/strict';
import { userInfo } from 'node:os';
import { test } from 'node:test';
import type { Actor } from '../../src/access/actor.ts';
import { createApp, deleteApp, renameApp } from '../../src/access/apps.ts';
import { listAudit, recordAudit, type AuditEntry } from '../../src/access/audit-log.ts';
import { bindApp, unbindApp } from '../../src/access/bindings.ts';
import { createKey, revokeKey } from '../../src/access/keys.ts';
import { addManager, removeManager, type Subject } from '../../src/access/managers.ts';
import { sql, type Transaction } from '../../src/database/database.ts';
import { disableMaintenance, enableMaintenance } from '../../src/system/maintenance.ts';
import { addSubject, put } from '../support/directory.ts';
import { startInternalApi } from '../support/internal-api.ts';
import { queueDrained } from '../support/queue.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { commandsOn } from '../support/run-here.ts';
import { makeKey, startTestService } from '../support/service.ts';
import { waitingForLocks } from '../support/waiting-for-locks.ts';

const service = await startTestService({ env: loopbackAllowed });
const { database } = service;
const addOrg = (slug: string) => addSubject(database, 'organization', { slug, name: slug });
const acme = await addOrg('acme');
const league = await addSubject(database, 'alliance', { slug: 'league', name: 'League' });

const ada: Actor = { kind: 'user', id: 'u-1', name: 'ada@example.org' };
const operator: Actor = { kind: 'cli', id: null, name: 'root' };
const everything = {
  actor: null,
  action: null,
  subjectId: null,
  appId: null,
  since: null,
  limit: 1_000,
};

const inTransaction = <T>(act: (tx: Transaction) => Promise<T>) =>
  database.transaction().execute(act);

/** The entries that were written while `act` ran, oldest first. */
async function entriesOf(act: () => Promise<unknown>): Promise<AuditEntry[]> {
  const before = await listAudit(database, everything);
  await act();
  const after = await listAudit(database, everything);
  return after.slice(0, after.length - before.length).toReversed();
}

const told = ({ actor, action, subject, details }: AuditEntry) => ({
  by: actor.name,
  action,
  on: subject.kind,
  ...details,
});

test('changes to apps, keys, managers and bindings are audited with their actor', async () => {
  let appId = '';
  let keyId = '';
  const entries = await entriesOf(async () => {
    await inTransaction(async (tx) => {
      await addManager(tx, operator, acme, ' Ada@Example.org ');
      appId = await createApp(tx, ada, { name: 'Herald', owner: 'ada@example.org' });
      await bindApp(tx, ada, appId, acme);
      keyId = (
        await createKey(tx, ada, { appId, name: 'k', scopes: ['read:events'], expiresAt: null })
      ).id;
    });
    await inTransaction((tx) => renameApp(tx, ada, appId, 'Crier'));
    await inTransaction((tx) => revokeKey(tx, operator, keyId));
    await inTransaction((tx) => unbindApp(tx, ada, appId));
    await inTransaction((tx) => deleteApp(tx, operator, appId));
  });
  assert.deepEqual(entries.map(told), [
    {
      by: 'root',
      action: 'manager.added',
      on: 'organization',
      email: 'ada@example.org',
      slug: 'acme',
    },
    {
      by: 'ada@example.org',
      action: 'app.created',
      on: 'app',
      name: 'Herald',
      owner: 'ada@example.org',
    },
    {
      by: 'ada@example.org',
      action: 'binding.created',
      on: 'organization',
      slug: 'acme',
      owner: 'ada@example.org',
    },
    {
      by: 'ada@example.org',
      action: 'key.created',
      on: 'key',
      name: 'k',
      last4: entries[3]?.details['last4'],
      scopes: ['read:events'],
      expiresAt: null,
    },
    { by: 'ada@example.org', action: 'app.changed', on: 'app', name: 'Crier', before: 'Herald' },
    { by: 'root', action: 'key.revoked', on: 'key', name: 'k' },
    {
      by: 'ada@example.org',
      action: 'binding.ended',
      on: 'organization',
      slug: 'acme',
      owner: 'ada@example.org',
      cause: 'unbound',
    },
    { by: 'root', action: 'app.deleted', on: 'app', name: 'Crier', owners: ['ada@example.org'] },
  ]);
  assert.deepEqual(entries[1]?.actor, ada);
  assert.deepEqual(
    entries.map((entry) => entry.appId),
    [null, ...Array.from({ length: 7 }, () => appId)],
  );
  assert.equal(entries[3]?.subject.id, keyId);
});

test('every end of a role audits the end of its binding, with reason and actor', async () => {
  const owner = 'bea@example.org';
  const bound = (subject: Subject) =>
    inTransaction(async (tx) => {
      const id = await createApp(tx, ada, { name: 'Bound', owner });
      await addManager(tx, ada, subject, owner);
      await bindApp(tx, ada, id, subject);
      return id;
    });
  const causes: [Subject, string, (tx: Transaction) => Promise<unknown>][] = [
    [acme, 'role lost', (tx) => removeManager(tx, operator, acme, owner)],
    [league, 'role lost', (tx) => removeManager(tx, operator, league, owner)],
    [
      league,
      'alliance deleted',
      (tx) => sql`delete from alliances where id = ${league.id}`.execute(tx),
    ],
    [acme, 'organization deleted', (tx) => sql`delete from orgs where id = ${acme.id}`.execute(tx)],
  ];
  for (const [subject, cause, end] of causes) {
    const appId = await bound(subject);
    const entries = await entriesOf(() => inTransaction(end));
    const ended = entries.find(({ action }) => action === 'binding.ended');
    assert.equal(ended?.details['cause'], cause);
    assert.equal(ended?.appId, appId);
    assert.deepEqual(ended?.subject, subject);
    assert.ok(entries.some(({ action }) => action === 'manager.removed'));
    // Manual SQL has no actor, so the connected role is named.
    const by = cause === 'role lost' ? 'root' : /^database role ./;
    assert.match(ended?.actor.name ?? '', new RegExp(by));
    await inTransaction((tx) => deleteApp(tx, ada, appId));
  }
  const appId = await inTransaction((tx) => createApp(tx, ada, { name: 'Deleted', owner }));
  const again = await addOrg('acme');
  await inTransaction((tx) => addManager(tx, ada, again, owner));
  await inTransaction((tx) => bindApp(tx, ada, appId, again));
  const entries = await entriesOf(() => inTransaction((tx) => deleteApp(tx, operator, appId)));
  assert.deepEqual(entries.map(told), [
    {
      by: 'root',
      action: 'binding.ended',
      on: 'organization',
      slug: 'acme',
      owner,
      cause: 'app deleted',
    },
    { by: 'root', action: 'app.deleted', on: 'app', name: 'Deleted', owners: [owner] },
  ]);
});

test('adding a manager to a deleted organisation is rejected', async () => {
  const subject = await addOrg('fleeting');
  let added: Promise<unknown> | undefined;
  await inTransaction(async (tx) => {
    await sql`delete from orgs where id = ${subject.id}`.execute(tx);
    added = inTransaction((other) => addManager(other, operator, subject, 'ada@example.org'));
    added.catch(() => {});
    await waitingForLocks(database, 1, tx);
  });
  await assert.rejects(async () => added, { code: 'not_found', message: /no longer exists/ });
});

test('changes over the internal API, and their effects, are audited under the platform key', async () => {
  const internal = await startInternalApi(service);
  const fed = await addOrg('fed');
  const { owner, appId } = await makeKey(service, { bindTo: fed });
  const actor = { kind: 'key', id: internal.keyId, name: 'Platform' };
  const entries = await entriesOf(async () => {
    for (const [method, path, json] of [
      ['PUT', '/orgs/fed/managers', { managers: [owner, 'new@example.org'] }],
      ['PUT', '/orgs/fed/managers', { managers: [owner, 'new@example.org'] }],
      ['PUT', '/orgs/fed/managers', { managers: ['new@example.org'] }],
      ['DELETE', '/orgs/fed', undefined],
    ] as const)
      assert.equal((await internal.call(path, { method, json })).status, 200);
  });
  const what = entries.map(({ action, details }) => [action, details['email'] ?? details['cause']]);
  assert.deepEqual(what, [
    ['manager.added', 'new@example.org'],
    // Which of the two comes first is PostgreSQL's choice.
    ...what.slice(1, 3),
    ['manager.removed', 'new@example.org'],
  ]);
  const middle = new Map(what.slice(1, 3) as [string, unknown][]);
  assert.deepEqual(
    [middle.get('manager.removed'), middle.get('binding.ended')],
    [owner, 'role lost'],
  );
  for (const entry of entries) {
    assert.deepEqual(entry.actor, actor);
    assert.deepEqual(entry.subject, fed);
  }
  assert.equal(entries.find(({ action }) => action === 'binding.ended')?.appId, appId);
});

test('changes without effect and rollbacks are not audited', async () => {
  const appId = await inTransaction((tx) =>
    createApp(tx, ada, { name: 'Same', owner: 'c@example.org' }),
  );
  const entries = await entriesOf(async () => {
    await inTransaction((tx) => renameApp(tx, ada, appId, 'Same'));
    await inTransaction((tx) => unbindApp(tx, ada, appId));
    await inTransaction((tx) => removeManager(tx, ada, acme, 'nobody@example.org'));
    await disableMaintenance(database, operator);
    await assert.rejects(
      inTransaction(async (tx) => {
        await deleteApp(tx, ada, appId);
        throw new Error('rolled back');
      }),
      /rolled back/,
    );
    await assert.rejects(
      inTransaction((tx) => deleteApp(tx, ada, acme.id)),
      /There is no app/,
    );
  });
  assert.deepEqual(entries, []);
});

test('changes of a webhook are audited without its URL and secret', async () => {
  const url = 'https://hooks.example.org/token-1?secret=token-2';
  let id = '';
  let secrets: string[] = [];
  const call = async (path: string, method: string, json?: object) => {
    const { body, status } = await service.call(`/webhooks${path}`, { method, json });
    assert.ok(status < 300, JSON.stringify(body));
    return body.data;
  };
  const entries = await entriesOf(async () => {
    const created = await call('', 'POST', { url, events: ['org.created'] });
    id = created.id as string;
    await call(`/${id}`, 'PATCH', { description: 'token-3' });
    await call(`/${id}`, 'PATCH', { description: 'token-3', active: true });
    await call(`/${id}`, 'PATCH', { active: false });
    await call(`/${id}`, 'PATCH', { url: 'https://other.example.org/token-4', active: true });
    const rotated = await call(`/${id}/rotate-secret`, 'POST', { overlapSeconds: 60 });
    await call(`/${id}/recover`, 'POST', { since: new Date(Date.now() - 1_000).toISOString() });
    await call(`/${id}`, 'DELETE');
    secrets = [created.secret as string, rotated.secret as string];
  });
  const events = ['org.created'];
  const host = 'hooks.example.org';
  const other = 'other.example.org';
  assert.deepEqual(
    entries.map(({ action, details }) => [action, details]),
    [
      ['webhook.created', { host, events }],
      ['webhook.changed', { changed: ['description'], host, events }],
      ['webhook.deactivated', { reason: 'owner', host }],
      ['webhook.changed', { changed: ['url'], host: other, events }],
      ['webhook.reactivated', { wasDeactivated: 'owner', host: other }],
      ['webhook.secret_rotated', { overlapSeconds: 60, host: other }],
      ['webhook.recovered', { since: entries[6]?.details['since'], count: 0, host: other }],
      ['webhook.deleted', { host: other }],
    ],
  );
  for (const entry of entries) {
    assert.equal(entry.appId, service.appId);
    assert.equal(entry.actor.kind, 'key');
    assert.equal(entry.actor.name, 'Test key');
    assert.deepEqual(entry.subject, { kind: 'webhook', id });
    const text = JSON.stringify(entry);
    for (const secret of [...secrets, service.key, 'token'])
      assert.ok(!text.includes(secret), text);
  }
});

test('a deactivation by workers has one audit entry, with its reason', async () => {
  const env = {
    ...loopbackAllowed,
    WEBHOOK_RETRY_BASE_MS: '1',
    WEBHOOK_RETRY_FACTOR: '1',
    WEBHOOK_DEACTIVATE_AFTER: '2',
  };
  const first = await startTestService({ env, worker: true });
  await startTestService({ env, worker: true, beside: first });
  const { appId } = first;
  const makeWebhook = async (status: number) => {
    const { url } = await startReceiver((response) => response.writeHead(status).end());
    const json = { url: `${url}?token=hunter2`, events: ['org.created'] };
    const { body } = await first.call('/webhooks', { method: 'POST', json });
    return { id: body.data.id as string, host: new URL(url).host };
  };
  const failing = await makeWebhook(500);
  const gone = await makeWebhook(410);
  const healthy = await makeWebhook(200);
  const orgs = Array.from({ length: 8 }, (_, index) => ({ slug: `o-${index}`, name: 'New' }));
  await put(first.database, 'orgs', orgs, { emitEvents: true });
  await queueDrained(first.database);

  const filter = { ...everything, action: 'webhook.deactivated' };
  const entries = await listAudit(first.database, filter);
  assert.deepEqual(
    new Map(entries.map(({ subject, details }) => [subject.id, details])),
    new Map([
      [gone.id, { reason: 'gone', host: gone.host }],
      [failing.id, { reason: 'failing', host: failing.host }],
    ]),
  );
  assert.equal(entries.length, 2);
  for (const entry of entries) {
    assert.deepEqual(entry.actor, { kind: 'system', id: null, name: 'delivery worker' });
    assert.equal(entry.subject.kind, 'webhook');
    assert.equal(entry.appId, appId);
  }
  // The deliveries to a healthy webhook leave nothing in the log.
  const { length } = await listAudit(first.database, { ...everything, appId });
  assert.equal(length, ['app', 'key', failing, gone, healthy, ...entries].length);

  const { stdout } = await commandsOn(first).run('audit', 'list', '--action', filter.action);
  const line = new RegExp(
    `system delivery worker +webhook\\.deactivated +webhook ${failing.id} +${appId} +host=${failing.host} reason=failing$`,
    'm',
  );
  assert.match(stdout, line);
});

test('maintenance is audited once when it begins, changes and ends', async () => {
  const at = new Date('2027-01-31T12:00:00.000Z');
  const entries = await entriesOf(async () => {
    for (const message of ['Soon.', 'Soon.', 'Later.'])
      await enableMaintenance(database, operator, { message, expectedEnd: at });
    await disableMaintenance(database, ada);
    await disableMaintenance(database, ada);
  });
  const expectedEnd = at.toISOString();
  assert.deepEqual(
    entries.map(({ actor, action, details }) => [actor.name, action, details]),
    [
      ['root', 'maintenance.enabled', { message: 'Soon.', expectedEnd }],
      ['root', 'maintenance.changed', { message: 'Later.', expectedEnd }],
      ['ada@example.org', 'maintenance.disabled', entries[2]?.details],
    ],
  );
});

test('audit entries cannot be updated, deleted or truncated', async () => {
  const before = await listAudit(database, everything);
  for (const statement of [
    "update audit_log set actor_name = 'nobody'",
    'delete from audit_log',
    'delete from audit_log where false',
    'truncate audit_log',
    'truncate audit_log cascade',
    'merge into audit_log using (values (1)) as v on true when matched then delete',
    "insert into audit_log (id, actor_kind, actor_name, action, subject_kind) overriding system value select max(id), 'cli', 'x', 'app.created', 'app' from audit_log on conflict (id) do update set actor_name = 'x'",
  ])
    await assert.rejects(
      sql.raw(statement).execute(database),
      /the audit log is append-only/,
      statement,
    );
  assert.deepEqual(await listAudit(database, everything), before);
});

test('audit entries are listed newest first, filtered by actor, action, subject, app, time and limit', async () => {
  const list = (filter: Partial<typeof everything> | object) =>
    listAudit(database, { ...everything, ...filter });
  const all = await list({});
  assert.deepEqual(
    all.map(({ id }) => id),
    all.map(({ id }) => id).sort((a, b) => b - a),
  );
  assert.deepEqual(await list({ limit: 3 }), all.slice(0, 3));
  const same = async (filter: object, is: (entry: AuditEntry) => boolean) => {
    const wanted = all.filter(is);
    assert.ok(wanted.length > 0 && wanted.length < all.length);
    assert.deepEqual(await list(filter), wanted);
  };
  await same({ actor: 'root' }, ({ actor }) => actor.name === 'root');
  await same({ actor: 'user' }, ({ actor }) => actor.kind === 'user');
  await same({ actor: 'u-1' }, ({ actor }) => actor.id === 'u-1');
  await same({ action: 'webhook' }, ({ action }) => action.startsWith('webhook.'));
  await same({ action: 'key.created' }, ({ action }) => action === 'key.created');
  await same({ subjectId: service.appId }, ({ subject }) => subject.id === service.appId);
  await same({ appId: service.appId }, ({ appId }) => appId === service.appId);
  const middle = all[Math.floor(all.length / 2)]?.at ?? new Date();
  await same({ since: middle }, ({ at }) => at >= middle);
  assert.deepEqual(await list({ actor: 'nobody' }), []);
});

test('a command is audited under its user, and `audit list` shows it', async () => {
  const commands = commandsOn(service);
  const me = userInfo().username;
  const list = (...words: string[]) => commands.run('audit', 'list', ...words);
  const listJson = (...words: string[]) => commands.json('audit', 'list', ...words);
  const added = ['--org', 'acme', '--email', 'dora@example.org'];
  await commands.json('managers', 'add', ...added);
  const lines = (await list('--action', 'manager', '--actor', me)).stdout.split('\n');
  assert.match(lines[0] ?? '', /^TIME +ACTOR +ACTION +SUBJECT +APP +DETAILS$/);
  assert.match(
    lines[1] ?? '',
    /manager\.added +organization \S+ +- +slug=acme email=dora@example\.org$/,
  );
  for (const wanted of ['key', 'key.created'])
    assert.deepEqual(
      await listJson('--action', wanted),
      JSON.parse(JSON.stringify(await listAudit(database, { ...everything, action: wanted }))),
    );
  const [entry] = await listJson('--limit', '1');
  assert.deepEqual(entry.actor, { kind: 'cli', id: null, name: me });
  const subject = entry.subject.id ?? '';
  assert.deepEqual(
    await listJson('--subject', subject.toUpperCase()),
    JSON.parse(JSON.stringify(await listAudit(database, { ...everything, subjectId: subject }))),
  );
  const name = 'Herald\u001b[2J\r\nsecond line\u202e';
  // As an entry from before names had to be plain.
  await inTransaction((tx) =>
    recordAudit(tx, ada, {
      action: 'app.created',
      subject: { kind: 'app', id: subject },
      appId: null,
      details: { name, owner: 'e@example.org' },
    }),
  );
  assert.match(
    (await list('--limit', '1')).stdout,
    /name=Herald\\u001b\[2J\\u000d\\u000asecond line\\u202e owner=e@example\.org$/m,
  );
  const { code, stderr } = await list('--action', 'nothing');
  assert.equal(code, 2);
  assert.match(
    stderr,
    /It must be one of account, announcement, app, binding, entry, event, invitation, key/,
  );
});
