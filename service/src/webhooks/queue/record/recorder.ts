/**
 * Collects finished attempts and records them in batches: attempts that finish during one write form the next batch.
 * Next: `record.ts`.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../../../database/database.ts';
import type { Logger } from '../../../runtime/log.ts';
import type { Metrics } from '../../../runtime/metrics.ts';
import type { RecordedAttempt } from '../../sending/deliver.ts';
import { recordMax, recordOrSetAside } from './record.ts';

export type Recorder = {
  /** Resolves when the attempt is recorded or given up, however long that takes. */
  record(attempt: RecordedAttempt): Promise<void>;
  /** Resolves when `inFlight` has ended and is recorded. Waits only briefly for a database that is unavailable. */
  stop(inFlight: Promise<unknown>): Promise<void>;
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
/** How often attempts are tried again whose rows another session has locked. */
const lockedRetryMs = 1_000;
/** The most attempts, each with its response, that wait for such rows. The leases of further ones run out. */
const lockedMax = recordMax;
/** A process that is stopping does not wait longer than this for its database. */
const giveUpAfterMsWhileStopping = 2_000;

type Waiting = { attempt: RecordedAttempt; wasLocked: boolean; resolve: () => void };

export function createRecorder(dependencies: RecorderDependencies): Recorder {
  const { log } = dependencies;
  let stopping = false;
  let stopsAt = Infinity;
  const waiting: Waiting[] = [];
  const locked = new Set<Waiting>();
  let lockedTimer: NodeJS.Timeout | undefined;
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
      const stillLocked = new Set(await write(batch.map(({ attempt }) => attempt)));
      keepLocked(batch.filter(({ attempt }) => stillLocked.has(attempt)));
      for (const one of batch) if (!locked.has(one)) one.resolve();
    }
  }

  /** They go on for as long as their rows are locked, because nobody else can take their leases back until then. */
  function keepLocked(batch: Waiting[]): void {
    if (batch.length === 0) return;
    const kept = performance.now() < stopsAt ? batch.slice(0, lockedMax - locked.size) : [];
    const reason = 'another session has locked their rows';
    const begin = kept.filter(({ wasLocked }) => !wasLocked).length;
    if (begin > 0) log.warn({ attempts: begin, reason }, 'attempts.waiting');
    const lost = batch.length - kept.length;
    if (lost > 0) log.error({ attempts: lost, reason }, 'attempts.lost');
    for (const one of kept) {
      one.wasLocked = true;
      locked.add(one);
    }
    lockedTimer ??= setTimeout(
      () => {
        lockedTimer = undefined;
        waiting.push(...locked);
        locked.clear();
        startWriting();
      },
      stopping ? retryMs : lockedRetryMs,
    );
  }

  return {
    record(attempt) {
      return new Promise((resolve) => {
        waiting.push({ attempt, wasLocked: false, resolve });
        startWriting();
      });
    },
    async stop(inFlight) {
      stopping = true;
      stopsAt = performance.now() + giveUpAfterMsWhileStopping;
      await inFlight;
      await writing;
    },
  };
}

/** Returns those whose rows another session has locked. */
type Write = (attempts: RecordedAttempt[]) => Promise<RecordedAttempt[]>;

/** Writes a batch, again and again while the database is away. */
function createWriter(dependencies: RecorderDependencies, isStopping: () => boolean): Write {
  const { database, log, metrics, giveUpAfterMs } = dependencies;
  /** When writes started to fail, or null. Shared by batches that wait together, so that they do not each wait in turn. */
  let failingSince: number | null = null;

  return async (attempts) => {
    for (let tries = 1; ; tries += 1) {
      try {
        const floor = dependencies.outcomesFloor();
        const done = await recordOrSetAside(database, attempts, 'record', floor);
        failingSince = null;
        metrics.recorded(attempts.length);
        dependencies.onRecorded(done.recorded);
        return done.locked;
      } catch (error) {
        const logFields = { attempts: attempts.length, reason: (error as Error).message };
        failingSince ??= performance.now();
        const mostMs = isStopping() ? giveUpAfterMsWhileStopping : giveUpAfterMs;
        if (performance.now() - failingSince > mostMs) {
          log.error(logFields, 'attempts.lost');
          return [];
        }
        if (tries === 1) log.warn(logFields, 'attempts.waiting');
        await wait(retryMs);
      }
    }
  };
}
