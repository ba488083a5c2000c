import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { Loop } from '../../src/loop.ts';

const log = pino({ level: 'silent' });
const breath = () => new Promise((resolve) => setImmediate(resolve));

/** A run that the test ends. */
function heldTurn() {
  let begun = 0;
  let end: (result: number | Error) => void = () => {};
  let onBegin: () => void = () => {};
  return {
    count: () => begun,
    end: (result: number | Error) => end(result),
    /** Resolves when turn `count` has begun. */
    async begins(count: number) {
      while (begun < count) await new Promise<void>((resolve) => (onBegin = resolve));
    },
    turn: () => {
      begun += 1;
      onBegin();
      return new Promise<number>((resolve, reject) => {
        end = (result) => (typeof result === 'number' ? resolve(result) : reject(result));
      });
    },
  };
}

test('a loop runs once at a time, and once more if it was woken meanwhile', async () => {
  const held = heldTurn();
  const loop = new Loop({ name: 'test', turn: held.turn, log });
  loop.start();
  for (let count = 0; count < 100; count += 1) loop.wake();
  assert.equal(held.count(), 1);
  held.end(3_600_000);
  await held.begins(2);
  held.end(3_600_000);
  for (let count = 0; count < 10; count += 1) await breath();
  assert.equal(held.count(), 2);
  loop.wake();
  await held.begins(3);
  held.end(3_600_000);
  await loop.stop();
});

test('after a failure, only the timer starts the next run', async () => {
  const held = heldTurn();
  const loop = new Loop({ name: 'test', turn: held.turn, log });
  loop.start();
  held.end(new Error('the database is away'));
  for (let count = 0; count < 50; count += 1) {
    await breath();
    loop.wake();
  }
  assert.equal(held.count(), 1);
  await held.begins(2);
  held.end(3_600_000);
  await breath();
  loop.wake();
  await held.begins(3);
  held.end(0);
  await loop.stop();
});

test('stop waits for the current run, starts no other, and can be called twice', async () => {
  const held = heldTurn();
  const loop = new Loop({ name: 'test', turn: held.turn, log });
  await loop.stop();
  loop.wake();
  assert.equal(held.count(), 0);
  loop.start();
  let stopped = false;
  const stopping = Promise.all([loop.stop(), loop.stop()]).then(() => (stopped = true));
  loop.wake();
  await breath();
  assert.equal(stopped, false);
  held.end(0);
  await stopping;
  assert.equal(held.count(), 1);
});
