import assert from 'node:assert/strict';
import { test } from 'node:test';
import { version } from '../../../src/runtime/version.ts';
import { blueprint, put } from '../../support/directory.ts';
import { openCuttableDatabase } from '../../support/cuttable-database.ts';
import { eventually, within } from '../../support/eventually.ts';
import { startTestService } from '../../support/service.ts';

test('the status has version, time, components and counts, without a key', async () => {
  const service = await startTestService();
  await put(service.database, 'alliances', [{ name: 'League' }]);
  await put(service.database, 'orgs', [{ name: 'Acme' }, { name: 'Hidden', listed: false }]);
  await put(service.database, 'blueprints', [blueprint(), blueprint({ active: false })]);
  const body = await eventually(async () => {
    const answer = await service.call('/status', { key: null });
    assert.equal(answer.status, 200);
    return answer.body.data.counts.blueprints === 2 && answer.body;
  });
  assert.deepEqual(Object.keys(body), ['success', 'data', 'meta']);
  const { time, ...rest } = body.data;
  assert.ok(Math.abs(Date.parse(time) - Date.now()) < 10_000);
  assert.deepEqual(rest, {
    status: 'ok',
    version,
    apiVersion: 'v1',
    maintenance: null,
    announcements: [],
    components: {
      database: 'ok',
      deliveries: 'ok',
      blueprintSync: { lastCompletedAt: null },
      chatSync: { lastCompletedAt: null },
    },
    counts: { orgs: 1, alliances: 1, blueprints: 2 },
  });
});

test('the status reports an unavailable database, reads are 503, and both recover', async () => {
  const { opened, cut, mend } = await openCuttableDatabase();
  const service = await startTestService({ beside: opened });
  await put(opened.database, 'orgs', [{ name: 'Acme' }]);
  await service.settled();
  assert.equal((await service.call('/orgs/acme')).status, 200);
  await eventually(async () => (await service.call('/status')).body.data.counts.orgs === 1);

  cut();
  const degraded = await eventually(async () => {
    const answer = await service.call('/status', { key: null });
    assert.equal(answer.status, 200);
    return answer.body.data.status === 'degraded' && answer.body.data;
  });
  assert.equal(degraded.components.database, 'unavailable');
  assert.equal(degraded.components.deliveries, 'unavailable');
  assert.equal(degraded.counts.orgs, 1, 'from memory');
  for (const path of ['/orgs/acme', '/orgs', '/alliances', '/blueprints', '/webhooks']) {
    const { status, body, headers } = await service.call(path);
    assert.equal(status, 503, path);
    assert.equal(body.error.code, 'unavailable');
    assert.deepEqual(body.error.details, {});
    assert.match(headers.get('retry-after') ?? '', /^\d+$/);
    assert.equal(headers.get('cache-control'), 'no-store');
  }
  for (const path of ['/status', '/openapi.json']) {
    const { status } = await service.call(path);
    assert.equal(status, 200, `${path}, with a key that cannot be looked up`);
  }
  assert.equal((await service.call('/orgs', { key: null })).status, 401);
  assert.equal((await service.call('/orgs', { key: 'odk_wrong' })).status, 401);

  mend();
  await eventually(async () => (await service.call('/orgs/acme')).status === 200);
  await eventually(async () => (await service.call('/status')).body.data.status === 'ok');
});

test('the status and the description wait a second for a silent database, whatever key is sent', async () => {
  const { opened, freeze, thaw } = await openCuttableDatabase();
  const service = await startTestService({ beside: opened });
  freeze();
  let left = 2;
  for (const path of ['/status', '/openapi.json'])
    void service.call(path).then(({ status }) => status === 200 && (left -= 1));
  // A second to look up the key, and one to write a description that nobody has asked for yet.
  await within(4_000, async () => left === 0);
  thaw();
});
