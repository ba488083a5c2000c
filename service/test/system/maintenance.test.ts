import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { disableMaintenance, enableMaintenance } from '../../src/system/maintenance.ts';
import { testActor } from '../support/actor.ts';
import { put } from '../support/directory.ts';
import { eventually, withinASecond } from '../support/eventually.ts';
import { startTestService } from '../support/service.ts';

const service = await startTestService();
const beside = await startTestService({ beside: service });
await put(service.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
await service.settled();

const answersWith = (status: number) => async () =>
  (await service.call('/orgs/acme')).status === status &&
  (await beside.call('/orgs/acme')).status === status;

test('maintenance is seen by every process within a second, and so is its end', async () => {
  assert.equal((await service.call('/orgs/acme')).status, 200);
  await enableMaintenance(service.database, testActor, { message: null, expectedEnd: null });
  await withinASecond(answersWith(503));
  await disableMaintenance(service.database, testActor);
  await withinASecond(answersWith(200));
});

test('during maintenance everything except the status and the OpenAPI document is a 503, and 404 and 405 stay', async () => {
  const expectedEnd = new Date(Date.now() + 120_000);
  await enableMaintenance(service.database, testActor, { message: 'Moving house.', expectedEnd });
  await eventually(answersWith(503));
  const id = '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f';
  const calls = [
    ...['/orgs', '/orgs/acme', '/alliances', '/alliances/x', '/blueprints', '/blueprints/x'].map(
      (path) => ({ path, method: 'GET' }),
    ),
    { path: '/webhooks', method: 'GET' },
    { path: '/webhooks', method: 'POST' },
    { path: `/webhooks/${id}`, method: 'DELETE' },
    { path: `/webhooks/${id}/test`, method: 'POST' },
  ];
  for (const { path, method } of calls) {
    // Before the key is looked at.
    for (const key of [service.key, null]) {
      const { status, body, headers } = await service.call(path, { method, key });
      assert.equal(status, 503, `${method} ${path}`);
      const { since, ...details } = body.error.details;
      assert.ok(Date.parse(since) <= Date.now());
      assert.deepEqual(details, { expectedEnd: expectedEnd.toISOString() });
      assert.equal(body.error.code, 'maintenance');
      assert.equal(body.error.message, 'Moving house.');
      const retryAfter = Number(headers.get('retry-after'));
      assert.ok(retryAfter > 60 && retryAfter <= 120, `Retry-After: ${retryAfter}`);
      assert.equal(headers.get('x-ratelimit-limit'), null, 'not counted');
    }
  }
  assert.equal((await service.call('/openapi.json', { key: null })).status, 200);
  const { status, body } = await service.call('/status', { key: null });
  assert.equal(status, 200);
  assert.equal(body.data.status, 'maintenance');
  assert.equal(body.data.maintenance.message, 'Moving house.');
  assert.equal(body.data.maintenance.expectedEnd, expectedEnd.toISOString());
  assert.equal((await service.call('/nothing')).status, 404);
  assert.equal((await service.call('/orgs', { method: 'PUT' })).status, 405);
  await disableMaintenance(service.database, testActor);
  await eventually(answersWith(200));
});

test('Retry-After is half a minute without an expected end, and at most an hour', async () => {
  for (const [expectedEnd, seconds] of [
    [null, 30],
    [new Date(Date.now() - 1_000), 30],
    [new Date(Date.now() + 86_400_000), 3_600],
  ] as const) {
    await enableMaintenance(service.database, testActor, { message: null, expectedEnd });
    await eventually(async () => {
      const { headers } = await service.call('/orgs');
      return headers.get('retry-after') === String(seconds);
    });
  }
  const { body } = await service.call('/orgs');
  assert.equal(body.error.message, 'The service is under maintenance.');
  await disableMaintenance(service.database, testActor);
});

test('a 503 during maintenance is not logged, any other 503 is an error', async () => {
  const lines: { msg: string; level: number; reasonCode?: string }[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) });
  // It has another SECRET_KEY, so it cannot test a webhook of `service`.
  const { database, connection } = service;
  const other = await startTestService({ beside: { database, connection }, log });
  await enableMaintenance(database, testActor, { message: null, expectedEnd: null });
  await eventually(async () => (await other.call('/orgs')).status === 503);
  await disableMaintenance(database, testActor);
  await eventually(async () => (await other.call('/orgs')).status === 200);
  await eventually(answersWith(200));
  const json = { url: 'https://example.org/' };
  const { body } = await service.call('/webhooks', { method: 'POST', json });
  const path = `/webhooks/${body.data.id}/test`;
  assert.equal((await other.call(path, { method: 'POST', key: service.key })).status, 503);
  const failures = lines.filter(({ msg }) => msg === 'request.failed');
  assert.deepEqual(
    failures.map(({ level, reasonCode }) => [level, reasonCode]),
    [[pino.levels.values['error'], 'unavailable']],
  );
});
