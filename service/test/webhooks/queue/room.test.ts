/** Tests how many attempts may be in flight in a process, by what is known of their webhooks. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  leaseWaitMs,
  Room,
  type Place,
  type Speed,
} from '../../../src/webhooks/queue/dispatch/room.ts';

const timeoutMs = 10_000;
const a = '0198f2a4-5b7c-7d3e-9f10-00000000000a';
const latencies: Record<Speed, number | null> = {
  quick: 5,
  slow: 2_000,
  stuck: 9_000,
  unknown: null,
};

/** The clock by which attempts age, and the timer that looks at it. */
function mockClock(t: TestContext): { pass(ms: number): void } {
  let nowMs = 1_000;
  t.mock.method(performance, 'now', () => nowMs);
  t.mock.timers.enable({ apis: ['setInterval'] });
  return {
    pass(ms) {
      nowMs += ms;
      t.mock.timers.tick(ms);
    },
  };
}

let webhooksNamed = 0;

/** New webhooks, each of an owner and on a host of its own if nothing else is said. */
function webhooks(count: number, speed: Speed, { owner = '', host = '' } = {}) {
  return Array.from({ length: count }, () => {
    webhooksNamed += 1;
    const webhookId = `0198f2a4-5b7c-7d3e-9f10-${String(webhooksNamed).padStart(12, '0')}`;
    return {
      webhookId,
      owner: owner || `${webhooksNamed}@example.org`,
      url: `https://${host || `${webhooksNamed}.example.org`}/hook`,
      latencyMs: latencies[speed],
    };
  });
}

type Webhook = ReturnType<typeof webhooks>[number];

/** Starts an attempt of each; those without room leave. */
function start(room: Room, some: Webhook[]): Place[] {
  return some.flatMap((webhook) => {
    const place = room.take(webhook);
    if (room.start(place)) return place;
    room.release(place);
    return [];
  });
}

/** Starts as many attempts of one webhook as it may have. */
function fill(room: Room, webhook: Webhook): Place[] {
  const places: Place[] = [];
  for (;;) {
    const [place] = start(room, [webhook]);
    if (!place) return places;
    places.push(place);
  }
}

function endAll(room: Room, places: Place[]): void {
  for (const place of places.splice(0)) room.release(place);
}

function one(speed: Speed): Webhook {
  return { ...(webhooks(1, speed)[0] as Webhook), webhookId: a };
}

test('a webhook has two attempts until the first has ended, then as many as it answers in eight seconds', (t) => {
  const clock = mockClock(t);
  for (const [tookMs, expected] of [
    [5, 8],
    [1_000, 8],
    [2_000, 4],
    [5_000, 1],
    [60_000, 1],
  ] as const) {
    const room = new Room({ timeoutMs });
    const places = fill(room, one('unknown'));
    assert.equal(places.length, 2);
    clock.pass(tookMs);
    endAll(room, places);
    assert.equal(fill(room, one('unknown')).length, expected, `${tookMs} ms`);
  }
});

test('what the database knows of a webhook holds from the start of a process, and again when nothing newer is known', (t) => {
  const clock = mockClock(t);
  const room = new Room({ timeoutMs });
  endAll(room, start(room, [one('slow')]));
  assert.equal(room.speedOf(a), 'quick', 'it has just answered at once');
  endAll(room, start(room, [one('slow')]));
  assert.equal(room.speedOf(a), 'quick');
  clock.pass(6_000);
  room.release(room.take(one('slow')));
  assert.equal(room.speedOf(a), 'slow');
});

test('a webhook that falls silent gets no more attempts until one of them ends', (t) => {
  const clock = mockClock(t);
  const room = new Room({ timeoutMs });
  assert.equal(start(room, [one('quick')]).length, 1);
  clock.pass(4_000);
  assert.equal(room.speedOf(a), 'stuck');
  assert.equal(fill(room, one('quick')).length, 0);
  const slow = { ...one('slow'), webhookId: a.replace('a', 'b') };
  start(room, [slow]);
  clock.pass(3_900);
  assert.equal(room.speedOf(slow.webhookId), 'slow');
  clock.pass(200);
  assert.equal(room.speedOf(slow.webhookId), 'stuck');
});

test('a quick webhook gets as many deliveries again, which wait for their turn; others do not', () => {
  const room = new Room({ timeoutMs });
  assert.equal(room.leasable(a), 2, 'nothing is known of it');
  endAll(room, start(room, [one('quick')]));
  assert.equal(room.leasable(a), 16);
  const running = fill(room, one('quick'));
  const waiting = [1, 2].map(() => room.take(one('quick')));
  assert.equal(room.leasable(a), 6);
  assert.deepEqual(
    waiting.map((place) => [room.start(place), room.mayWait(place)]),
    [
      [false, true],
      [false, true],
    ],
  );
  room.end(running[0] as Place);
  assert.deepEqual(
    waiting.map((place) => room.start(place)),
    [true, false],
  );
  const slow = room.take({ ...one('slow'), webhookId: a.replace('a', 'b') });
  assert.equal(room.start(slow), true);
  assert.equal(room.mayWait(slow), false);
});

