/** A database that is killed, alone or with its worker, restarted, or unavailable for long. */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { endsInTime, scenario } from './scenario.ts';

/** Requests between two faults: few enough that most of ten thousand deliveries remain for later faults. */
const requestsBetween = 1_000;
const longestMomentMs = 150;
/** Longer than a worker tries to record its attempts. */
const longOutageMs = 12_000;

scenario('kill -9 of the database, 5 times', {}, async ({ store, ...world }) => {
  const worker = world.startWorker();
  await worker.started;
  for (let time = 1; time <= 5; time += 1) {
    await world.receivers.more(requestsBetween);
    await world.moment(longestMomentMs);
    await world.fault(async () => {
      await store.kill();
      await world.moment(longestMomentMs);
      await store.start();
    });
  }
  assert.equal(worker.hasEnded(), false);
});

scenario('kill -9 of both, 4 times', { interrupts: true }, async ({ store, ...world }) => {
  for (let time = 1; time <= 4; time += 1) {
    const worker = world.startWorker();
    await worker.started;
    await world.receivers.more(requestsBetween);
    await world.moment(longestMomentMs);
    await world.fault(async () => {
      await Promise.all([store.kill(), worker.kill()]);
      await store.start();
    });
  }
  await world.startWorker().started;
});

scenario('restart of the database, 3 times', {}, async ({ store, ...world }) => {
  const worker = world.startWorker();
  await worker.started;
  for (const stop of [store.stop, store.abort, store.stop]) {
    await world.receivers.more(requestsBetween);
    await world.moment(longestMomentMs);
    await world.fault(async () => {
      await stop();
      await store.start();
    });
  }
  assert.equal(worker.hasEnded(), false);
});

scenario('a database that is away for long', {}, async ({ store, ...world }) => {
  const [staying, leaving] = [world.startWorker(), world.startWorker()];
  await Promise.all([staying.started, leaving.started]);
  await world.receivers.more(requestsBetween);
  await world.fault(async () => {
    await store.kill();
    await world.moment(longestMomentMs);
    leaving.signal('SIGTERM');
    const back = wait(longOutageMs);
    await endsInTime(leaving.ended);
    assert.deepEqual(await leaving.ended, { code: 0, signal: null });
    await back;
    await store.start();
  });
  assert.equal(staying.hasEnded(), false);
});
