/** A database that is killed, alone or with its worker, restarted, or unavailable for long. */
import assert from 'node:assert/strict';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { sql, type Database } from '../service/src/database/database.ts';
import { commonEvent } from './behaviours.ts';
import { isEmpty, until } from './observe.ts';
import { endsInTime, endWell, scenario, smallScenario } from './scenario.ts';
import type { World } from './world.ts';

/** Requests between two faults: few enough that most of ten thousand deliveries remain for later faults. */
const requestsBetween = 1_000;
const longestMomentMs = 150;
/** Longer than a worker tries to record its attempts. */
const longOutageMs = 12_000;
/** More than the transactions of a worker and of its next events. */
const idsForgotten = 500;

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

smallScenario(
  'transaction ids used again after kill -9 of the database',
  { kinds: [{ behaviour: 'prompt', webhooks: 10, event: commonEvent }] },
  async (world) => {
    const { store } = world;
    // Transactions that were rolled back are not written to disk at once, so a crash forgets their ids.
    await appendFile(join(store.clusterDir, 'postgresql.conf'), "wal_writer_delay = '10s'\n");
    await store.stop();
    await store.start();
    await world.startWorker().started;
    await world.publisher.publish(1);
    await world.drained();
    // Another commit may have written them to disk after all.
    await until('a crash that forgets ids', 30_000, () => crashAfterRollbacks(world));
    await world.publisher.publish(1);
    await endWell('transaction ids used again', world);
  },
);

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

/** Returns whether the crash forgot transactions that the worker has seen end. */
async function crashAfterRollbacks(world: World): Promise<boolean> {
  const { database, store } = world;
  let last = 0;
  await world.fault(async () => {
    const killing = database.transaction().execute(async (tx) => {
      // Keeps the worker from most of its commits, which write everything before them to disk.
      await sql`lock table workers in exclusive mode`.execute(tx);
      for (let ids = 0; ids < idsForgotten; ids += 1) last = await rollBack(database);
      const since = new Date();
      await until('a look', 5_000, () => hasLooked(database, since));
      await store.kill();
    });
    await assert.rejects(killing);
    await store.start();
  });
  return (await rollBack(database)) < last;
}

/** Uses up a transaction id, and returns it. */
async function rollBack(database: Database): Promise<number> {
  const transaction = await database.startTransaction().execute();
  const { rows } = await sql<{ id: number }>`
    select pg_current_xact_id()::text::int as id
  `.execute(transaction);
  await transaction.rollback().execute();
  return rows[0]?.id ?? assert.fail();
}

/** Whether a worker has looked for events since then. */
async function hasLooked(database: Database, since: Date): Promise<boolean> {
  return !(await isEmpty(
    database,
    sql`select from pg_stat_activity where query like '%from outbox%' and state = 'idle' and query_start > ${since}
      and application_name like 'orgdir worker%'`,
  ));
}