for (const [speed, most, slow] of [
  ['stuck', 512, 256],
  ['unknown', 640, 128],
  ['slow', 768, 0],
  ['quick', 1_024, 128],
] as const)
  test(`attempts of ${speed} webhooks fill up to ${most} of 1,152`, () => {
    const room = new Room({ timeoutMs });
    assert.equal(start(room, webhooks(1_200, speed)).length, most);
    assert.equal(room.freeFor(speed), 0);
    assert.equal(start(room, webhooks(1_200, 'slow')).length, slow);
    assert.equal(start(room, webhooks(1_200, 'quick')).length, 1_152 - most - slow);
  });

test('quick webhooks that fall silent together take no room that is kept for slow ones', (t) => {
  const clock = mockClock(t);
  const room = new Room({ timeoutMs });
  start(room, webhooks(1_024, 'quick'));
  clock.pass(1_100);
  assert.deepEqual([room.free('parked'), room.freeForSlow()], [0, 128]);
  for (const speed of ['stuck', 'unknown', 'quick'] as const)
    assert.equal(start(room, webhooks(1, speed)).length, 0, speed);
  const slow = start(room, webhooks(200, 'slow'));
  assert.equal(slow.length, 128);
  endAll(room, slow.splice(0, 31));
  assert.equal(room.freeForSlow(), 0, 'a smaller lease is not worth its statement');
  endAll(room, slow.splice(0, 1));
  assert.equal(room.freeForSlow(), 32);
  const waiting = webhooks(1, 'slow').map((webhook) => room.take(webhook));
  assert.equal(room.freeForSlow(), 0, 'leased deliveries count before they start');
  endAll(room, waiting);
  assert.equal(room.freeForSlow(), 32);
});

test('quick webhooks that fall silent together leave room for the others', (t) => {
  const clock = mockClock(t);
  const room = new Room({ timeoutMs });
  const usual = webhooks(10, 'quick');
  endAll(room, start(room, usual));
  const silent = webhooks(160, 'quick');
  // However many events each of the first ones gets.
  for (const some of [silent.slice(0, 80), silent.slice(80)])
    for (let event = 0; event < 8; event += 1) start(room, some);
  assert.equal(room.total(), 640 + 80, 'one each from then on');
  const answering = usual.flatMap((webhook) => start(room, [webhook, webhook, webhook, webhook]));
  assert.equal(answering.length, 40);
  endAll(room, answering);
  assert.equal(room.free('broadcast'), 0);
  clock.pass(300);
  assert.equal(room.forFanOut(room.free('event')).full.length, 160, 'they are late');
  const place = room.take(silent[0] as Webhook);
  assert.deepEqual([room.start(place), room.mayWait(place)], [false, false]);
  room.release(place);
  clock.pass(800);
  assert.equal(start(room, silent).length, 0, 'and leave room for slow ones, too');
  assert.equal(start(room, webhooks(40, 'slow')).length, 40);
  assert.ok(room.free('event') > 0);
});

test('in a crowded process a quick webhook that answers as usual goes on', (t) => {
  const clock = mockClock(t);
  const room = new Room({ timeoutMs });
  start(room, webhooks(640, 'unknown'));
  const usual = { ...one('quick'), latencyMs: 300 };
  const places = fill(room, usual);
  assert.equal(places.length, 1, 'nothing was heard of it for a while');
  clock.pass(300);
  room.end(places[0] as Place);
  places.push(...fill(room, usual));
  assert.equal(places.length, 1 + 4);
  clock.pass(800);
  assert.equal(room.mayWait(room.take(usual)), true);
  room.end(places.at(-1) as Place);
  clock.pass(100);
  assert.equal(room.mayWait(room.take(usual)), true, 'one request may take longer');
});

test('slow attempts of one owner have an eighth, and those of one host and port a quarter', () => {
  const room = new Room({ timeoutMs });
  const owner = 'owner@example.org';
  assert.equal(start(room, webhooks(200, 'slow', { owner })).length, 128);
  const [more] = webhooks(1, 'slow', { owner });
  assert.ok(more);
  assert.equal(start(room, [more]).length, 0);
  assert.equal(room.leasable(more.webhookId), 0, 'it is not leased again');
  assert.equal(start(room, webhooks(50, 'quick', { owner })).length, 50);
  assert.equal(start(room, webhooks(400, 'slow', { host: 'one.example.org:8443' })).length, 256);
  assert.equal(start(room, webhooks(400, 'slow', { host: 'one.example.org' })).length, 256);
});

