/**
 * Collects finished attempts and records them in batches: attempts that finish during one write form the next batch.
 * Next: `record.ts`.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../../database/database.ts';
import type { Logger } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { RecordedAttempt } from '../sending/deliver.ts';
import { recordAttempts } from './record.ts';
import { logDeactivations } from './log-deactivations.ts';

export type Recorder = {
  /** Sets how many deliveries a lease holds. The last of them to be recorded ends it. */
  expect(leaseToken: string, deliveries: number): void;
  /** Reports that one delivery will not be recorded. Its lease runs out, and its attempt counts as interrupted. */
  giveUp(leaseToken: string): void;
  /** Resolves when the attempt is recorded or given up, however long that takes. */
  record(attempt: RecordedAttempt): Promise<void>;
  /** Resolves when `underWay` has ended and is recorded. Waits only briefly for a database that is unavailable. */
  stop(underWay: Promise<unknown>): Promise<void>;
};

export type RecorderDependencies = {
  database: Database;
  deactivateAfter: number;
  /** How long to wait for a database that is unavailable. By then the leases run out. */
  giveUpAfterMs: number;
  log: Logger;
  metrics: Metrics;
};

const batchMax = 512;
const retryMs = 250;
/** A process that is stopping does not wait longer than this for its database. */
const giveUpAfterMsWhileStopping = 2_000;

type Waiting = { attempt: RecordedAttempt; resolve: () => void };

export function createRecorder(dependencies: RecorderDependencies): Recorder {
  let stopping = false;
  const write = createWriter(dependencies, () => stopping);
  const openLeases = new Map<string, number>();
  let waiting: Waiting[] = [];
  let writing: Promise<void> | null = null;

  function startWriting(): void {
    writing ??= writeAll().finally(() => {
      writing = null;
      // Attempts may have arrived while the last batch was ending; without this they would wait for the next one.
      if (waiting.length > 0) startWriting();
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

  /** Returns the lease token for the last of its deliveries, otherwise null. */
  function countDown(leaseToken: string): string | null {
    const left = (openLeases.get(leaseToken) ?? 1) - 1;
    if (left > 0) openLeases.set(leaseToken, left);
    else openLeases.delete(leaseToken);
    return left > 0 ? null : leaseToken;
  }

  return {
    expect: (leaseToken, deliveries) => void openLeases.set(leaseToken, deliveries),
    record(attempt) {
      return new Promise((resolve) => {
        waiting.push({ attempt, resolve });
        startWriting();
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

type Write = (attempts: RecordedAttempt[], endedLeases: string[]) => Promise<void>;

/** Writes a batch, again and again while the database is away. */
function createWriter(dependencies: RecorderDependencies, isStopping: () => boolean): Write {
  const { database, deactivateAfter, log, metrics, giveUpAfterMs } = dependencies;
  /** When writes started to fail, or null. Shared by all batches, so that they do not each wait in turn. */
  let failingSince: number | null = null;

  async function write(attempts: RecordedAttempt[], endedLeases: string[]): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        const options = { deactivateAfter, endedLeases };
        const { deactivated } = await recordAttempts(database, attempts, options);
        failingSince = null;
        metrics.recorded(attempts.length);
        logDeactivations(dependencies, deactivated);
        return;
      } catch (error) {
        if (isRefusal(error)) return writeSingly(attempts, endedLeases, error);
        const logFields = { attempts: attempts.length, reason: (error as Error).message };
        failingSince ??= performance.now();
        if (
          performance.now() - failingSince >
          (isStopping() ? giveUpAfterMsWhileStopping : giveUpAfterMs)
        ) {
          log.error(logFields, 'attempts.lost');
          return;
        }
        if (tries === 1) log.warn(logFields, 'attempts.waiting');
        await wait(retryMs);
      }
    }
  }

  /** An attempt that PostgreSQL rejects must not fail its batch: its lease expires, and it counts as interrupted. */
  async function writeSingly(
    attempts: RecordedAttempt[],
    endedLeases: string[],
    cause: unknown,
  ): Promise<void> {
    const [only] = attempts;
    if (attempts.length === 1 && only) {
      // Does not log the error itself: PostgreSQL's detail may contain a receiver's response.
      const { code, message } = cause as { code?: string; message: string };
      log.error({ code, reason: message, deliveryId: only.deliveryId }, 'attempt.not_recorded');
      return;
    }
    for (const attempt of attempts) await write([attempt], endedLeases);
  }

  return write;
}

/** Whether PostgreSQL rejects the attempt itself (classes 22 and 23). Other errors, such as a deadlock, are temporary. */
function isRefusal(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code?.startsWith('22') === true || code?.startsWith('23') === true;
}
