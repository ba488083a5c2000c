import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInFlight, type Slot } from '../src/webhooks/queue/in-flight.ts';

test('an attempt with a response frees its share of the webhook', () => {
  const inFlight = createInFlight();
  const slots = Array.from({ length: 8 }, () => inFlight.tryAdd('a') as Slot);
  assert.equal(inFlight.tryAdd('a'), null);
  assert.equal(inFlight.counts().get('a'), 8);
  slots[0]?.responded();
  assert.equal(inFlight.counts().get('a'), 7);
  assert.equal(inFlight.total(), 8, 'it is held until it is recorded');
  const next = inFlight.tryAdd('a') as Slot;
  assert.equal(inFlight.tryAdd('a'), null);
  for (const slot of [...slots, next]) slot.release();
  assert.deepEqual([inFlight.total(), inFlight.counts().size], [0, 0]);
});

test('a response that is reported twice frees one slot', () => {
  const inFlight = createInFlight();
  const first = inFlight.tryAdd('a') as Slot;
  const second = inFlight.tryAdd('a') as Slot;
  first.responded();
  first.responded();
  first.release();
  assert.deepEqual([inFlight.total(), inFlight.counts().get('a')], [1, 1]);
  second.release();
});

test('while new attempts fill a process there is no room, until a whole claim fits', () => {
  const inFlight = createInFlight();
  const slots: Slot[] = [];
  while (inFlight.room().total > 0) slots.push(inFlight.add(`webhook ${slots.length}`, false));
  const filled = slots.length;
  let calls = 0;
  inFlight.onRoom(() => (calls += 1));
  while (inFlight.room().total === 0) slots.pop()?.responded();
  assert.ok(inFlight.room().total > 1, 'not for one at a time');
  assert.ok(slots.length < filled && calls > 0, 'and who waits for it is called');
  for (const slot of slots) slot.release();
});

test('attempts that wait to be recorded are limited', async () => {
  const inFlight = createInFlight();
  const slots: Slot[] = [];
  for (;;) {
    const { total } = inFlight.room();
    if (total === 0) break;
    for (let index = 0; index < total; index += 1) {
      const slot = inFlight.add('a', false);
      slot.responded();
      slots.push(slot);
    }
  }
  assert.equal(inFlight.counts().size, 0, 'no receiver has anything to do');
  const called = new Promise<void>((resolve) => inFlight.onRoom(resolve));
  slots.pop()?.release();
  await called;
  assert.ok(inFlight.room().total > 0);
  for (const slot of slots) slot.release();
});
