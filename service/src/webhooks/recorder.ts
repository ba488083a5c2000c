/** Gathers finished attempts and records them together: the next batch is what came while the last was written. */
import type { Database } from '../database/database.ts';
import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '../log.ts';
import { recordAttempts, type RecordedAttempt } from './record.ts';

export type Recorder = {
  /** Resolves when the attempt is in the database, however long that takes. */
  record(attempt: RecordedAttempt): Promise<void>;
  idle(): Promise<void>;
};

const batchMax = 200;
const retryMs = 250;
/** A database that stays away longer lets the leases run out; the attempt is then recorded as interrupted. */
const triesMax = 40;

type Waiting = { attempt: RecordedAttempt; resolve: () => void; reject: (error: unknown) => void };

export function createRecorder(database: Database, deactivateAfter: number, log: Logger): Recorder {
  let waiting: Waiting[] = [];
  let writing: Promise<void> | null = null;

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, batchMax);
      waiting = waiting.slice(batchMax);
      await write(batch);
    }
  }

  async function write(batch: Waiting[]): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        const deactivated = await recordAttempts(
          database,
          batch.map(({ attempt }) => attempt),
          deactivateAfter,
        );
        for (const each of deactivated) log.warn(each, 'webhook.deactivated');
        for (const { resolve } of batch) resolve();
        return;
      } catch (error) {
        if (tries >= triesMax) {
          for (const { reject } of batch) reject(error);
          return;
        }
        log.warn(
          { reason: (error as Error).message, attempts: batch.length },
          'attempts.record_retried',
        );
        await wait(retryMs);
      }
    }
  }

  return {
    record(attempt) {
      return new Promise((resolve, reject) => {
        waiting.push({ attempt, resolve, reject });
        writing ??= writeAll().finally(() => (writing = null));
      });
    },
    async idle() {
      await writing;
    },
  };
}
