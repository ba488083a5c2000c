/**
 * The loop: fan out what was committed, claim what is due, attempt, record in batches. It is woken by
 * notifications and by timers; what it must not lose is in the database, never only here.
 */
import type { Config } from '../config.ts';
import type { ConnectionSettings, Database } from '../database/database.ts';
import { sql } from '../database/database.ts';
import { createListener } from '../database/listener.ts';
import { eventsChannel } from '../events/record-event.ts';
import { claim, roundStart } from './claim.ts';
import { deliver, type Deliverable, type DeliverDependencies } from './deliver.ts';
import { fanOut } from './fan-out.ts';
import type { InFlight } from './in-flight.ts';
import { createRecorder } from './recorder.ts';
import { recoverLeases, turnPartitions } from './upkeep.ts';

export type WorkerDependencies = Omit<DeliverDependencies, 'webhooks'> & {
  database: Database;
  connection: ConnectionSettings;
  inFlight: InFlight;
  webhooks: Config['webhooks'];
  retentionDays: number;
};
export type Worker = { start(): void; stop(): Promise<void> };

/** Attempts under way at once in this process. */
const inFlightMax = 512;
/** Without a notification, work is found after this long. */
const pollMs = 1_000;
const leaseCheckMs = 1_000;
const partitionCheckMs = 3_600_000;
const afterFailureMs = 500;

/** SPEC 1: an attempt's whole deadline, and time to record it. */
export function leaseMs({ timeoutMs, leaseMarginMs }: LeaseSettings): number {
  return timeoutMs + leaseMarginMs;
}

type LeaseSettings = Pick<Config['webhooks'], 'timeoutMs' | 'leaseMarginMs'>;

export function createWorker(dependencies: WorkerDependencies): Worker {
  const { database, inFlight, webhooks, log } = dependencies;
  const backoff = { baseMs: webhooks.retryBaseMs, factor: webhooks.retryFactor };
  const recorder = createRecorder(database, webhooks.deactivateAfter, log);
  const listener = createListener(dependencies.connection, [eventsChannel], () => wake());
  const underWay = new Set<Promise<void>>();
  const timers: NodeJS.Timeout[] = [];
  let running = false;
  let cursor = roundStart;
  let awake = false;
  let loop: Promise<void> | null = null;
  let pollTimer: NodeJS.Timeout | undefined;

  function wake(): void {
    if (!running) return;
    awake = true;
    loop ??= run().finally(() => {
      loop = null;
      // A wake that came while the last turn was ending is not lost.
      if (awake) wake();
    });
  }

  async function run(): Promise<void> {
    clearTimeout(pollTimer);
    let waitMs = pollMs;
    try {
      while (awake && running) {
        awake = false;
        // A batch at a time: a stream of events without end must not keep deliveries waiting.
        if (await fanOutSome()) awake = true;
        await claimAll();
      }
      if (running) waitMs = await untilNextMs();
    } catch (error) {
      log.error({ err: error }, 'worker.failed');
      // Not again at once, whoever asked meanwhile: a database that is away must not be asked without pause.
      awake = false;
      waitMs = afterFailureMs;
    }
    if (running) pollTimer = setTimeout(wake, waitMs);
  }

  async function fanOutSome(): Promise<boolean> {
    const done = await fanOut(database);
    if (done.events > 0) log.info(done, 'events.fanned_out');
    return done.events > 0;
  }

  /** One round over all webhooks that have something due, a bounded number at a time. */
  async function claimAll(): Promise<void> {
    // Where the last claim ran out of room, a round begins inside the list and must pass its end to see all.
    const whole = cursor === roundStart;
    let rounds = 0;
    while (running && inFlight.total() < inFlightMax) {
      const claimed = await claim(database, {
        room: inFlightMax - inFlight.total(),
        inFlight: inFlight.counts(),
        cursor,
        leaseMs: leaseMs(webhooks),
      });
      for (const delivery of claimed.deliveries) begin(delivery);
      if (claimed.cancelled > 0) log.info({ count: claimed.cancelled }, 'deliveries.cancelled');
      cursor = claimed.nextCursor ?? roundStart;
      if (claimed.nextCursor === null) rounds += 1;
      if (rounds >= 2 || (rounds === 1 && whole && claimed.deliveries.length === 0)) return;
    }
  }

  function begin(delivery: Deliverable): void {
    inFlight.add(delivery.webhookId);
    const task: Promise<void> = deliver(dependencies, delivery)
      .then((attempt) => recorder.record(attempt))
      .catch((error: unknown) =>
        log.error({ err: error, deliveryId: delivery.id }, 'delivery.failed'),
      )
      .finally(() => {
        inFlight.release(delivery.webhookId);
        underWay.delete(task);
        wake();
      });
    underWay.add(task);
  }

  async function untilNextMs(): Promise<number> {
    const { rows } = await sql<{ ms: number | null }>`
      select extract(epoch from min(due_at) - queue_now())::float8 * 1000 as ms
      from pending_deliveries where lease_token is null
    `.execute(database);
    // What is due and was not claimed waits for its webhook's share, which wakes the loop when it is free.
    const ms = rows[0]?.ms ?? pollMs;
    return ms > 0 ? Math.min(Math.ceil(ms), pollMs) : pollMs;
  }

  async function checkLeases(): Promise<void> {
    const count = await recoverLeases(database, backoff, webhooks.deactivateAfter);
    if (count > 0) log.warn({ count }, 'leases.recovered');
    if (count > 0) wake();
  }

  async function checkPartitions(): Promise<void> {
    const dropped = await turnPartitions(database, dependencies.retentionDays);
    if (dropped.length > 0) log.info({ partitions: dropped }, 'partitions.dropped');
  }

  function every(ms: number, task: () => Promise<void>): void {
    const attempt = () =>
      void task().catch((error: unknown) => log.error({ err: error }, 'upkeep.failed'));
    attempt();
    timers.push(setInterval(attempt, ms));
  }

  return {
    start() {
      if (running) return;
      running = true;
      listener.start();
      every(leaseCheckMs, checkLeases);
      every(partitionCheckMs, checkPartitions);
      wake();
    },
    async stop() {
      running = false;
      clearTimeout(pollTimer);
      for (const timer of timers.splice(0)) clearInterval(timer);
      await listener.stop();
      await loop;
      await Promise.all(underWay);
      await recorder.idle();
    },
  };
}
