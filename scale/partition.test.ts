/**
 * A machine whose links go down for longer than its leases, and come up again: the others take its deliveries over, and it
 * sends none after its leases are over.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { allianceSlug, commonEvent } from '../faults/behaviours.ts';
import { checkLedger } from '../faults/check-ledger.ts';
import { createWebhooks } from '../faults/create-webhooks.ts';
import { readRecords } from '../faults/ledger.ts';
import { createPublisher } from '../faults/publisher.ts';
import { startReceivers } from '../faults/receivers.ts';
import { startWorkerProcess } from '../faults/worker-process.ts';
import { drained, leaseMs, shortTimes } from '../faults/world.ts';
import { sql, type Database } from '../service/src/database/database.ts';
import { openConfiguredDatabase } from '../service/src/start/open-database.ts';
import { createSecretBox } from '../service/src/runtime/secret-box.ts';
import { missingForMachines, startMachine } from './machine.ts';
import { startPrimary, urlOf } from './postgres.ts';

/** How much longer than a lease a link is down. */
const beyondLeaseMs = Number(process.env['SCALE_FAULT_MS'] ?? 500);
/** By then the server has noticed that the machine is gone (`service/src/database/database.ts`). */
const lostMsMax = 16_000;
const leaderLock = 70420013;
/** Ended leases are looked for once a second; the rest allows for a busy machine. */
const takeOverMsMax = leaseMs + 5_000;
const aftermathMs = 1_000;
const publishEveryMs = 100;
/** More deliveries than the leader has room for, so all workers hold some when the link is cut. */
const eventsBeforeCut = 100;
const requestsBeforeCut = 500;
const eventsAtLast = 20;
const pollMs = 20;

test(
  'a worker machine is cut off from the database, then from everything, and comes back',
  { timeout: 600_000, skip: missingForMachines() },
  async (t) => {
    const machine = await startMachine();
    t.after(() => machine.stop());
    const toDatabase = await machine.connect();
    const toReceivers = await machine.connect();
    const primary = await startPrimary('primary', toDatabase);
    const databaseUrl = urlOf(primary);
    const key = randomBytes(32);
    const opened = await openConfiguredDatabase(
      { databaseUrl, dataDir: '' },
      { purpose: 'tool', applicationName: 'scale harness' },
    );
    t.after(() => opened.close());
    const { database } = opened;
    const receivers = await startReceivers(
      [{ behaviour: 'slow', webhooks: 20, event: commonEvent }],
      toReceivers.near,
    );
    t.after(() => receivers.stop());
    receivers.sendSecrets(
      await createWebhooks(database, createSecretBox([key]), receivers.addresses),
    );
    const env = { ...shortTimes, SECRET_KEY: key.toString('base64'), ROLES: 'worker' };
    // The first one leads.
    const distantUrl = databaseUrl.replace('127.0.0.1', toDatabase.near);
    const distant = startWorkerProcess(
      [],
      { ...env, DATABASE_URL: distantUrl },
      { enter: machine.enter },
    );
    t.after(() => distant.kill());
    await distant.started;
    const others = [1, 2].map(() => startWorkerProcess([], { ...env, DATABASE_URL: databaseUrl }));
    t.after(() => Promise.all(others.map((each) => each.kill())));
    await Promise.all(others.map(({ started }) => started));

    const publisher = createPublisher(database, allianceSlug);
    const publishing = publisher.publishSlowly(Infinity, publishEveryMs);
    const cuts: { cutAt: number; takenOverAt: number; mendedAt: number; leads: boolean }[] = [];
    for (const links of [[toDatabase], [toDatabase, toReceivers]]) {
      await publisher.publish(eventsBeforeCut);
      await receivers.more(requestsBeforeCut);
      for (const link of links) await link.cut();
      const cutAt = Date.now();
      const isOver = wait(leaseMs + beyondLeaseMs);
      await untilNoLeaseFrom(database, cutAt);
      const takenOverAt = Date.now();
      await isOver;
      const leads = await isLeader(database, toDatabase.far);
      const mendedAt = Date.now();
      for (const link of links) await link.mend();
      await untilAllWorkSince(database, mendedAt, others.length + 1);
      cuts.push({ cutAt, takenOverAt, mendedAt, leads });
    }
    publisher.stop();
    await publishing;
    await drained(database);
    for (const worker of others) {
      worker.signal('SIGTERM');
      assert.deepEqual(await worker.ended, { code: 0, signal: null });
    }
    // Nobody else can deliver these.
    await publisher.publish(eventsAtLast);
    await drained(database);

    const received = await receivers.report();
    const records = await readRecords(database);
    const { counts, wrong } = checkLedger({
      ...records,
      committed: publisher.committed,
      uncertain: publisher.uncertain,
      received,
      faults: cuts.map(({ cutAt, mendedAt }) => ({ from: cutAt, until: mendedAt + aftermathMs })),
    });
    const sentAt = received.filter(({ from }) => from === toReceivers.far).map(({ at }) => at);
    const figures = cuts.map(({ cutAt, takenOverAt, mendedAt, leads }) => {
      const leasesEndAt = cutAt + leaseMs;
      const sentBetween = (from: number, to: number) =>
        sentAt.filter((at) => at > from && at < to).length;
      return {
        cutMs: mendedAt - cutAt,
        takenOverMs: takenOverAt - cutAt,
        leads,
        interrupted: records.attempts.filter(
          ({ error, startedAt }) =>
            error === 'interrupted' && startedAt <= cutAt && startedAt > cutAt - leaseMs,
        ).length,
        sentWhileLeased: sentBetween(cutAt, leasesEndAt),
        sentLater: sentBetween(leasesEndAt, mendedAt),
      };
    });
    t.diagnostic(JSON.stringify({ cuts: figures, sentByIt: sentAt.length, ...counts }));
    assert.deepEqual(wrong.slice(0, 10), []);
    for (const { interrupted, sentLater, takenOverMs, cutMs, leads } of figures) {
      assert.ok(interrupted > 0, 'a cut that meets nothing shows nothing');
      assert.equal(sentLater, 0);
      assert.ok(takenOverMs <= takeOverMsMax, `taken over after ${takenOverMs} ms`);
      assert.ok(!leads || cutMs < lostMsMax, 'the cut worker still leads');
    }
  },
);

/** Resolves when no lease from before is left. */
async function untilNoLeaseFrom(database: Database, before: number): Promise<void> {
  await repeatUntil(async () => {
    const { rows } = await sql`
      select from pending_deliveries where leased_at <= to_timestamp(${before / 1000}::float8) limit 1
    `.execute(database);
    return rows.length === 0;
  });
}

async function isLeader(database: Database, address: string): Promise<boolean> {
  const { rows } = await sql`
    select from pg_locks l join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'advisory' and l.objid = ${leaderLock} and l.granted and a.client_addr = ${address}::inet
  `.execute(database);
  return rows.length > 0;
}

/** Resolves when so many workers have been seen since then. */
async function untilAllWorkSince(database: Database, since: number, workers: number) {
  await repeatUntil(async () => {
    const { rows } = await sql`
      select from workers where seen_at > to_timestamp(${since / 1000}::float8)
    `.execute(database);
    return rows.length === workers;
  });
}

async function repeatUntil(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await wait(pollMs);
}
