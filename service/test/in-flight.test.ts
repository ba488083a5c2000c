import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { InFlight } from '../src/webhooks/queue/in-flight.ts';

type Ends = (() => void)[];

const owner = 'owner@example.org';
const a = '0198f2a4-5b7c-7d3e-9f10-00000000000a';
const many = (count: number) =>
  Array.from({ length: count }, (_, n) => `0198f2a4-5b7c-7d3e-9f10-${String(n).padStart(12, '0')}`);

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

/** Starts as many attempts as the webhook may have. */
function fill(inFlight: InFlight, webhookId = a): Ends {
  const ends: Ends = [];
  for (;;) {
    const end = inFlight.start(webhookId, owner);
    if (!end) return ends;
    ends.push(end);
  }
}

function endAll(ends: Ends): void {
  for (const end of ends.splice(0)) end();
}

/** Starts one attempt for each, of as many as may start. */
function startEach(inFlight: InFlight, webhooks: string[], of = owner): Ends {
  return webhooks.flatMap((id) => inFlight.start(id, of) ?? []);
}

/** Quick responses until the webhook may have all that one may have. */
function warmUp(inFlight: InFlight): void {
  for (let times = 0; times < 3; times += 1) endAll(fill(inFlight));
}

test('a new webhook starts with two attempts and gains one with each quick response', (t) => {
  mockClock(t);
  const inFlight = new InFlight();
  assert.equal(inFlight.roomOf(a), 2);
  const ends = fill(inFlight);
  assert.equal(ends.length, 2);
  ends.pop()?.();
  const more = fill(inFlight);
  assert.equal(more.length, 2, 'one is free, and one was gained');
  endAll([...ends, ...more]);
  assert.equal(inFlight.roomOf(a), 6);
  endAll(fill(inFlight));
  assert.equal(inFlight.roomOf(a), 8, 'and never more');
  assert.equal(inFlight.total(), 0);
});

test('a slow response shrinks what a webhook may have, and quick ones let it grow again', (t) => {
  const clock = mockClock(t);
  const inFlight = new InFlight();
  for (const [tookMs, expected] of [
    [1_000, 8],
    [2_000, 4],
    [5_000, 1],
    [60_000, 1],
  ] as const) {
    warmUp(inFlight);
    const end = inFlight.start(a, owner);
    clock.pass(tookMs);
    end?.();
    assert.equal(inFlight.roomOf(a), expected, `${tookMs} ms`);
  }
  endAll(fill(inFlight));
  assert.equal(inFlight.roomOf(a), 2);
});

test('a webhook that does not respond shrinks before its attempts end', (t) => {
  const clock = mockClock(t);
  const inFlight = new InFlight();
  warmUp(inFlight);
  const ends = [inFlight.start(a, owner)];
  clock.pass(4_000);
  ends.push(...fill(inFlight));
  assert.equal(ends.length, 2);
  endAll(ends.map((end) => end ?? assert.fail()));
});

test('a quick webhook gets its next deliveries before its running ones end, and others do not', (t) => {
  const clock = mockClock(t);
  const inFlight = new InFlight();
  const leasable = () => inFlight.room().byWebhook[a];
  assert.equal(leasable(), undefined, 'nothing is known of it');
  const first = fill(inFlight);
  assert.equal(leasable(), 0);
  endAll(first);
  warmUp(inFlight);
  const ends = fill(inFlight);
  assert.deepEqual([ends.length, leasable()], [8, 8]);
  const endWaits = [inFlight.wait(a, owner), inFlight.wait(a, owner)];
  assert.equal(leasable(), 6);
  endAll(endWaits);
  clock.pass(2_000);
  assert.equal(leasable(), 0, 'it has become slow');
  endAll(ends);
});

test('a webhook that shares its limit with other processes gets no more ahead than it can start in time', (t) => {
  const clock = mockClock(t);
  const inFlight = new InFlight();
  inFlight.setShare(0, 8);
  for (const [tookMs, expected] of [
    [5, 8],
    [100, 5],
    [400, 1],
    [900, 0],
  ] as const) {
    const [end] = fill(inFlight);
    clock.pass(tookMs);
    end?.();
    const ends = fill(inFlight);
    assert.deepEqual([ends.length, inFlight.room().byWebhook[a]], [1, expected], `${tookMs} ms`);
    endAll(ends);
  }
});

