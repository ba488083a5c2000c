import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listAudit } from '../../src/access/audit-log.ts';
import {
  createKey,
  createPlatformKey,
  createTemporaryKey,
  listKeys,
  revokeKey,
} from '../../src/access/keys.ts';
import { rotateKey } from '../../src/access/rotate-key.ts';
import type { Transaction } from '../../src/database/database.ts';
import { testActor } from '../support/actor.ts';
import { makeKey, startTestService } from '../support/service.ts';

const service = await startTestService();
const { database } = service;

const inTransaction = <T>(act: (tx: Transaction) => Promise<T>) =>
  database.transaction().execute(act);
const rotate = (id: string, overlapSeconds: number) =>
  inTransaction((tx) => rotateKey(tx, testActor, id, overlapSeconds));
const statusOf = async (key: string) => (await service.call('/orgs', { key })).status;

test('both keys are valid during the overlap, and the new one has the same name, scopes and expiry', async () => {
  const expiresAt = new Date('2099-01-01T00:00:00.000Z');
  const { appId, keyId, key } = await makeKey(service, { scopes: ['read:directory'], expiresAt });
  const fresh = await rotate(keyId, 3_600);
  assert.deepEqual([await statusOf(key), await statusOf(fresh.key)], [200, 200]);
  const [old, created] = await listKeys(database, appId);
  assert.deepEqual(
    [created?.id, created?.name, created?.scopes, created?.expiresAt],
    [fresh.id, old?.name, ['read:directory'], expiresAt],
  );
  assert.deepEqual(old?.expiresAt, fresh.oldEndsAt);
  assert.ok(fresh.oldEndsAt.getTime() - Date.now() <= 3_600_000);
  const [rotated] = await listAudit(database, {
    actor: null,
    action: 'key.rotated',
    appId,
    subjectId: null,
    since: null,
    limit: 1,
  });
  assert.deepEqual(rotated?.details, {
    name: 'Test key',
    newKeyId: fresh.id,
    oldEndsAt: fresh.oldEndsAt.toISOString(),
  });
});

test('an overlap never extends the expiry of a key', async () => {
  const expiresAt = new Date(Date.now() + 60_000);
  const { keyId } = await makeKey(service, { expiresAt });
  assert.deepEqual((await rotate(keyId, 3_600)).oldEndsAt, expiresAt);
});

test('an expired, revoked or unknown key cannot be rotated', async () => {
  const { keyId } = await makeKey(service);
  await inTransaction((tx) => revokeKey(tx, testActor, keyId));
  await assert.rejects(rotate(keyId, 60), { code: 'conflict' });
  const { keyId: expired } = await makeKey(service);
  await rotate(expired, 0);
  await assert.rejects(rotate(expired, 60), { code: 'conflict' });
  for (const id of [crypto.randomUUID(), 'none', ''])
    await assert.rejects(rotate(id, 60), { code: 'not_found' });
});

test('a temporary key cannot be rotated, so it never becomes one of the keys that stay', async () => {
  const { appId } = await makeKey(service);
  const { id } = await inTransaction((tx) => createTemporaryKey(tx, testActor, appId));
  await assert.rejects(rotate(id, 0), { code: 'conflict', message: /temporary/ });
});

test('concurrent rotations never exceed the limit of keys', async () => {
  const { appId, keyId } = await makeKey(service);
  const another = { appId, name: 'k', scopes: ['read:events'], expiresAt: null };
  for (let count = 2; count <= 18; count += 1)
    await inTransaction((tx) => createKey(tx, testActor, another));
  const outcomes = await Promise.allSettled([1, 2, 3, 4, 5].map(() => rotate(keyId, 60)));
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 2);
  assert.equal((await listKeys(database, appId)).length, 20);
  await rotate(keyId, 0);
});

test("a platform key is rotated like an app's key", async () => {
  const { id } = await inTransaction((tx) =>
    createPlatformKey(tx, testActor, { name: 'Platform', expiresAt: null }),
  );
  const fresh = await rotate(id, 60);
  const created = (await listKeys(database, null)).find((each) => each.id === fresh.id);
  assert.deepEqual([created?.appId, created?.scopes], [null, ['platform']]);
});
