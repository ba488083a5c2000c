/** Replays and redeliveries as somebody would use them against one host: 20 webhooks of an app, all at the same receiver. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sql } from '../../src/database/database.ts';
import { redeliveriesPerMinute } from '../../src/http/webhooks/operation.ts';
import { replaysPerSecond } from '../../src/webhooks/replay/replay.ts';
import { announce, put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { startTestService } from '../support/service.ts';

const webhooksPerApp = 20;
/** docs/reference/deliveries.md#how-many-at-once */
const atOnceMax = 8;
const events = 30;
const service = await startTestService({ env: loopbackAllowed, worker: true });
const { database } = service;
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);

/** Responds after `delayMs`, and counts how many requests are in flight. */
async function startHost(delayMs: number) {
  const host = { most: 0, inFlight: 0 };
  const timers = new Set<NodeJS.Timeout>();
  after(() => timers.forEach(clearTimeout));
  const receiver = await startReceiver((response) => {
    host.inFlight += 1;
    host.most = Math.max(host.most, host.inFlight);
    const timer = setTimeout(() => {
      host.inFlight -= 1;
      timers.delete(timer);
      response.writeHead(200).end();
    }, delayMs);
    timers.add(timer);
  });
  return { receiver, host };
}

async function post(path: string, json?: object) {
  return service.call(path, { method: 'POST', json: json ?? {} });
}

async function makeWebhooks(url: string): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < webhooksPerApp; index += 1) {
    const { status, body } = await post('/webhooks', {
      url: `${url}/${index}`,
      events: ['org.created'],
    });
    assert.equal(status, 201);
    ids.push(body.data.id);
  }
  return ids;
}

const setActive = (ids: string[], active: boolean) =>
  Promise.all(
    ids.map((id) => service.call(`/webhooks/${id}`, { method: 'PATCH', json: { active } })),
  );

/** Events that the webhooks miss. */
async function miss(ids: string[]): Promise<void> {
  await setActive(ids, false);
  for (let count = 0; count < events; count += 1) await announce(database);
  await eventually(async () => {
    const { rows } = await sql`select from outbox`.execute(database);
    return rows.length === 0;
  });
  await setActive(ids, true);
}

test('replays send each missed event once, at a bounded rate and number at once, and a second one nothing', async () => {
  const since = new Date(Date.now() - 1_000).toISOString();
  const { receiver, host } = await startHost(20);
  const ids = await makeWebhooks(receiver.url);
  await miss(ids);
  for (const id of ids) assert.equal((await post(`/webhooks/${id}/replay`, { since })).status, 202);
  const received = await receiver.waitFor(ids.length * events);
  assert.ok(host.most <= ids.length * atOnceMax, `${host.most} at once`);
  for (const index of ids.keys()) {
    const own = received.filter(({ path }) => path.endsWith(`/${index}`));
    assert.equal(new Set(own.map(({ headers }) => headers['webhook-id'])).size, events);
    assert.equal(own.length, events);
  }
  // The last of a webhook starts no earlier than its place in the row.
  const times = received.map(({ at }) => at);
  const tookMs = Math.max(...times) - Math.min(...times);
  assert.ok(tookMs >= ((events - 1) * 1_000) / replaysPerSecond - 250, `${tookMs} ms`);
  for (const id of ids) {
    const again = await post(`/webhooks/${id}/replay`, { since });
    const { missed, failed, cancelled } = again.body.data;
    assert.deepEqual([again.status, missed, failed, cancelled], [202, 0, 0, 0]);
  }
  const refused = await post(`/webhooks/${ids[0]}/recover`, { since });
  for (let sent = 2 * ids.length + 1; sent < redeliveriesPerMinute; sent += 1)
    await post(`/webhooks/${ids[0]}/recover`, { since });
  assert.equal(refused.status, 202);
  assert.equal((await post(`/webhooks/${ids[1]}/recover`, { since })).status, 429);
  assert.equal(receiver.received.length, ids.length * events);
});
