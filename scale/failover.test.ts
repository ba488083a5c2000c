/**
 * A primary that dies under load, and a synchronous standby that is promoted: nothing acknowledged is lost, every
 * delivery arrives, and every process finds the new primary by itself.
 */
import assert from 'node:assert/strict';
import { loadavg } from 'node:os';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { checkLedger } from '../harness/check-ledger.ts';
import { quantile } from '../harness/figures.ts';
import { createServer, startPrimary, urlOf, type PostgresServer } from '../harness/postgres.ts';
import { commonEvent } from '../harness/publisher.ts';
import { cleanUpsOf } from '../harness/run.ts';
import { makePlatformKey } from '../harness/subscribers.ts';
import { isEmpty, openServer, openWorld, until } from '../harness/world.ts';
import { sql, type Database } from '../service/src/database/database.ts';
import { createLoad, type Load } from './load.ts';

const failovers = Number(process.env['SCALE_FAILOVERS'] ?? 3);
const perSecond = Number(process.env['SCALE_EVENTS_PER_SECOND'] ?? 200);
const recoveryMsMax = 10_000;
const loadMs = 1_000;
/** So many that no webhook's limit of attempts in flight is what limits the worker. */
const webhooks = 100;
const settleMs = 1_000;
/** Longer than anything that is waited for, on a busy machine too. */
const giveUpMs = 300_000;

test(
  `${failovers} failovers under ${perSecond} events per second`,
  { timeout: 1_800_000 },
  async (t) => {
    const cleanUps = cleanUpsOf(t);
    const servers = { primary: await startPrimary('first'), standby: await createServer('second') };
    const url = urlOf(servers.primary, servers.standby);
    const database = await openServer(url, cleanUps);
    await followInSync(servers.primary, servers.standby, database);
    const kind = { behaviour: 'prompt', webhooks, event: commonEvent, ownAlliances: true } as const;
    const world = await openWorld(database, { kinds: [kind] }, cleanUps);
    const api = world.start({ ROLES: 'api', DATABASE_URL: url });
    const worker = world.start({ ROLES: 'worker', DATABASE_URL: url });
    const [{ internalAddress }] = await Promise.all([api.started, worker.started]);
    const load = createLoad(internalAddress, {
      key: await makePlatformKey(database),
      alliances: world.receivers.addresses.map(({ alliance }) => alliance),
      perSecond,
    });
    const recoveries: Recovery[] = [];
    for (let time = 1; time <= failovers; time += 1) {
      const running = load.run();
      await wait(loadMs);
      const before = load.committed.size;
      await wait(1_000);
      const acknowledgedInLastSecond = load.committed.size - before;
      const { primary, standby } = servers;
      // The last one hangs, and comes back when the other is the primary.
      const hangs = time === failovers;
      await world.fault(async () => {
        const thaw = hangs ? primary.freeze() : () => {};
        if (!hangs) await primary.kill();
        const recovery = await failOver(standby, load, database);
        const machine = { acknowledgedInLastSecond, loadAverage: loadavg()[0] };
        console.log(`failover ${time}: ${JSON.stringify({ ...recovery, ...machine })}`);
        recoveries.push(recovery);
        thaw();
      });
      await wait(settleMs);
      load.pause();
      await running;
      await world.drained();
      if (hangs) await primary.kill();
      await followInSync(standby, primary, database);
      Object.assign(servers, { primary: standby, standby: primary });
    }
    await load.close();
    const { counts, wrong } = checkLedger(await world.ledger(load.committed));
    for (const process of [api, worker])
      assert.equal(process.stdout().split('database.moved').length - 1, failovers);
    assert.deepEqual([...wrong.slice(0, 10), ...load.wrong.slice(0, 10)], []);
    const summary = {
      acknowledgedMs: spread(recoveries.map(({ acknowledgedMs }) => acknowledgedMs)),
      deliveredMs: spread(recoveries.map(({ deliveredMs }) => deliveredMs)),
    };
    t.diagnostic(
      `${JSON.stringify(summary)}, refused requests: ${load.refused()}, ${JSON.stringify(counts)}`,
    );
    assert.ok(summary.deliveredMs.max < recoveryMsMax);
  },
);

/**
 * Makes `standby` a new standby of the primary, and lets commits wait for it. Resolves when they do, so from then on
 * nothing that was acknowledged is lost with the primary.
 */
async function followInSync(
  primary: PostgresServer,
  standby: PostgresServer,
  database: Database,
): Promise<void> {
  await standby.follow(primary);
  await setSynchronous(database, '*');
  const inSync = sql`select from pg_stat_replication where sync_state = 'sync'`;
  await until('a synchronous standby', giveUpMs, async () => !(await isEmpty(database, inSync)));
}

/** Commits wait for these standbys. */
async function setSynchronous(database: Database, names: string): Promise<void> {
  await sql`alter system set synchronous_standby_names = ${sql.lit(names)}`.execute(database);
  await sql`select pg_reload_conf()`.execute(database);
}

/** How long after the promotion an event was acknowledged, and its delivery recorded. */
type Recovery = { acknowledgedMs: number; deliveredMs: number };

async function failOver(
  standby: PostgresServer,
  load: Load,
  database: Database,
): Promise<Recovery> {
  await standby.promote();
  const promotedAt = performance.now();
  const sincePromotion = () => performance.now() - promotedAt;
  const acknowledged = load.acknowledged().then((id) => ({ id, acknowledgedMs: sincePromotion() }));
  const retry = (act: () => Promise<boolean>) =>
    until('the new primary', giveUpMs, () => act().catch(() => false));
  // A promoted server has no standby, and its commits wait until it is told so.
  await retry(() => setSynchronous(database, '').then(() => true));
  const { id, acknowledgedMs } = await acknowledged;
  const delivered = sql`select from deliveries where event_id = ${id} and status = 'succeeded'`;
  await retry(async () => !(await isEmpty(database, delivered)));
  return { acknowledgedMs, deliveredMs: sincePromotion() };
}

function spread(values: number[]): { p50: number; max: number } {
  return { p50: Math.round(quantile(values, 0.5)), max: Math.round(Math.max(...values)) };
}
