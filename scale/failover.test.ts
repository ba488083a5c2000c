/**
 * A primary that dies under load, and a synchronous standby that is promoted: nothing acknowledged is lost, every
 * delivery arrives, and every process finds the new primary by itself.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { loadavg } from 'node:os';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { commonEvent } from '../faults/behaviours.ts';
import { checkLedger } from '../faults/check-ledger.ts';
import { createWebhooks } from '../faults/create-webhooks.ts';
import { readRecords, type Fault } from '../faults/ledger.ts';
import { startReceivers } from '../faults/receivers.ts';
import { startWorkerProcess } from '../faults/worker-process.ts';
import { drained, shortTimes } from '../faults/world.ts';
import { createPlatformKey } from '../service/src/access/keys.ts';
import { sql, type Database } from '../service/src/database/database.ts';
import { openConfiguredDatabase } from '../service/src/start/open-database.ts';
import { createSecretBox } from '../service/src/runtime/secret-box.ts';
import { addressesOf } from './addresses.ts';
import { followInSync, stopWaiting } from './cluster.ts';
import { createLoad, type Load } from './load.ts';
import { createServer, startPrimary, urlOf, type PostgresServer } from './postgres.ts';

const failovers = Number(process.env['SCALE_FAILOVERS'] ?? 3);
const eventsPerSecond = Number(process.env['SCALE_EVENTS_PER_SECOND'] ?? 200);
const recoveryMsMax = 10_000;
const loadMs = 1_000;
/** So many that no webhook's limit of attempts in flight is what limits the worker. */
const webhooks = 100;
const aftermathMs = 1_000;
const pollMs = 20;
const actor = { kind: 'system', id: null, name: 'scale' } as const;

test(
  `${failovers} failovers under ${eventsPerSecond} events per second`,
  { timeout: 1_800_000 },
  async (t) => {
    const servers = { primary: await startPrimary('first'), standby: await createServer('second') };
    const databaseUrl = urlOf(servers.primary, servers.standby);
    const key = randomBytes(32);
    const opened = await openConfiguredDatabase(
      { databaseUrl, dataDir: '' },
      { purpose: 'tool', applicationName: 'scale harness' },
    );
    t.after(() => opened.close());
    const { database } = opened;
    await followInSync(servers.primary, servers.standby, database);
    const receivers = await startReceivers([
      { behaviour: 'prompt', webhooks, event: commonEvent, ownAlliances: true },
    ]);
    t.after(() => receivers.stop());
    receivers.sendSecrets(
      await createWebhooks(database, createSecretBox([key]), receivers.addresses),
    );
    const { key: platformKey } = await database
      .transaction()
      .execute((tx) => createPlatformKey(tx, actor, { name: 'Load', expiresAt: null }));
    const env = { ...shortTimes, SECRET_KEY: key.toString('base64'), DATABASE_URL: databaseUrl };
    const api = startWorkerProcess([], { ...env, ROLES: 'api' });
    const worker = startWorkerProcess([], { ...env, ROLES: 'worker' });
    t.after(() => Promise.all([api.kill(), worker.kill()]));
    await Promise.all([api.started, worker.started]);
    const load = createLoad(addressesOf(api).internalAddress, {
      key: platformKey,
      alliances: receivers.addresses.map(({ alliance }) => alliance),
      eventsPerSecond,
    });
    const faults: Fault[] = [];
    const recoveries: Recovery[] = [];
    for (let time = 1; time <= failovers; time += 1) {
      const running = load.run();
      await wait(loadMs);
      const before = load.committed.size;
      await wait(1_000);
      const acknowledgedInLastSecond = load.committed.size - before;
      const from = Date.now();
      const { primary, standby } = servers;
      // The last one hangs, and comes back when the other is the primary.
      const hangs = time === failovers;
      const thaw = hangs ? primary.freeze() : () => {};
      if (!hangs) await primary.kill();
      const recovery = await failOver(standby, load, database);
      const machine = { acknowledgedInLastSecond, loadAverage: loadavg()[0] };
      console.log(`failover ${time}: ${JSON.stringify({ ...recovery, ...machine })}`);
      recoveries.push(recovery);
      thaw();
      faults.push({ from, until: Date.now() + aftermathMs });
      await wait(aftermathMs);
      load.pause();
      await running;
      await drained(database);
      if (hangs) await primary.kill();
      await followInSync(standby, primary, database);
      Object.assign(servers, { primary: standby, standby: primary });
    }
    await load.close();
    const { counts, wrong } = checkLedger({
      ...(await readRecords(database)),
      committed: load.committed,
      uncertain: new Set(),
      received: await receivers.report(),
      faults,
    });
    for (const process of [api, worker])
      assert.equal(process.stdout().split('database.moved').length - 1, failovers);
    assert.deepEqual([...wrong.slice(0, 10), ...load.wrong.slice(0, 10)], []);
    const { deliveredMs } = summarize(recoveries);
    t.diagnostic(
      `${JSON.stringify(summarize(recoveries))}, refused requests: ${load.refused()}, ${JSON.stringify(counts)}`,
    );
    assert.ok(deliveredMs.max < recoveryMsMax);
  },
);

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
  await untilDone(() => stopWaiting(database));
  const { id, acknowledgedMs } = await acknowledged;
  await untilDone(async () => {
    const { rows } = await sql`
      select from deliveries where event_id = ${id} and status = 'succeeded'
    `.execute(database);
    if (rows.length === 0) throw new Error('not yet');
  });
  return { acknowledgedMs, deliveredMs: sincePromotion() };
}

async function untilDone(act: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await act();
    } catch {
      await wait(pollMs);
    }
  }
}

function summarize(recoveries: Recovery[]) {
  return { acknowledgedMs: spread('acknowledgedMs'), deliveredMs: spread('deliveredMs') };

  function spread(name: keyof Recovery): { p50: number; max: number } {
    const sorted = recoveries.map((each) => Math.round(each[name])).sort((a, b) => a - b);
    return { p50: sorted[Math.floor(sorted.length / 2)] ?? 0, max: sorted.at(-1) ?? 0 };
  }
}
