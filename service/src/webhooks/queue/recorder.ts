/**
 * Collects finished attempts and records them in batches: attempts that finish during one write form the next batch.
 * Next: `record.ts`.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../../database/database.ts';
import type { Logger } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { RecordedAttempt } from '../sending/deliver.ts';
import { isRefusal, recordAttempts, recordMax } from './record.ts';

export type Recorder = {
  /** Resolves when the attempt is recorded or given up, however long that takes. */
  record(attempt: RecordedAttempt): Promise<void>;
  /** Resolves when `underWay` has ended and is recorded. Waits only briefly for a database that is unavailable. */
  stop(underWay: Promise<unknown>): Promise<void>;
};

export type RecorderDependencies = {
  database: Database;
  /** How long to wait for a database that is unavailable. By then the leases run out. */
  giveUpAfterMs: number;
  /** The `xid` below which no outcome of a webhook waits. */
  outcomesFloor(): string;
  /** Called after each write, with what it recorded. */
  onRecorded(attempts: RecordedAttempt[]): void;
  log: Logger;
  metrics: Metrics;
};

/** How often a write is tried again while the database is unavailable. */
const retryMs = 250;
/** A process that is stopping does not wait longer than this for its database. */
const giveUpAfterMsWhileStopping = 2_000;

type Waiting = { attempt: RecordedAttempt; resolve: () => void };

export function createRecorder(dependencies: RecorderDependencies): Recorder {
  let stopping = false;
  const waiting: Waiting[] = [];
  let writing: Promise<void> | null = null;

  function startWriting(): void {
    writing ??= writeAll().finally(() => {
      writing = null;
      // Attempts may have arrived while the last batch was ending; without this they would wait for the next one.
      if (waiting.length > 0) startWriting();
    });
  }

  async function writeAll(): Promise<void> {
    const write = createWriter(dependencies, () => stopping);
    while (waiting.length > 0) {
      const batch = waiting.splice(0, recordMax);
      await write(batch.map(({ attempt }) => attempt));
      for (const { resolve } of batch) resolve();
    }
  }

  return {
    record(attempt) {
      return new Promise((resolve) => {
        waiting.push({ attempt, resolve });
        startWriting();
      });
    },
    async stop(underWay) {
      stopping = true;
      await underWay;
      await writing;
    },
  };
}

type Write = (attempts: RecordedAttempt[]) => Promise<void>;

/** Writes a batch, again and again while the database is away. */
function createWriter(dependencies: RecorderDependencies, isStopping: () => boolean): Write {
  const { database, log, metrics, giveUpAfterMs } = dependencies;
  /** When writes started to fail, or null. Shared by batches that wait together, so that they do not each wait in turn. */
  let failingSince: number | null = null;

  async function write(attempts: RecordedAttempt[]): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        const recorded = await recordAttempts(database, attempts, dependencies.outcomesFloor());
        failingSince = null;
        metrics.recorded(attempts.length);
        dependencies.onRecorded(recorded);
        return;
      } catch (error) {
        if (isRefusal(error)) return writeSingly(attempts, error);
        const logFields = { attempts: attempts.length, reason: (error as Error).message };
        failingSince ??= performance.now();
        const mostMs = isStopping() ? giveUpAfterMsWhileStopping : giveUpAfterMs;
        if (performance.now() - failingSince > mostMs) {
          log.error(logFields, 'attempts.lost');
          return;
        }
        if (tries === 1) log.warn(logFields, 'attempts.waiting');
        await wait(retryMs);
      }
    }
  }

  /** An attempt that PostgreSQL rejects must not fail its batch: its lease expires, and it counts as interrupted. */
  async function writeSingly(attempts: RecordedAttempt[], cause: unknown): Promise<void> {
    const [only] = attempts;
    if (attempts.length === 1 && only) {
      // Does not log the error itself: PostgreSQL's detail may contain a receiver's response.
      const { code, message } = cause as { code?: string; message: string };
      const deliveryId = only.delivery.id;
      log.error({ code, reason: message, deliveryId }, 'attempt.not_recorded');
      return;
    }
    for (const attempt of attempts) await write([attempt]);
  }

  return write;
}