test('slow attempts that end make room for others of their owner', () => {
  const room = new Room({ timeoutMs });
  const [first, second] = webhooks(2, 'slow', { owner: 'owner@example.org' });
  const places = start(room, webhooks(200, 'slow', { owner: 'owner@example.org' }));
  assert.equal(start(room, [first as Webhook]).length, 0);
  room.end(places[0] as Place);
  assert.equal(start(room, [second as Webhook]).length, 1);
});

test('while a process is full nothing is leased, until a larger lease fits', () => {
  const room = new Room({ timeoutMs });
  let calls = 0;
  room.onRoom = (id) => void (calls += id === null ? 1 : 0);
  const works = ['event', 'parked', 'broadcast'] as const;
  assert.deepEqual(
    works.map((work) => room.free(work)),
    [1_024, 768, 512],
  );
  const places = start(room, webhooks(769, 'quick'));
  assert.equal(room.free('event'), 0);
  room.release(places.pop() as Place);
  assert.deepEqual([room.free('event'), calls], [256, 1], 'who waits for it is called');
});

test('broadcasts leave room for backlogs, and both for new events, whatever is slow', () => {
  for (const slow of [0, 512, 768]) {
    const room = new Room({ timeoutMs });
    const works = ['event', 'parked', 'broadcast'] as const;
    const free = () => works.map((work) => room.free(work));
    // Slow webhooks have 128 of these for themselves.
    const quarter = ((slow > 0 ? 1_152 : 1_024) - slow) / 4;
    start(room, webhooks(slow, 'slow'));
    assert.deepEqual(free(), [4 * quarter, 3 * quarter, 2 * quarter]);
    // Whether they wait for their turn or are in flight.
    const waiting = webhooks(quarter, 'quick').map((webhook) => room.take(webhook));
    start(room, webhooks(quarter, 'quick'));
    assert.deepEqual(free(), [2 * quarter, quarter, 0], 'broadcasts have filled theirs');
    start(room, webhooks(quarter, 'quick'));
    assert.deepEqual(free(), [quarter, 0, 0], 'backlogs have filled theirs');
    endAll(room, waiting);
  }
});

test('a backlog that new events have kept waiting goes before them, once', (t) => {
  const clock = mockClock(t);
  const room = new Room({ timeoutMs });
  let calls = 0;
  room.onRoom = (id) => void (calls += id === null ? 1 : 0);
  const free = (isWaiting = true) => [room.free('event'), room.free('parked', isWaiting)];
  // Events fill the process again as soon as a quarter of it is free.
  const waiting = webhooks(768, 'quick').map((webhook) => room.take(webhook));
  assert.deepEqual(free(), [256, 0]);
  clock.pass(leaseWaitMs - 1);
  assert.deepEqual(free(), [256, 0]);
  clock.pass(1);
  room.release(waiting.pop() as Place);
  assert.equal(calls, 1, 'it is called');
  assert.deepEqual(free(), [0, 257]);
  assert.deepEqual(free(), [257, 0]);
  clock.pass(leaseWaitMs);
  assert.deepEqual(free(false), [0, 257], 'it has ended meanwhile');
  assert.deepEqual(free(false), [257, 0]);
  clock.pass(leaseWaitMs);
  assert.deepEqual(free(false), [257, 0]);
});

test('a backlog that has enough in flight takes nothing from new events', (t) => {
  const clock = mockClock(t);
  const room = new Room({ timeoutMs });
  const free = () => [room.free('event'), room.free('parked')];
  const parked = webhooks(64, 'quick').map((webhook) => room.take(webhook, 'parked'));
  for (const webhook of webhooks(704, 'quick')) room.take(webhook);
  assert.deepEqual(free(), [256, 0]);
  clock.pass(leaseWaitMs);
  assert.deepEqual(free(), [256, 0]);
  room.release(parked.pop() as Place);
  assert.deepEqual(free(), [0, 257]);
});

test('a broadcast that backlogs have kept waiting goes before them, once', (t) => {
  const clock = mockClock(t);
  const room = new Room({ timeoutMs });
  let calls = 0;
  room.onRoom = (id) => void (calls += id === null ? 1 : 0);
  const free = () => (['event', 'parked', 'broadcast'] as const).map((work) => room.free(work));
  // Backlogs fill their part again as soon as a quarter of the whole is free.
  const waiting = webhooks(512, 'quick').map((webhook) => room.take(webhook));
  assert.deepEqual(free(), [512, 256, 0]);
  clock.pass(leaseWaitMs);
  room.release(waiting.pop() as Place);
  assert.equal(calls, 1, 'it is called');
  assert.deepEqual(free(), [257, 257, 513]);
  assert.deepEqual(free(), [513, 257, 0]);
});

