/**
 * A machine whose links go down for longer than its leases, and come up again: the others take its deliveries over, and it
 * sends none after its leases are over.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { checkLedger } from '../harness/check-ledger.ts';
import { startPrimary, urlOf } from '../harness/postgres.ts';
import { commonEvent } from '../harness/publisher.ts';
import { cleanUpsOf } from '../harness/run.ts';
import { leaseMs } from '../harness/service.ts';
import { isEmpty, noLeaseFrom, openServer, openWorld, readValue, until } from '../harness/world.ts';
import { sql, type Database } from '../service/src/database/database.ts';
import { missingForMachines, startMachine } from './machine.ts';

/** How much longer than a lease a link is down. */
const beyondLeaseMs = Number(process.env['SCALE_FAULT_MS'] ?? 500);
/** By then the server has noticed that the machine is gone (`service/src/database/database.ts`). */
const lostMsMax = 16_000;
const leaderLock = 70420013;
/** Ended leases are looked for once a second; the rest allows for a busy machine. */
const takeOverMsMax = leaseMs + 5_000;
const publishEveryMs = 100;
/** More deliveries than the leader has room for, so all workers hold some when the link is cut. */
const eventsBeforeCut = 100;
const requestsBeforeCut = 500;
const eventsAtLast = 20;
/** Longer than anything that is waited for, on a busy machine too. */
const giveUpMs = 300_000;

test(
  'a worker machine is cut off from the database, then from everything, and comes back',
  { timeout: 600_000, skip: missingForMachines() },
  async (t) => {
    const cleanUps = cleanUpsOf(t);
    const machine = await startMachine();
    cleanUps.defer(() => machine.stop());
    const toDatabase = await machine.connect();
    const toReceivers = await machine.connect();
    const url = urlOf(await startPrimary('primary', { link: toDatabase }));
    const database = await openServer(url, cleanUps);
    const kinds = [{ behaviour: 'slow', webhooks: 20, event: commonEvent }] as const;
    const world = await openWorld(database, { kinds, host: toReceivers.near }, cleanUps);
    const { publisher, receivers, faults } = world;
    const start = (address: string, enter: string[] = []) =>
      world.start({ ROLES: 'worker', DATABASE_URL: address }, { enter });
    // The first one leads.
    const distant = start(url.replace('127.0.0.1', toDatabase.near), machine.enter);
    await distant.started;
    const others = [start(url), start(url)];
    await Promise.all(others.map(({ started }) => started));

    const publishing = publisher.publishSlowly(Infinity, publishEveryMs);
    const cuts: { cutAt: number; takenOverAt: number; mendedAt: number; leads: boolean }[] = [];
    for (const links of [[toDatabase], [toDatabase, toReceivers]]) {
      const publishedAt = Date.now();
      await publisher.publish(eventsBeforeCut);
      await receivers.more(requestsBeforeCut);
      // Its receivers are slow, so what it has just sent is under way when the link is cut.
      await until('a request of the machine', giveUpMs, async () =>
        (await receivers.report()).some(
          ({ from, at }) => from === toReceivers.far && at > publishedAt,
        ),
      );
      await world.fault(async () => {
        for (const link of links) await link.cut();
        const cutAt = Date.now();
        const isOver = wait(leaseMs + beyondLeaseMs);
        await noLeaseFrom(database, cutAt, giveUpMs);
        const takenOverAt = Date.now();
        await isOver;
        const leads = await isLeader(database, toDatabase.far);
        cuts.push({ cutAt, takenOverAt, mendedAt: Date.now(), leads });
        for (const link of links) await link.mend();
      });
      await allWorkSince(database, cuts.at(-1)?.mendedAt ?? 0, world.processes.length);
    }
    publisher.stop();
    await publishing;
    await world.drained();
    for (const worker of others) assert.deepEqual(await worker.stop(), { code: 0, signal: null });
    // Nobody else can deliver these.
    await publisher.publish(eventsAtLast);
    await world.drained();

    const ledger = await world.ledger();
    const { counts, wrong } = checkLedger(ledger);
    const sentAt = ledger.received
      .filter(({ from }) => from === toReceivers.far)
      .map(({ at }) => at);
    const sentBetween = (from: number, to: number) =>
      sentAt.filter((at) => at > from && at < to).length;
    const figures = cuts.map(({ cutAt, takenOverAt, mendedAt, leads }) => ({
      cutMs: mendedAt - cutAt,
      takenOverMs: takenOverAt - cutAt,
      leads,
      interrupted: ledger.attempts.filter(
        ({ error, startedAt }) =>
          error === 'interrupted' && startedAt <= cutAt && startedAt > cutAt - leaseMs,
      ).length,
      sentWhileLeased: sentBetween(cutAt, cutAt + leaseMs),
      sentLater: sentBetween(cutAt + leaseMs, mendedAt),
    }));
    t.diagnostic(JSON.stringify({ cuts: figures, sentByIt: sentAt.length, ...counts }));
    assert.deepEqual(wrong.slice(0, 10), []);
    assert.equal(faults.length, cuts.length);
    for (const { interrupted, sentLater, takenOverMs, cutMs, leads } of figures) {
      assert.ok(interrupted > 0, 'a cut that meets nothing shows nothing');
      assert.equal(sentLater, 0);
      assert.ok(takenOverMs <= takeOverMsMax, `taken over after ${takenOverMs} ms`);
      assert.ok(!leads || cutMs < lostMsMax, 'the cut worker still leads');
    }
  },
);

async function isLeader(database: Database, address: string): Promise<boolean> {
  return !(await isEmpty(
    database,
    sql`
      select from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'advisory' and l.objid = ${leaderLock} and l.granted and a.client_addr = ${address}::inet
    `,
  ));
}

/** Resolves when so many workers have been seen since then. */
async function allWorkSince(database: Database, since: number, workers: number): Promise<void> {
  const seen = sql`
    select count(*) as value from workers where seen_at > to_timestamp(${since / 1000}::float8)
  `;
  await until('all workers', giveUpMs, async () => (await readValue(database, seen)) === workers);
}