test('deliveries that wait for their turn use up the room of their webhook', () => {
  const inFlight = new InFlight();
  const endWait = inFlight.wait(a, owner);
  assert.deepEqual([inFlight.roomOf(a), inFlight.room().byWebhook[a]], [1, 1]);
  endWait();
  assert.deepEqual([inFlight.roomOf(a), inFlight.room().byWebhook], [2, {}]);
});

test('slow webhooks of one owner have an eighth of all attempts, and their quick ones are not affected', (t) => {
  const clock = mockClock(t);
  const inFlight = new InFlight();
  const webhooks = many(200);
  const first = startEach(inFlight, webhooks);
  clock.pass(3_000);
  endAll(first);
  const slow = startEach(inFlight, webhooks);
  assert.equal(slow.length, 128);
  assert.equal(inFlight.roomOf(webhooks[199] ?? ''), 0);
  assert.equal(startEach(inFlight, [a]).length, 1);
  slow.pop()?.();
  // It has just been quick, so it is not slow any more.
  assert.equal(startEach(inFlight, webhooks.slice(150)).length, 1);
});

test('slow webhooks of all owners together have half of all attempts', (t) => {
  const clock = mockClock(t);
  const inFlight = new InFlight();
  const webhooks = many(700);
  const owners = Map.groupBy(webhooks, (id) => `owner-${webhooks.indexOf(id) % 7}@example.org`);
  const startAll = () => [...owners].flatMap(([of, ids]) => startEach(inFlight, ids, of));
  const first = startAll();
  clock.pass(3_000);
  endAll(first);
  assert.equal(startAll().length, 512);
  assert.equal(startEach(inFlight, [a]).length, 1);
});

test('a process has at most 1,024 attempts under way', () => {
  const inFlight = new InFlight();
  assert.equal(startEach(inFlight, many(1_100)).length, 1_024);
  assert.equal(inFlight.total(), 1_024);
  assert.equal(inFlight.roomOf(many(1)[0] ?? ''), 0);
});

test('while new attempts fill a process nothing is leased, until a larger lease fits', (t) => {
  const clock = mockClock(t);
  const inFlight = new InFlight();
  let calls = 0;
  inFlight.onRoom = () => (calls += 1);
  assert.equal(inFlight.room().total, 768);
  const ends = startEach(inFlight, many(513));
  assert.equal(inFlight.room().total, 0);
  ends.pop()?.();
  assert.deepEqual([inFlight.room().total, calls], [256, 1], 'who waits for it is called');
  const last = inFlight.start(a, owner);
  assert.equal(inFlight.room().total, 0);
  clock.pass(300);
  assert.deepEqual([inFlight.room().total, calls], [511, 2], 'they wait for their receivers');
  last?.();
});

test('attempts that wait to be recorded are limited', () => {
  const inFlight = new InFlight();
  const releases = Array.from({ length: 1_792 }, () => inFlight.hold());
  assert.equal(inFlight.room().total, 256);
  releases.push(inFlight.hold());
  assert.equal(inFlight.room().total, 0, 'a smaller lease is not worth its statement');
  let calls = 0;
  inFlight.onRoom = () => (calls += 1);
  releases.pop()?.();
  assert.deepEqual([inFlight.room().total, calls], [256, 1]);
});

test('the end of an attempt is announced for its webhook', () => {
  const inFlight = new InFlight();
  const ended: string[] = [];
  inFlight.onWebhookRoom = (id) => ended.push(id);
  endAll(fill(inFlight));
  assert.deepEqual(ended, [a, a]);
});

test('a blocked webhook gets no attempts until it is unblocked', () => {
  const inFlight = new InFlight();
  inFlight.setBlocked([a]);
  assert.deepEqual([inFlight.roomOf(a), inFlight.start(a, owner)], [0, null]);
  assert.equal(inFlight.room().byWebhook[a], 0);
  inFlight.setBlocked([]);
  const ends = fill(inFlight);
  assert.equal(ends.length, 2);
  inFlight.setBlocked([a]);
  assert.equal(inFlight.room().byWebhook[a], 0);
  endAll(ends);
  assert.equal(inFlight.start(a, owner), null);
});

test('a process has no more of a webhook than its share', () => {
  const inFlight = new InFlight();
  warmUp(inFlight);
  const shares = Array.from({ length: 12 }, (_, place) => {
    inFlight.setShare(place, 12);
    const ends = fill(inFlight);
    const count = ends.length;
    endAll(ends);
    return count;
  });
  assert.deepEqual(
    shares.toSorted((x, y) => x - y),
    [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1],
  );
});
