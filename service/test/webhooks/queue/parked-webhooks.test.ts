/** Tests what is remembered of webhooks with parked deliveries, without a database. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFloor } from '../../../src/runtime/floor.ts';
import { loadConfig } from '../../../src/settings/config.ts';
import { ParkedWebhooks } from '../../../src/webhooks/queue/dispatch/parked-webhooks.ts';
import { Room } from '../../../src/webhooks/queue/dispatch/room.ts';
import { loopbackAllowed } from '../../support/receiver.ts';

const { webhooks } = loadConfig(loopbackAllowed);
const start = () => new ParkedWebhooks(new Room(webhooks), createFloor(null));
const ids = ['a', 'b', 'c'];

test('a claim begins before the first of the deliveries that were parked, in whatever order they came', () => {
  for (const times of [
    [5_000, 9_000],
    [9_000, 5_000],
  ]) {
    const parked = start();
    parked.since.set('a', { atMs: 10_000 });
    for (const atMs of times) parked.add(['a'], atMs);
    assert.deepEqual(parked.since.get('a'), { atMs: 4_999 });
  }
  const parked = start();
  parked.since.set('a', { atMs: 10_000 });
  parked.add(['a']);
  assert.deepEqual(parked.since.get('a'), { atMs: -Infinity }, 'at an unknown time');
});

test('what an earlier process parked is claimed, also when more is parked before that has begun', () => {
  const parked = start();
  parked.add(['a']);
  assert.deepEqual([...parked.takeWithRoom(100).keys()], ['a']);
  parked.add(['a'], 9_000);
  assert.deepEqual(parked.since.get('a'), { atMs: -Infinity });
});

test('nobody waits behind channels that a chat platform has closed, and these go on when it opens', (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const room = new Room(webhooks);
  const parked = new ParkedWebhooks(room, createFloor(null));
  const channels = Array.from({ length: 2_500 }, (_, index) => index.toString(16).padStart(6, '0'));
  // 'a' answers as soon as they do, so it would be behind them.
  for (const webhookId of [...channels, 'a']) {
    const place = room.take({ webhookId, owner: '', url: 'https://discord.com/…', latencyMs: 1 });
    room.start(place, true);
    if (webhookId !== 'a') room.close(webhookId, 60_000);
    room.release(place);
  }
  parked.add(channels);
  parked.add(['a']);
  assert.deepEqual([...parked.takeWithRoom(100).keys()], ['a']);
  now = 60_000;
  const busy = Array.from(
    { length: 1_000 },
    (_, index) => `b${index.toString(16).padStart(6, '0')}`,
  );
  const taken = new Set<string>();
  for (let turn = 0; turn < 40; turn += 1) {
    parked.add(busy);
    for (const webhookId of parked.takeWithRoom(100).keys()) taken.add(webhookId);
  }
  assert.ok(
    channels.some((webhookId) => taken.has(webhookId)),
    'behind backlogs of others',
  );
});

test('where room is scarce, webhooks that answer at once do not wait behind others that are quick', (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const room = new Room(webhooks);
  const parked = new ParkedWebhooks(room, createFloor(null));
  const answer = (webhookId: string, ms: number) => {
    const place = room.take({ webhookId, owner: '', url: 'https://example.org/', latencyMs: ms });
    room.start(place, true);
    now += ms;
    room.release(place);
  };
  const others = Array.from({ length: 200 }, (_, index) => index.toString(16).padStart(6, '0'));
  for (const webhookId of others) answer(webhookId, 900);
  answer('a', 5);
  parked.add(others);
  parked.add(['a']);
  const [first, ...rest] = parked.takeWithRoom(64).keys();
  assert.equal(first, 'a');
  assert.ok(rest.length > 40, 'the others have the rest');
});

test('those that are taken get no more than the room that there is, and the others are kept', () => {
  // Each may have two until its first attempt has ended.
  for (const [most, expected] of [
    [0, []],
    [1, [1]],
    [3, [1, 1, 1]],
    [100, [2, 2, 2]],
  ] as const) {
    const parked = start();
    parked.add(ids, 5_000);
    assert.deepEqual([...parked.takeWithRoom(most).values()], expected);
    assert.deepEqual(
      ids.map((id) => parked.has(id)),
      ids.map((_, index) => index >= expected.length),
    );
  }
});

/** Parks deliveries of webhooks whose last attempts took so long. */
function startWith(latencies: [webhookIds: string[], latencyMs: number][]) {
  const room = new Room(webhooks);
  const parked = new ParkedWebhooks(room, createFloor(null));
  const url = 'https://example.org/';
  for (const [webhookIds, latencyMs] of latencies) {
    for (const webhookId of webhookIds)
      room.release(room.take({ webhookId, owner: webhookId, url, latencyMs }));
    parked.add(webhookIds);
  }
  return parked;
}

test('slow webhooks are claimed also when nothing else may be', () => {
  const slow = Array.from({ length: 140 }, (_, index) => index.toString(16).padStart(6, '0'));
  const parked = startWith([
    [['aaaaaa'], 5],
    [slow, 2_000],
    [['bbbbbb'], 9_000],
  ]);
  const taken = parked.takeWithRoom(0);
  assert.deepEqual([...taken.keys()], slow.slice(0, taken.size));
  assert.equal(taken.size, 96, 'three quarters of the webhooks of a claim, because others wait');
});

test('backlogs of quick webhooks leave some room to slower ones', () => {
  const quick = Array.from({ length: 500 }, (_, index) => index.toString(16).padStart(6, '0'));
  const slow = ['aaaaaa', 'bbbbbb'];
  const parked = startWith([
    [quick, 5],
    [slow, 2_000],
    [['cccccc'], 9_000],
  ]);
  for (const [most, expected] of [
    [100, 75],
    // As many webhooks as one claim has.
    [1_000, 96],
  ] as const) {
    const taken = [...parked.takeWithRoom(most).keys()];
    assert.equal(taken.filter((id) => quick.includes(id)).length, expected);
    assert.deepEqual(taken.slice(expected, expected + 3), [...slow, 'cccccc']);
    parked.add(taken);
  }
});