test('a broadcast whose own receivers do not answer takes nothing from backlogs', (t) => {
  const clock = mockClock(t);
  const room = new Room({ timeoutMs });
  const free = () => (['event', 'parked', 'broadcast'] as const).map((work) => room.free(work));
  const slices = webhooks(64, 'quick').map((webhook) => room.take(webhook, 'broadcast'));
  for (const webhook of webhooks(448, 'quick')) room.take(webhook);
  assert.deepEqual(free(), [512, 256, 0]);
  clock.pass(leaseWaitMs);
  assert.deepEqual(free(), [512, 256, 0]);
  room.release(slices.pop() as Place);
  assert.deepEqual(free(), [257, 257, 513]);
});

test('one of several processes leases ahead what its webhook answers within 100 ms', (t) => {
  const clock = mockClock(t);
  const room = new Room({ timeoutMs });
  room.setShare(0, 4);
  for (const [latencyMs, leasable] of [
    [5, 2 + 8],
    [50, 2 + 4],
    [300, 2 + 1],
    [0, 2 + 8],
  ] as const) {
    const places = start(room, [one('quick')]);
    clock.pass(latencyMs);
    endAll(room, places);
    assert.equal(room.leasable(a), leasable);
  }
});

test('attempts that wait to be recorded are limited', () => {
  const room = new Room({ timeoutMs });
  const places = start(room, webhooks(900, 'quick'));
  for (const place of places) room.end(place);
  places.push(...start(room, webhooks(893, 'quick')));
  for (const place of places) room.end(place);
  assert.equal(room.free('event'), 0, 'a smaller lease is not worth its statement');
  let calls = 0;
  room.onRoom = (id) => void (calls += id === null ? 1 : 0);
  const slow = webhooks(224, 'slow').map((webhook) => room.take(webhook));
  for (const place of slow) room.start(place, true);
  for (const place of slow) room.end(place);
  assert.equal(room.freeForSlow(), 0, 'nor of slow ones');
  endAll(room, slow);
  assert.equal(room.freeForSlow(), 128);
  calls = 0;
  room.release(places.pop() as Place);
  assert.deepEqual([room.free('event'), calls], [256, 1]);
});

test('the end of an attempt of a quick webhook is announced', (t) => {
  const clock = mockClock(t);
  const room = new Room({ timeoutMs });
  const ended: string[] = [];
  room.onRoom = (id) => void (id !== null && ended.push(id));
  endAll(room, fill(room, one('unknown')));
  assert.deepEqual(ended, [a, a]);
  const places = start(room, [one('unknown')]);
  clock.pass(2_000);
  endAll(room, places);
  assert.deepEqual(ended, [a, a]);
});

test('a blocked webhook gets no attempts until it is unblocked', () => {
  const room = new Room({ timeoutMs });
  room.setBlocked([a]);
  assert.deepEqual([room.leasable(a), start(room, [one('quick')])], [0, []]);
  assert.deepEqual(room.forFanOut(1).full, [a]);
  room.setBlocked([]);
  assert.equal(fill(room, one('quick')).length, 8);
});

test('a chat channel has one attempt at a time, and none until its platform may be called again', (t) => {
  const clock = mockClock(t);
  const room = new Room({ timeoutMs });
  const chat = {
    format: 'slack' as const,
    sealedUrl: Buffer.alloc(0),
    template: 1,
    gate: { now: 0, openAt: 0, closedSince: 0 },
  };
  const channel = { ...one('quick'), chat };
  const places = fill(room, channel);
  assert.equal(places.length, 1);
  clock.pass(5);
  room.close(a, 5_000);
  endAll(room, places);
  // A shorter wait that another response asks for does not open it sooner.
  room.close(a, 10);
  clock.pass(4_999);
  assert.deepEqual([room.leasable(a), start(room, [channel])], [0, []]);
  clock.pass(1);
  assert.equal(fill(room, channel).length, 1);
});

test('a process has no more of a webhook than its share', () => {
  const shares = Array.from({ length: 12 }, (_, place) => {
    const room = new Room({ timeoutMs });
    room.setShare(place, 12);
    return fill(room, one('quick')).length;
  });
  assert.deepEqual(
    shares.toSorted((x, y) => x - y),
    [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1],
  );
});

test('only the most that a webhook may have in flight refuses a test', () => {
  const room = new Room({ timeoutMs });
  assert.equal(start(room, webhooks(1_024, 'quick')).length, 1_024);
  const tests = Array.from({ length: 9 }, () => room.takeTest(one('unknown')));
  assert.deepEqual([tests.filter(Boolean).length, tests.at(-1)], [8, null]);
});
