/** Workers that are killed, and workers that freeze and wake. */
import assert from 'node:assert/strict';
import { allianceSlug } from '../harness/receivers.ts';
import { sql } from '../service/src/database/database.ts';
import { noLeaseFrom, until } from '../harness/world.ts';
import { endWell, scenario, smallScenario, type Scene } from './scenario.ts';
import type { Service } from '../harness/service.ts';
import { leaseMs } from '../harness/service.ts';

const kills = 30;
/** One in this many workers is killed while it starts. */
const livesPerEarlyKill = 6;
const maintenancePauseMs = 500;
const changeKills = 5;
const eventsPerFreeze = 40;
/** A second until the change is noted, one until its event is due, and the rest for a busy machine. */
const lastChangeMs = 20_000;

scenario(
  'kill -9 of the worker, 30 times',
  { publishEveryMs: 900, interrupts: true },
  async (scene) => {
    for (let life = 1; life <= kills; life += 1) {
      const worker = scene.startWorker();
      if (life % livesPerEarlyKill === 0) {
        await scene.moment(600);
        await scene.fault(() => worker.kill());
      } else {
        await worker.started;
        await scene.faultAfter(1, () => worker.kill());
      }
    }
    await scene.startWorkers(1);
  },
);

scenario('two workers, one frozen past its lease', { interrupts: true }, async (scene) => {
  // On a fast machine the other one sends everything meanwhile, and the next would have nothing in flight.
  for (const worker of await scene.startWorkers(2))
    await Promise.all([freeze(scene, worker), scene.publisher.publish(eventsPerFreeze)]);
});

scenario(
  'four workers, two frozen and one killed, among vacuums',
  { interrupts: true },
  async (scene) => {
    // It leads, so most of the work is its own; the others take part only as far as it is full.
    const [first] = (await scene.startWorkers(1)) as [Service];
    const [second, third] = (await scene.startWorkers(3)) as [Service, Service, Service];
    let hasEnded = false;
    const maintaining = maintain(scene, () => hasEnded);
    const frozen = Promise.all([freeze(scene, first), freeze(scene, second)]);
    await scene.moment(leaseMs);
    await scene.fault(() => third.kill());
    await frozen;
    hasEnded = true;
    await maintaining;
  },
);

smallScenario(
  'kill -9 while changes become events',
  { kinds: [{ behaviour: 'prompt', webhooks: 1, event: 'alliance.updated' }] },
  async (scene) => {
    let last = 0;
    let hasEnded = false;
    const changing = (async () => {
      while (!hasEnded) {
        last += 1;
        await sql`update alliances set description = ${`${last}`} where slug = ${allianceSlug}`.execute(
          scene.database,
        );
        await scene.moment(maintenancePauseMs);
      }
    })();
    const [first] = (await scene.startWorkers(1)) as [Service];
    let [one, other] = [first, scene.startWorker()];
    for (let life = 1; life <= changeKills; life += 1) {
      await other.started;
      await scene.faultAfter(1, () => one.kill());
      [one, other] = [other, scene.startWorker()];
    }
    await other.started;
    hasEnded = true;
    await changing;
    await until('the event of the last change', lastChangeMs, async () => {
      const { rows } = await sql<{ description: string }>`
        select data::jsonb->>'description' as description from events where name = 'alliance.updated'
        order by position desc limit 1
      `.execute(scene.database);
      return rows[0]?.description === `${last}`;
    });
    const { rows: events } = await sql<{ id: string; data: string }>`
      select id, data from events where name = 'alliance.updated'
    `.execute(scene.database);
    assert.equal(new Set(events.map(({ data }) => data)).size, events.length, 'none twice');
    for (const { id } of events) scene.publisher.committed.add(id);
    await endWell('killed while changes become events', scene);
  },
);

/** Vacuums and analyses the queue at random moments, as autovacuum may. */
async function maintain(scene: Scene, isOver: () => boolean): Promise<void> {
  const tables = ['outbox', 'pending_deliveries', 'webhook_outcomes'];
  while (!isOver()) {
    const table = sql.table(tables[scene.random.below(tables.length)] ?? '');
    const command = scene.random.below(2) === 0 ? sql`vacuum` : sql`analyze`;
    await sql`${command} ${table}`.execute(scene.database);
    await scene.moment(maintenancePauseMs);
  }
}

/** Freezes a worker until others have recovered its leases, and wakes it. */
async function freeze(scene: Scene, worker: Service): Promise<void> {
  await scene.faultAfter(200, async () => {
    worker.signal('SIGSTOP');
    try {
      await takenOver(scene, Date.now());
      await scene.moment(300);
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

async function takenOver({ database }: Scene, before: number): Promise<void> {
  await noLeaseFrom(database, before, takeOverDeadlineMs).catch(async (cause: unknown) => {
    throw new Error(`leases of frozen workers are left: ${await leases(database)}`, { cause });
  });
}

async function leases(database: Scene['database']): Promise<string> {
  const { rows } = await sql`
    select lease_token as token, count(*) as deliveries, min(due_at) - queue_now() as "runsOutIn"
    from pending_deliveries where lease_token is not null group by lease_token
  `.execute(database);
  return JSON.stringify(rows);
}
