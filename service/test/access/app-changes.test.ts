import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteApp } from '../../src/access/apps.ts';
import { listAudit } from '../../src/access/audit-log.ts';
import { addManager } from '../../src/access/managers.ts';
import { sql } from '../../src/database/database.ts';
import { recordOperationalEvents } from '../../src/webhooks/notifications/operational-events.ts';
import { testActor } from '../support/actor.ts';
import { addSubject } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { commandsOn } from '../support/run-here.ts';
import { makeKey, startTestService } from '../support/service.ts';
import { waitingForLocks } from '../support/waiting-for-locks.ts';

const service = await startTestService();
const { database } = service;
const acme = await addSubject(database, 'organization', { slug: 'acme', name: 'Acme' });
const { run, json } = commandsOn(service);

test('commands rename, bind, unbind and delete an app, and the audit log has each change', async () => {
  const { appId, key, keyId, owner } = await makeKey(service);
  assert.equal((await json('apps', 'rename', appId, ' Crier ')).name, 'Crier');
  const refused = await run('apps', 'bind', appId, '--org', 'acme');
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /Only owners of the app who manage the organisation can bind it/);
  await database.transaction().execute((tx) => addManager(tx, testActor, acme, owner));
  assert.equal((await json('apps', 'bind', appId, '--org', 'acme')).organizationSlug, 'acme');
  assert.deepEqual(await json('apps', 'unbind', appId), { id: appId, changed: true });
  const rotated = await json('keys', 'rotate', keyId, '--overlap', '60');
  assert.equal((await service.call('/webhooks', { key: rotated.key })).status, 200);
  assert.deepEqual(await json('apps', 'delete', appId), { id: appId, deleted: true });
  for (const each of [key, rotated.key as string])
    await eventually(async () => (await service.call('/webhooks', { key: each })).status === 401);
  const entries = await listAudit(database, {
    actor: 'cli',
    action: null,
    appId,
    subjectId: null,
    since: null,
    limit: 10,
  });
  assert.deepEqual(entries.map(({ action }) => action).toReversed(), [
    'app.changed',
    'binding.created',
    'binding.ended',
    'key.created',
    'key.rotated',
    'app.deleted',
  ]);
});

test('an app can be deleted while a worker records an event for its owner', async () => {
  const { appId, key } = await makeKey(service);
  const created = await service.call('/webhooks', {
    method: 'POST',
    key,
    json: { url: 'https://example.org/' },
  });
  const webhookId: string = created.body.data.id;
  const { deleting } = await database.transaction().execute(async (worker) => {
    // Like a worker that records attempts.
    await sql`select from webhooks where id = ${webhookId} for update`.execute(worker);
    const asked = database.transaction().execute((tx) => deleteApp(tx, testActor, appId));
    asked.catch(() => {});
    await waitingForLocks(database);
    await recordOperationalEvents(worker, [
      {
        appId,
        webhookId,
        kind: 'webhook.deactivated',
        reason: 'gone',
        statusCode: 410,
        error: null,
        exhaustedInARow: 0,
        cancelled: 0,
        host: 'example.org',
        lastSuccessAt: null,
      },
    ]);
    return { deleting: asked };
  });
  await deleting;
  const { rows } = await sql`select from apps where id = ${appId}`.execute(database);
  assert.equal(rows.length, 0);
});

test('commands report missing apps and organisations', async () => {
  for (const words of [
    ['apps', 'bind', 'none', '--org', 'acme'],
    ['apps', 'unbind', 'none'],
  ]) {
    const { code, stderr } = await run(...words, '--json');
    assert.equal(code, 1, words.join(' '));
    assert.equal(JSON.parse(stderr).error.code, 'not_found');
  }
});
