/**
 * Runs a function repeatedly: when woken, and when its time has come. Runs never overlap. After a failure it waits even
 * if woken, so that an unreachable database is not queried without pause.
 */
import { isConnectionFault } from './database/database.ts';
import type { Logger } from './runtime/log.ts';

const afterFailureMs = 500;

type LoopOptions = {
  name: string;
  /** Returns the maximum time until its next run, in milliseconds. */
  turn: () => Promise<number>;
  log: Logger;
};

export class Loop {
  readonly #options: LoopOptions;
  #running = false;
  #requested = false;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #current: Promise<void> | null = null;

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#running) return;
    this.#running = true;
    this.#again();
  }

  /** Runs the function as soon as no run is in progress. */
  wake(): void {
    if (!this.#running) return;
    this.#requested = true;
    // After a failure, only the timer starts the next run.
    if (this.#failures === 0) this.#startRun();
  }

  /** Resolves when the current run has ended. May be called twice. */
  async stop(): Promise<void> {
    this.#running = false;
    clearTimeout(this.#timer);
    await this.#current;
  }

  #startRun(): void {
    if (!this.#running) return;
    this.#current ??= this.#runUntilIdle().finally(() => {
      this.#current = null;
      // A wake-up that came while the last run was ending must not be lost.
      if (this.#requested && this.#failures === 0) this.#startRun();
    });
  }

  async #runUntilIdle(): Promise<void> {
    clearTimeout(this.#timer);
    let waitMs = 0;
    while (this.#requested && this.#running) {
      this.#requested = false;
      waitMs = await this.#tryTurn();
      if (this.#failures > 0) break;
    }
    if (this.#running) this.#timer = setTimeout(() => this.#again(), waitMs);
  }

  #again(): void {
    this.#requested = true;
    this.#startRun();
  }

  async #tryTurn(): Promise<number> {
    const { name, turn, log } = this.#options;
    try {
      const waitMs = await turn();
      if (this.#failures > 0)
        log.info({ loop: name, failures: this.#failures }, 'worker.recovered');
      this.#failures = 0;
      return waitMs;
    } catch (error) {
      this.#failures += 1;
      this.#logFailure(error);
      return afterFailureMs;
    }
  }

  /** Logs failures 1, 2, 4, 8 …: an hour's outage takes a dozen lines. */
  #logFailure(error: unknown): void {
    const failures = this.#failures;
    if ((failures & (failures - 1)) !== 0) return;
    const what = isConnectionFault(error) ? { reason: (error as Error).message } : { err: error };
    this.#options.log.error({ loop: this.#options.name, failures, ...what }, 'worker.failed');
  }
}
