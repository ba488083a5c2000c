/** Gathers finished attempts and records them together: the next batch is what came while the last was written. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../../database/database.ts';
import type { Logger } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { RecordedAttempt } from '../sending/deliver.ts';
import { recordAttempts } from './record.ts';
import { tellDeactivated } from './tell-deactivated.ts';

export type Recorder = {
  /** Says how many deliveries a lease holds; it is ended with the last of them. */
  expect(leaseToken: string, deliveries: number): void;
  /** Says that one of them will not be recorded: the lease runs out, and its attempt counts as interrupted. */
  giveUp(leaseToken: string): void;
  /** Resolves when the attempt is in the database or given up, however long that takes. */
  record(attempt: RecordedAttempt): Promise<void>;
  /** Resolves when `underWay` has ended and is written; a database that is away is waited for no longer than a moment. */
  stop(underWay: Promise<unknown>): Promise<void>;
};

export type RecorderDependencies = {
  database: Database;
  deactivateAfter: number;
  /** How long a database that is away is waited for; the leases run out by then. */
  patienceMs: number;
  log: Logger;
  metrics: Metrics;
};

const batchMax = 512;
const retryMs = 250;
/** A process that is told to end does not wait longer for its database. */
const patienceWhileStoppingMs = 2_000;

type Waiting = { attempt: RecordedAttempt; resolve: () => void };

export function createRecorder(dependencies: RecorderDependencies): Recorder {
  const { database, deactivateAfter, log, metrics, patienceMs } = dependencies;
  const openLeases = new Map<string, number>();
  let waiting: Waiting[] = [];
  let writing: Promise<void> | null = null;
  let stopping = false;
  /** Since when nothing could be written; null while it can be. One batch's wait is every batch's. */
  let awaySince: number | null = null;

  function begin(): void {
    writing ??= writeAll().finally(() => {
      writing = null;
      // What came while the last batch was ending is not left for the next to come.
      if (waiting.length > 0) begin();
    });
  }

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, batchMax);
      waiting = waiting.slice(batchMax);
      const endedLeases = batch.flatMap(({ attempt }) => countDown(attempt.leaseToken) ?? []);
      await write(
        batch.map(({ attempt }) => attempt),
        endedLeases,
      );
      for (const { resolve } of batch) resolve();
    }
  }

  /** Returns the lease with the last of its deliveries. */
  function countDown(leaseToken: string): string | null {
    const left = (openLeases.get(leaseToken) ?? 1) - 1;
    if (left > 0) openLeases.set(leaseToken, left);
    else openLeases.delete(leaseToken);
    return left > 0 ? null : leaseToken;
  }

  async function write(attempts: RecordedAttempt[], endedLeases: string[]): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        const options = { deactivateAfter, endedLeases };
        const { deactivated } = await recordAttempts(database, attempts, options);
        awaySince = null;
        metrics.recorded(attempts.length);
        tellDeactivated(dependencies, deactivated);
        return;
      } catch (error) {
        if (isRefusal(error)) return writeSingly(attempts, endedLeases, error);
        const told = { attempts: attempts.length, reason: (error as Error).message };
        awaySince ??= performance.now();
        if (performance.now() - awaySince > (stopping ? patienceWhileStoppingMs : patienceMs)) {
          log.error(told, 'attempts.lost');
          return;
        }
        if (tries === 1) log.warn(told, 'attempts.waiting');
        await wait(retryMs);
      }
    }
  }

  /** One that cannot be recorded must not take its batch with it: its lease runs out, and that is recorded instead. */
  async function writeSingly(
    attempts: RecordedAttempt[],
    endedLeases: string[],
    cause: unknown,
  ): Promise<void> {
    const [only] = attempts;
    if (attempts.length === 1 && only) {
      // Not the error itself: PostgreSQL's detail may hold what a receiver answered.
      const { code, message } = cause as { code?: string; message: string };
      log.error({ code, reason: message, deliveryId: only.deliveryId }, 'attempt.not_recorded');
      return;
    }
    for (const attempt of attempts) await write([attempt], endedLeases);
  }

  return {
    expect: (leaseToken, deliveries) => void openLeases.set(leaseToken, deliveries),
    record(attempt) {
      return new Promise((resolve) => {
        waiting.push({ attempt, resolve });
        begin();
      });
    },
    giveUp: (leaseToken) => void countDown(leaseToken),
    async stop(underWay) {
      stopping = true;
      await underWay;
      await writing;
    },
  };
}

/** What is wrong with an attempt itself (PostgreSQL's classes 22 and 23); a full disk, say, or a deadlock passes. */
function isRefusal(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code?.startsWith('22') === true || code?.startsWith('23') === true;
}
