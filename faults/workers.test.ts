/** Workers that are killed, and workers that freeze and wake. */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { sql } from '../service/src/database/database.ts';
import { scenario } from './scenario.ts';
import type { WorkerProcess } from './worker-process.ts';
import { leaseMs, type World } from './world.ts';

const kills = 30;
/** One in this many workers is killed while it starts. */
const livesPerEarlyKill = 6;
const maintenancePauseMs = 500;

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

scenario(
  'four workers, two frozen and one killed, among vacuums',
  { interrupts: true },
  async (world) => {
    // It leads, so most of the work is its own; the others take part only as far as it is full.
    const first = world.startWorker();
    await first.started;
    const others = Array.from({ length: 3 }, () => world.startWorker());
    await Promise.all(others.map(({ started }) => started));
    const [second, third] = others as [WorkerProcess, WorkerProcess];
    let hasEnded = false;
    const maintaining = maintain(world, () => hasEnded);
    const frozen = Promise.all([freeze(world, first), freeze(world, second)]);
    await world.moment(leaseMs);
    await world.fault(() => third.kill());
    await frozen;
    hasEnded = true;
    await maintaining;
  },
);

/** Vacuums and analyses the queue at random moments, as autovacuum may. */
async function maintain(world: World, isOver: () => boolean): Promise<void> {
  const tables = ['outbox', 'pending_deliveries', 'webhook_outcomes'];
  while (!isOver()) {
    const table = sql.table(tables[world.random.below(tables.length)] ?? '');
    const command = world.random.below(2) === 0 ? sql`vacuum` : sql`analyze`;
    await sql`${command} ${table}`.execute(world.database);
    await world.moment(maintenancePauseMs);
  }
}

/** Freezes a worker until others have recovered its leases, and wakes it. */
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
 * An expired lease is found within a second, perhaps by a worker that is then frozen or killed; the rest allows for a busy
 * machine.
 */
const takeOverDeadlineMs = leaseMs + 10_000;

/** Resolves when no lease from before is left. */
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
    select lease_token as token, count(*) as deliveries, min(due_at) - queue_now() as "runsOutIn"
    from pending_deliveries where lease_token is not null group by lease_token
  `.execute(database);
  return JSON.stringify(rows);
}
