/** Gathers finished attempts and records them together: the next batch is what came while the last was written. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../database/database.ts';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { recordAttempts, type RecordedAttempt } from './record.ts';

export type Recorder = {
  /** Says how many deliveries a lease holds; it is ended with the last of them. */
  expect(leaseToken: string, deliveries: number): void;
  /** Resolves when the attempt is in the database or given up, however long that takes. */
  record(attempt: RecordedAttempt): Promise<void>;
  /** Resolves when `underWay` has ended and is written; a database that is away is waited for no longer than a moment. */
  stop(underWay: Promise<unknown>): Promise<void>;
};

export type RecorderDependencies = {
  database: Database;
  deactivateAfter: number;
  log: Logger;
  metrics: Metrics;
};

const batchMax = 256;
const retryMs = 250;
/** A database that stays away longer lets the leases run out; the attempt is then recorded as interrupted. */
const triesMax = 40;
/** After `stop`: two seconds. */
const triesWhileStopping = 8;

type Waiting = { attempt: RecordedAttempt; resolve: () => void };

export function createRecorder(dependencies: RecorderDependencies): Recorder {
  const { log } = dependencies;
  const openLeases = new Map<string, number>();
  let waiting: Waiting[] = [];
  let writing: Promise<void> | null = null;
  let stopping = false;

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, batchMax);
      waiting = waiting.slice(batchMax);
      const endedLeases = endLeases(batch);
      await write(
        batch.map(({ attempt }) => attempt),
        endedLeases,
      );
      for (const { resolve } of batch) resolve();
    }
  }

  function endLeases(batch: Waiting[]): string[] {
    const ended: string[] = [];
    for (const { attempt } of batch) {
      const left = (openLeases.get(attempt.leaseToken) ?? 1) - 1;
      if (left > 0) openLeases.set(attempt.leaseToken, left);
      else {
        openLeases.delete(attempt.leaseToken);
        ended.push(attempt.leaseToken);
      }
    }
    return ended;
  }

  async function write(attempts: RecordedAttempt[], endedLeases: string[]): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await store(dependencies, attempts, endedLeases);
        return;
      } catch (error) {
        if (isRefusal(error)) return writeSingly(attempts, endedLeases, error);
        if (tries >= (stopping ? triesWhileStopping : triesMax)) {
          log.error(
            { attempts: attempts.length, reason: (error as Error).message },
            'attempts.lost',
          );
          return;
        }
        if (tries === 1)
          log.warn(
            { attempts: attempts.length, reason: (error as Error).message },
            'attempts.waiting',
          );
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
      log.error({ err: cause, deliveryId: only.deliveryId }, 'attempt.not_recorded');
      return;
    }
    for (const attempt of attempts) await write([attempt], endedLeases);
  }

  return {
    expect: (leaseToken, deliveries) => void openLeases.set(leaseToken, deliveries),
    record(attempt) {
      return new Promise((resolve) => {
        waiting.push({ attempt, resolve });
        writing ??= writeAll().finally(() => (writing = null));
      });
    },
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

async function store(
  { database, deactivateAfter, log, metrics }: RecorderDependencies,
  attempts: RecordedAttempt[],
  endedLeases: string[],
): Promise<void> {
  const deactivated = await recordAttempts(database, attempts, { deactivateAfter, endedLeases });
  metrics.recorded(attempts.length);
  for (const each of deactivated) {
    metrics.deactivated(each.reason);
    metrics.cancelled(each.cancelled);
    log.warn(each, 'webhook.deactivated');
  }
}
