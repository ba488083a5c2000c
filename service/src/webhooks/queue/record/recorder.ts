/**
 * Collects finished attempts and records them in batches: attempts that finish during one write, or soon after it, form the
 * next batch. Next: `record.ts`.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../../../database/database.ts';
import type { Logger } from '../../../runtime/log.ts';
import type { Metrics } from '../../../runtime/metrics.ts';
import type { RecordedAttempt } from '../../sending/deliver.ts';
import { recordMax, recordOrSetAside } from './record.ts';

export type RecorderDependencies = {
  database: Database;
  /** How long to wait for a database that is unavailable. By then the leases run out. */
  giveUpAfterMs: number;
  /** The `xid` below which no outcome of a webhook waits. */
  outcomesFloor: () => string;
  log: Logger;
  metrics: Metrics;
};

/** Few attempts wait for this long after the start of the last write, so that at low rates too a write has several. */
const collectMs = 100;
const fewMax = 64;
/** How often a write is tried again while the database is unavailable. */
const retryMs = 250;
/** How often attempts are tried again whose rows another session has locked. */
const lockedRetryMs = 1_000;
/** The most attempts, each with its response, that wait for such rows. The leases of further ones run out. */
const lockedMax = recordMax;
/** A process that is stopping does not wait longer than this for its database. */
const giveUpAfterMsWhileStopping = 2_000;

type Waiting = { attempt: RecordedAttempt; wasLocked: boolean; resolve: () => void };

export class Recorder {
  readonly #dependencies: RecorderDependencies;
  readonly #waiting: Waiting[] = [];
  readonly #locked = new Set<Waiting>();
  #startedAt = -Infinity;
  /** Whether a delivery waits that was not sent, and that another process could send. */
  #hasUnsent = false;
  #collecting: NodeJS.Timeout | undefined;
  #writing: Promise<void> | null = null;
  /** When writes started to fail, or null. Shared by batches that wait together, so that they do not each wait in turn. */
  #failingSince: number | null = null;
  #stopsAt = Infinity;

  constructor(dependencies: RecorderDependencies) {
    this.#dependencies = dependencies;
  }

  /** Resolves when the attempt is recorded or given up, however long that takes. */
  record(attempt: RecordedAttempt): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ attempt, wasLocked: false, resolve });
      this.#hasUnsent ||= ['postponed', 'cancelled'].includes(attempt.verdict.kind);
      this.#writeWhenDue();
    });
  }

  /** Resolves when `inFlight` has ended and is recorded. Waits only briefly for a database that is unavailable. */
  async stop(inFlight: Promise<unknown>): Promise<void> {
    this.#stopsAt = performance.now() + giveUpAfterMsWhileStopping;
    this.#writeWhenDue();
    await inFlight;
    await this.#writing;
  }

  #writeWhenDue(): void {
    if (this.#writing || this.#waiting.length === 0) return;
    const waitMs = this.#dueInMs();
    if (waitMs > 0) {
      this.#collecting ??= setTimeout(() => this.#write(), waitMs);
      return;
    }
    this.#write();
  }

  #write(): void {
    clearTimeout(this.#collecting);
    this.#collecting = undefined;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = null;
      // Attempts may have arrived while the last batch was ending; without this they would wait for the next one.
      this.#writeWhenDue();
    });
  }

  #dueInMs(): number {
    const isUrgent = this.#waiting.length >= fewMax || this.#hasUnsent || this.#stopsAt < Infinity;
    return isUrgent ? 0 : this.#startedAt + collectMs - performance.now();
  }

  async #writeAll(): Promise<void> {
    this.#failingSince = null;
    while (this.#waiting.length > 0 && this.#dueInMs() <= 0) {
      this.#startedAt = performance.now();
      const batch = this.#waiting.splice(0, recordMax);
      this.#hasUnsent &&= this.#waiting.length > 0;
      const stillLocked = new Set(await this.#writeBatch(batch.map(({ attempt }) => attempt)));
      this.#keepLocked(batch.filter(({ attempt }) => stillLocked.has(attempt)));
      for (const one of batch) if (!this.#locked.has(one)) one.resolve();
    }
  }

  /** Writes a batch, again and again while the database is away. Returns those whose rows another session has locked. */
  async #writeBatch(attempts: RecordedAttempt[]): Promise<RecordedAttempt[]> {
    const { database, log, metrics, giveUpAfterMs, outcomesFloor } = this.#dependencies;
    for (let tries = 1; ; tries += 1) {
      try {
        const done = await recordOrSetAside(database, attempts, 'record', outcomesFloor());
        this.#failingSince = null;
        metrics.recorded(attempts.length);
        return done.locked;
      } catch (error) {
        const logFields = { attempts: attempts.length, reason: (error as Error).message };
        this.#failingSince ??= performance.now();
        const mostMs = this.#stopsAt === Infinity ? giveUpAfterMs : giveUpAfterMsWhileStopping;
        if (performance.now() - this.#failingSince > mostMs) {
          log.error(logFields, 'attempts.lost');
          return [];
        }
        if (tries === 1) log.warn(logFields, 'attempts.waiting');
        await wait(retryMs);
      }
    }
  }

  /** They go on for as long as their rows are locked, because nobody else can take their leases back until then. */
  #keepLocked(batch: Waiting[]): void {
    if (batch.length === 0) return;
    const { log } = this.#dependencies;
    const kept =
      performance.now() < this.#stopsAt ? batch.slice(0, lockedMax - this.#locked.size) : [];
    const reason = 'another session has locked their rows';
    const begin = kept.filter(({ wasLocked }) => !wasLocked).length;
    if (begin > 0) log.warn({ attempts: begin, reason }, 'attempts.waiting');
    const lost = batch.length - kept.length;
    if (lost > 0) log.error({ attempts: lost, reason }, 'attempts.lost');
    if (kept.length > 0 && this.#locked.size === 0)
      setTimeout(
        () => this.#tryLockedAgain(),
        this.#stopsAt === Infinity ? lockedRetryMs : retryMs,
      );
    for (const one of kept) {
      one.wasLocked = true;
      this.#locked.add(one);
    }
  }

  #tryLockedAgain(): void {
    this.#waiting.push(...this.#locked);
    this.#locked.clear();
    this.#writeWhenDue();
  }
}
