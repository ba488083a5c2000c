/** A database that is killed, alone or with its worker, restarted, or unavailable for long. */
import assert from 'node:assert/strict';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { sql, type Database } from '../service/src/database/database.ts';
import { commonEvent } from '../harness/publisher.ts';
import { isEmpty, until } from '../harness/world.ts';
import { endWell, scenario, shortMs, smallScenario, type Scene } from './scenario.ts';

/** Requests between two faults: few enough that most of ten thousand deliveries remain for later faults. */
const requestsBetween = 1_000;
/** Longer than a worker tries to record its attempts. */
const longOutageMs = 12_000;
/** More than the transactions of a worker and of its next events. */
const idsForgotten = 500;

scenario('kill -9 of the database, 5 times', {}, async ({ store, ...scene }) => {
  const [worker] = await scene.startWorkers(1);
  for (let time = 1; time <= 5; time += 1) {
    await scene.faultAfter(requestsBetween, async () => {
      await store.kill();
      await scene.moment(shortMs);
      await store.start();
    });
  }
  assert.equal(worker?.hasEnded(), false);
});

smallScenario(
  'transaction ids used again after kill -9 of the database',
  { kinds: [{ behaviour: 'prompt', webhooks: 10, event: commonEvent }] },
  async (scene) => {
    const { store } = scene;
    // Transactions that were rolled back are not written to disk at once, so a crash forgets their ids.
    await appendFile(join(store.clusterDir, 'postgresql.conf'), "wal_writer_delay = '10s'\n");
    await store.stop();
    await store.start();
    await scene.startWorkers(1);
    await scene.publisher.publish(1);
    await scene.drained();
    // Another commit may have written them to disk after all.
    await until('a crash that forgets ids', 30_000, () => crashAfterRollbacks(scene));
    await scene.publisher.publish(1);
    await endWell('transaction ids used again', scene);
  },
);

scenario('kill -9 of both, 4 times', { interrupts: true }, async ({ store, ...scene }) => {
  for (let time = 1; time <= 4; time += 1) {
    const [worker] = await scene.startWorkers(1);
    await scene.faultAfter(requestsBetween, async () => {
      await Promise.all([store.kill(), worker?.kill()]);
      await store.start();
    });
  }
  await scene.startWorkers(1);
});

scenario('restart of the database, 3 times', {}, async ({ store, ...scene }) => {
  const [worker] = await scene.startWorkers(1);
  for (const stop of [store.stop, store.abort, store.stop]) {
    await scene.faultAfter(requestsBetween, async () => {
      await stop();
      await store.start();
    });
  }
  assert.equal(worker?.hasEnded(), false);
});

scenario('a database that is away for long', {}, async ({ store, ...scene }) => {
  const [staying, leaving] = await scene.startWorkers(2);
  await scene.faultAfter(requestsBetween, async () => {
    await store.kill();
    await scene.moment(shortMs);
    const back = wait(longOutageMs);
    assert.deepEqual(await leaving?.stop(), { code: 0, signal: null });
    await back;
    await store.start();
  });
  assert.equal(staying?.hasEnded(), false);
});

/** Returns whether the crash forgot transactions that the worker has seen end. */
async function crashAfterRollbacks(scene: Scene): Promise<boolean> {
  const { database, store } = scene;
  let last = 0;
  await scene.fault(async () => {
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
