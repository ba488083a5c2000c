/** Workers that are killed, and workers that freeze and wake. */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { sql } from '../service/src/database/database.ts';
import { recoveryLeaseMs } from '../service/src/webhooks/queue/recover-leases.ts';
import { scenario } from './scenario.ts';
import type { WorkerProcess } from './worker-process.ts';
import { leaseMs, type World } from './world.ts';

const kills = 30;
/** In one of so many lives the kill comes while it still starts. */
const livesPerEarlyKill = 6;

scenario(
  'kill -9 of the worker, 30 times',
  { publishEveryMs: 900, interrupts: true },
  async (world) => {
    for (let life = 1; life <= kills; life += 1) {
      const worker = world.startWorker();
      if (life % livesPerEarlyKill === 0) await world.moment(600);
      else {
        await worker.started;
        await world.receivers.more(1);
        await world.moment(150);
      }
      await world.fault(() => worker.kill());
    }
    await world.startWorker().started;
  },
);

scenario('two workers, one frozen past its lease', { interrupts: true }, async (world) => {
  const [first, second] = [world.startWorker(), world.startWorker()];
  await Promise.all([first.started, second.started]);
  for (const worker of [first, second]) await freeze(world, worker);
});

scenario('four workers, two frozen and one killed', { interrupts: true }, async (world) => {
  const workers = Array.from({ length: 4 }, () => world.startWorker());
  await Promise.all(workers.map(({ started }) => started));
  const [first, second, third] = workers as [WorkerProcess, WorkerProcess, WorkerProcess];
  const frozen = Promise.all([freeze(world, first), freeze(world, second)]);
  await world.moment(leaseMs);
  await world.fault(() => third.kill());
  await frozen;
});

/** Stops a worker amid its work until others have taken over all that it held, and wakes it. */
async function freeze(world: World, worker: WorkerProcess): Promise<void> {
  await world.receivers.more(200);
  await world.moment(150);
  await world.fault(async () => {
    worker.signal('SIGSTOP');
    try {
      await takenOver(world, Date.now());
      await world.moment(300);
    } finally {
      worker.signal('SIGCONT');
    }
  });
}

/**
 * A lease has run out, and is found within a second, maybe by a worker that is frozen or killed before it has recorded
 * anything; the rest is for a busy machine.
 */
const takeOverDeadlineMs = leaseMs + recoveryLeaseMs + 10_000;

/** Resolves when no lease is left of those that were taken before. */
async function takenOver({ database }: World, before: number): Promise<void> {
  const deadline = Date.now() + takeOverDeadlineMs;
  for (;;) {
    const { rows } = await sql<{ count: number }>`
      select count(*) from pending_deliveries where leased_at <= to_timestamp(${before / 1000}::float8)
    `.execute(database);
    if (rows[0]?.count === 0) return;
    if (Date.now() > deadline)
      assert.fail(
        `${rows[0]?.count} deliveries of frozen workers are still leased: ${await leases(database)}`,
      );
    await wait(50);
  }
}

async function leases(database: World['database']): Promise<string> {
  const { rows } = await sql`
    select token, cardinality(delivery_ids) as deliveries, leased_until - queue_now() as "runsOutIn" from leases
  `.execute(database);
  return JSON.stringify(rows);
}
