import assert from 'node:assert/strict';
import { test } from 'node:test';
import { publishEvent } from '../../src/directory/publish-in-groups.ts';
import { sql } from '../../src/database/database.ts';
import { addSubject } from '../support/directory.ts';
import { endedDelivery } from '../support/eventually.ts';
import { queueDrained } from '../support/queue.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { commandsOn } from '../support/run-here.ts';
import { makeKey, startTestService, testPublicUrl } from '../support/service.ts';

const service = await startTestService({
  worker: true,
  env: { ...loopbackAllowed, WEBHOOK_RETRY_BASE_MS: '1', WEBHOOK_RETRY_FACTOR: '1' },
});
const acme = { slug: 'acme', name: 'Acme' };
const bindTo = await addSubject(service.database, 'organization', acme);
const bound = await makeKey(service, { bindTo });
const { run, json } = commandsOn(service);
const list = (...words: string[]): Promise<any[]> => json(...words);

function publish(name: string, data: unknown = null): Promise<string> {
  return service.database
    .transaction()
    .execute((tx) =>
      publishEvent(tx, { name, org: 'acme', alliance: null, data, publicUrl: testPublicUrl }),
    );
}

async function register(path: string, statusCode: number): Promise<{ id: string; secret: string }> {
  const receiver = await startReceiver((response) => response.writeHead(statusCode).end());
  const { body } = await service.call('/webhooks', {
    method: 'POST',
    key: bound.key,
    json: { url: `${receiver.url}${path}` },
  });
  return body.data;
}

const good = await register('/good', 200);
const bad = await register('/bad', 500);
const application = { id: 'a-1', applicantHandle: 'ada', submittedAt: '2026-11-20T12:00:00.000Z' };
const announced = await publish('org.created');
const applied = await publish('application.created', application);
await endedDelivery(service, good.id);
await endedDelivery(service, bad.id);
await queueDrained(service.database);

test('events list shows recorded events, newest first, with subject and data', async () => {
  const events = await list('events', 'list');
  assert.deepEqual(
    events.map(({ id, event, org: about, state }) => [id, event, about, state]),
    [
      [applied, 'application.created', 'acme', 'distributed'],
      [announced, 'org.created', 'acme', 'distributed'],
    ],
  );
  assert.deepEqual(events[0].data.application, application);
});

test('events list filters by name, time and limit', async () => {
  const ids = async (...words: string[]) =>
    (await list('events', 'list', ...words)).map(({ id }) => id);
  assert.deepEqual(await ids('--event', 'org.created'), [announced]);
  assert.deepEqual(await ids('--limit', '1'), [applied]);
  assert.deepEqual(await ids('--since', new Date().toISOString()), []);
  await sql`update events set created_at = now() - interval '25 hours' where id = ${announced}`.execute(
    service.database,
  );
  assert.deepEqual(await ids(), [applied], 'a day unless told otherwise');
  const since = new Date(Date.now() - 26 * 3_600_000).toISOString();
  assert.deepEqual(await ids('--since', since), [applied, announced]);
});

test('an event that was not fanned out is waiting', async () => {
  await service.worker.stop();
  const id = await publish('org.created');
  const [newest] = await list('events', 'list', '--limit', '1');
  assert.deepEqual([newest.id, newest.state], [id, 'waiting']);
  service.worker.start();
  await queueDrained(service.database);
});

test('deliveries list shows the deliveries of all webhooks with their last attempt', async () => {
  const found = await list('deliveries', 'list', '--event', 'application.created');
  assert.deepEqual(
    new Map(
      found.map((each) => [
        each.webhookId,
        [each.status, each.attemptCount, each.lastAttempt.statusCode],
      ]),
    ),
    new Map([
      [good.id, ['succeeded', 1, 200]],
      [bad.id, ['failed', 6, 500]],
    ]),
  );
  const times = (await list('deliveries', 'list')).map(({ id }) => id);
  assert.deepEqual(times, [...times].sort().toReversed(), 'newest first');
});

test('deliveries list filters by webhook, status, time and limit', async () => {
  const narrowed = (...words: string[]) => list('deliveries', 'list', ...words);
  const failed = await narrowed('--status', 'failed');
  assert.ok(failed.length > 0);
  assert.ok(failed.every(({ webhookId, status }) => webhookId === bad.id && status === 'failed'));
  const ofOne = await narrowed('--webhook', good.id);
  assert.ok(ofOne.length > 0);
  assert.ok(ofOne.every(({ webhookId }) => webhookId === good.id));
  assert.equal((await narrowed('--limit', '2')).length, 2);
  assert.deepEqual(await narrowed('--since', new Date().toISOString()), []);
});

test('a time of what has happened must not be in the future', async () => {
  const explain = ['--event', 'org.created', '--subject', 'acme', '--at', '2099-01-01'];
  for (const words of [
    ['deliveries', 'list', '--since', '2099-01-01'],
    ['events', 'list', '--since', '2099-01-01'],
    ['audit', 'list', '--since', '2099-01-01'],
    ['replay', '--webhook', good.id, '--since', '2099-01-01'],
    ['explain', '--webhook', good.id, ...explain],
  ]) {
    const { code, stderr } = await run(...words);
    assert.equal(code, 2, words.join(' '));
    assert.match(stderr, /must not be in the future/);
  }
  const range = ['--since', '2026-11-20', '--until', '2026-11-19'];
  const { code, stderr } = await run('replay', '--webhook', good.id, ...range);
  assert.equal(code, 2);
  assert.match(stderr, /^error: --until must not be before --since$/m);
});

test('no list shows a secret, a whole key, or more of a URL than its host', async () => {
  for (const noun of ['webhooks', 'deliveries', 'events', 'keys', 'apps']) {
    for (const form of [[], ['--json']]) {
      const { stdout: shown } = await run(noun, 'list', ...form);
      assert.notEqual(shown.trim(), '');
      for (const hidden of [good.secret, bad.secret, 'whsec_', service.key, bound.key, '/good'])
        assert.ok(!shown.includes(hidden), `${noun}: ${hidden.slice(0, 6)}`);
    }
  }
});
