import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInFlight, type Place } from '../src/webhooks/queue/in-flight.ts';

test('an attempt that has its answer takes nothing of its webhook’s share, recorded or not', () => {
  const inFlight = createInFlight();
  const places = Array.from({ length: 8 }, () => inFlight.take('a') as Place);
  assert.equal(inFlight.take('a'), null);
  assert.equal(inFlight.counts().get('a'), 8);
  places[0]?.responded();
  assert.equal(inFlight.counts().get('a'), 7);
  assert.equal(inFlight.total(), 8, 'it is held until it is recorded');
  const next = inFlight.take('a') as Place;
  assert.equal(inFlight.take('a'), null);
  for (const place of [...places, next]) place.release();
  assert.deepEqual([inFlight.total(), inFlight.counts().size], [0, 0]);
});

test('an answer that is told twice frees one place', () => {
  const inFlight = createInFlight();
  const first = inFlight.take('a') as Place;
  const second = inFlight.take('a') as Place;
  first.responded();
  first.responded();
  first.release();
  assert.deepEqual([inFlight.total(), inFlight.counts().get('a')], [1, 1]);
  second.release();
});

test('while new attempts fill a process there is no room, until there is some for a whole claim', () => {
  const inFlight = createInFlight();
  const places: Place[] = [];
  while (inFlight.room().total > 0) places.push(inFlight.add(`webhook ${places.length}`, false));
  const filled = places.length;
  let calls = 0;
  inFlight.onRoom(() => (calls += 1));
  while (inFlight.room().total === 0) places.pop()?.responded();
  assert.ok(inFlight.room().total > 1, 'not for one at a time');
  assert.ok(places.length < filled && calls > 0, 'and who waits for it is called');
  for (const place of places) place.release();
});

test('what waits to be recorded is bounded too', async () => {
  const inFlight = createInFlight();
  const places: Place[] = [];
  for (;;) {
    const { total } = inFlight.room();
    if (total === 0) break;
    for (let index = 0; index < total; index += 1) {
      const place = inFlight.add('a', false);
      place.responded();
      places.push(place);
    }
  }
  assert.equal(inFlight.counts().size, 0, 'no receiver has anything to do');
  const called = new Promise<void>((resolve) => inFlight.onRoom(resolve));
  places.pop()?.release();
  await called;
  assert.ok(inFlight.room().total > 0);
  for (const place of places) place.release();
});
