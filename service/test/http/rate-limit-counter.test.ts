/** Which requests count together, and for how long. The clock is the test's. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressBucket, createRequestCounter } from '../../src/http/admission/rate-limit.ts';

const windowMs = 60_000;
const ownMax = 20_000;
const sharedMax = 8_192;

function create(most: number, bucketsMax?: number) {
  const clock = { at: 1_800_000_000_000 };
  const now = () => clock.at;
  const count = createRequestCounter(most, windowMs, { now, ...(bucketsMax && { bucketsMax }) });
  /** How many requests its bucket had left before this one. */
  const left = (address: string) => count(addressBucket(address)).remaining + 1;
  const isRefused = (address: string) => count(addressBucket(address)).exceeded;
  return { clock, count, left, isRefused };
}

/** Each in a /24 of its own, none below 10.0.0.0/8. */
const elsewhere = (index: number) => `${11 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}.1`;

test('a bucket counts to its limit and restarts when its window ends', () => {
  const { clock, count } = create(2);
  const resetAt = clock.at + windowMs;
  assert.deepEqual(count('a'), { remaining: 1, exceeded: false, resetAt });
  assert.deepEqual(count('a'), { remaining: 0, exceeded: false, resetAt });
  clock.at += windowMs - 1;
  assert.deepEqual(count('a'), { remaining: 0, exceeded: true, resetAt });
  clock.at += 1;
  assert.deepEqual(count('a'), { remaining: 1, exceeded: false, resetAt: clock.at + windowMs });
});

test('a clock that was set back refuses nobody for longer than a window', () => {
  const { clock, isRefused } = create(1);
  assert.ok(!isRefused('10.0.0.1'));
  assert.ok(isRefused('10.0.0.1'));
  clock.at -= 60 * windowMs;
  assert.ok(!isRefused('10.0.0.1'));
  assert.ok(isRefused('10.0.0.1'));
});

test('every bucket has its own window', () => {
  const { clock, count } = create(1);
  const begins = [0, 10_000, 59_999, 60_000, 75_000, 119_999, 300_000, 300_001];
  const start = clock.at;
  for (const begin of begins) {
    clock.at = start + begin;
    for (const earlier of begins.filter((other) => other < begin)) {
      const isOver = begin - earlier >= windowMs;
      if (!isOver) assert.equal(count(`of ${earlier}`).exceeded, true, `${earlier} at ${begin}`);
    }
    assert.equal(count(`of ${begin}`).resetAt, clock.at + windowMs);
  }
});

test('a full bucket stays full until its window ends, however many other addresses come', () => {
  const { clock, left, isRefused } = create(3);
  const limited = '10.0.0.1';
  while (!isRefused(limited)) continue;
  // Over two halves of a window, so that the others begin and end at other times.
  for (const half of [0, 1]) {
    clock.at += half * (windowMs / 2);
    for (let index = 0; index < 50_000; index += 1) left(elsewhere(half * 50_000 + index));
    assert.ok(isRefused(limited));
  }
  clock.at += windowMs / 2 - 1;
  // Afterwards it may share a bucket with one of the others, which is full.
  assert.ok(isRefused(limited));
});

test('at capacity, new addresses of one network share a bucket and the others keep theirs', () => {
  const [own4, ...shared4] = ['10.0.0.1', '10.0.1.1', '10.0.1.2', '::ffff:10.0.1.3'] as const;
  const [own6, ...shared6] = ['2001:db8:1:1::', '2001:db8:2:100::', '2001:db8:2:1ff::'] as const;
  for (const [own, shared] of [
    [own4, shared4],
    [own6, shared6],
  ] as const) {
    const { clock, left } = create(100);
    assert.equal(left(own), 100);
    for (let index = 1; index < ownMax; index += 1) left(elsewhere(index));
    for (const [index, address] of shared.entries()) assert.equal(left(address), 100 - index);
    assert.equal(left(own), 99);
    assert.equal(left(elsewhere(1)), 99);
    clock.at += windowMs;
    for (const address of shared) assert.equal(left(address), 100, 'there is room again');
  }
});

test('a network that shares a bucket keeps it until its window ends', () => {
  const { clock, left, isRefused } = create(3);
  for (let index = 0; index < ownMax; index += 1) left(elsewhere(index));
  clock.at += windowMs - 1;
  while (!isRefused('10.0.0.1')) continue;
  clock.at += 1;
  assert.ok(isRefused('10.0.0.1'));
  assert.ok(isRefused('10.0.0.2'));
  clock.at += windowMs - 1;
  assert.equal(left('10.0.0.1'), 3);
});

test('the number of buckets is limited', () => {
  const most = 1_000_000;
  const { clock, count } = create(most);
  const others = 40_000;
  // The first request in a bucket leaves one less than all.
  let made = 0;
  const ask = (bucket: string) => (made += count(bucket).remaining === most - 1 ? 1 : 0);
  for (const round of [1, 2]) {
    for (let index = 0; index < others; index += 1) {
      ask(addressBucket(elsewhere(index)));
      ask(addressBucket(`2001:${index >> 8}:${round}:${(index & 255).toString(16)}00::1`));
      ask(`name-${index}-${round}@example.org`);
    }
    assert.ok(made > round * ownMax);
    assert.ok(made <= round * (ownMax + sharedMax), `${made} after ${round}`);
    clock.at += windowMs;
  }
});

test('ids of stored rows always have a bucket of their own', () => {
  const { count } = create(10, Infinity);
  for (let index = 0; index < 50_000; index += 1) assert.equal(count(`id-${index}`).remaining, 9);
  for (let index = 0; index < 50_000; index += 1) assert.equal(count(`id-${index}`).remaining, 8);
});
