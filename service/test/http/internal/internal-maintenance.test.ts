import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listAudit } from '../../../src/access/audit-log.ts';
import { sql } from '../../../src/database/database.ts';
import { toUrl } from '../../support/database.ts';
import { put } from '../../support/directory.ts';
import { eventually } from '../../support/eventually.ts';
import { startInternalApi } from '../../support/internal-api.ts';
import { recordedEvents } from '../../support/queue.ts';
import { runCommand } from '../../support/run-command.ts';
import { startTestService } from '../../support/service.ts';

const service = await startTestService();
const beside = await startTestService({ beside: service });
const internal = await startInternalApi(service);
const { database } = service;
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);

const change = (json: object) => internal.call('/maintenance', { method: 'PUT', json });
const off = { enabled: false, message: null, since: null, expectedEnd: null };

async function told(): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from ${recordedEvents} where name like 'system.maintenance.%' order by id
  `.execute(database);
  return rows.map(({ name }) => name.split('.').at(-1) ?? '');
}

/** How soon is in `maintenance.test.ts`. */
async function seenByAll(status: number): Promise<void> {
  await eventually(async () => {
    const answers = await Promise.all([service, beside].map((each) => each.call('/orgs/acme')));
    return answers.every((answer) => answer.status === status);
  });
}

test('maintenance is turned on, changed and off, with one event each way, in every process', async () => {
  assert.deepEqual((await internal.call('/maintenance')).body.data, off);
  const expectedEnd = '2027-01-31T12:00:00.000Z';
  const on = await change({ enabled: true, message: 'Moving house.', expectedEnd });
  assert.equal(on.status, 200);
  const { since } = on.body.data;
  assert.deepEqual(on.body.data, { enabled: true, message: 'Moving house.', since, expectedEnd });
  await seenByAll(503);
  // The internal API works, because maintenance could not be ended otherwise.
  assert.equal(
    (await change({ enabled: true, message: 'Moving house.', expectedEnd })).text,
    on.text,
  );
  const changed = await change({ enabled: true });
  assert.deepEqual(changed.body.data, { enabled: true, message: null, since, expectedEnd: null });
  assert.equal((await internal.call('/maintenance')).text, changed.text);
  assert.deepEqual(await told(), ['enabled']);
  for (let count = 0; count < 2; count += 1)
    assert.deepEqual((await change({ enabled: false })).body.data, off);
  await seenByAll(200);
  assert.deepEqual(await told(), ['enabled', 'disabled']);
});

test('the API and the command line share maintenance, and the audit log names the actor', async () => {
  const env = {
    DATABASE_URL: toUrl(service.connection),
    SECRET_KEY: Buffer.alloc(32).toString('base64'),
  };
  const { code, stderr } = await runCommand(['maintenance', 'on', '--message', 'By hand.'], env);
  assert.equal(code, 0, stderr);
  assert.equal((await internal.call('/maintenance')).body.data.message, 'By hand.');
  await change({ enabled: false });
  const [ended, begun] = await listAudit(database, {
    actor: null,
    action: 'maintenance',
    appId: null,
    subjectId: null,
    since: null,
    limit: 2,
  });
  assert.equal(begun?.actor.kind, 'cli');
  assert.deepEqual(ended?.actor, { kind: 'key', id: internal.keyId, name: 'Platform' });
  assert.deepEqual([begun?.action, ended?.action], ['maintenance.enabled', 'maintenance.disabled']);
});

test('concurrent changes of maintenance publish one event', async () => {
  const before = (await told()).length;
  await Promise.all([1, 2, 3, 4].map(() => change({ enabled: true })));
  assert.equal((await told()).length, before + 1);
  await Promise.all([1, 2, 3, 4].map(() => change({ enabled: false })));
  assert.equal((await told()).length, before + 2);
});

test('maintenance is not changed if somebody else changed it meanwhile', async () => {
  const write = (json: object, headers: Record<string, string>) =>
    internal.call('/maintenance', { method: 'PUT', json, headers });
  const tag = (answer: { headers: Headers }) => answer.headers.get('etag') ?? '';
  const whenOff = tag(await internal.call('/maintenance'));
  const on = await write({ enabled: true }, { 'if-match': whenOff });
  assert.equal(on.status, 200);
  assert.equal(tag(on), tag(await internal.call('/maintenance')));
  for (const json of [{ enabled: true, message: 'Mine.' }, { enabled: false }]) {
    const refused = await write(json, { 'if-match': whenOff });
    assert.deepEqual([refused.status, refused.body.error.code], [412, 'precondition_failed']);
    assert.equal(refused.body.error.details.etag, tag(on));
  }
  assert.equal((await internal.call('/maintenance')).text, on.text);
  const both = await Promise.all(
    ['One.', 'Two.'].map((message) => write({ enabled: true, message }, { 'if-match': tag(on) })),
  );
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 412]);
  assert.equal((await write({ enabled: false }, { 'if-match': '*' })).status, 200);
});

test('contradictory maintenance requests are rejected', async () => {
  for (const [json, path] of [
    [{}, 'body.enabled'],
    [{ enabled: 'true' }, 'body.enabled'],
    [{ enabled: true, message: '' }, 'body.message'],
    [{ enabled: true, message: 'x'.repeat(501) }, 'body.message'],
    [{ enabled: true, expectedEnd: 'tomorrow' }, 'body.expectedEnd'],
    [{ enabled: true, until: null }, 'body.until'],
    [{ enabled: false, message: 'Over.' }, 'body.message'],
    [{ enabled: false, expectedEnd: '2027-01-31T12:00:00.000Z' }, 'body.expectedEnd'],
  ] as const) {
    const { status, body } = await change(json);
    assert.equal(status, 400, JSON.stringify(json));
    assert.equal(body.error.details.issues[0].path, path);
  }
  assert.deepEqual((await internal.call('/maintenance')).body.data, off);
});
