/**
 * Runs a function repeatedly: when woken, and when its time has come. Runs never overlap. After a failure it waits even
 * if woken, so that an unreachable database is not queried without pause.
 */
import { isConnectionFault } from './database/database.ts';
import type { Logger } from './runtime/log.ts';

export type Loop = {
  start(): void;
  /** Runs the function as soon as no run is in progress. */
  wake(): void;
  /** Resolves when the current run has ended. May be called twice. */
  stop(): Promise<void>;
};

const afterFailureMs = 500;

/** `turn` returns the maximum time until its next run, in milliseconds. */
export function createLoop(options: {
  name: string;
  turn: () => Promise<number>;
  log: Logger;
}): Loop {
  const { name, turn, log } = options;
  let running = false;
  let requested = false;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  let current: Promise<void> | null = null;

  function wake(): void {
    if (!running) return;
    requested = true;
    // After a failure, only the timer starts the next run.
    if (failures === 0) startRun();
  }

  function startRun(): void {
    if (!running) return;
    current ??= runUntilIdle().finally(() => {
      current = null;
      // A wake-up that came while the last run was ending must not be lost.
      if (requested && failures === 0) startRun();
    });
  }

  async function runUntilIdle(): Promise<void> {
    clearTimeout(timer);
    let waitMs = 0;
    while (requested && running) {
      requested = false;
      waitMs = await tryTurn();
      if (failures > 0) break;
    }
    if (running) timer = setTimeout(again, waitMs);
  }

  function again(): void {
    requested = true;
    startRun();
  }

  async function tryTurn(): Promise<number> {
    try {
      const waitMs = await turn();
      if (failures > 0) log.info({ loop: name, failures }, 'worker.recovered');
      failures = 0;
      return waitMs;
    } catch (error) {
      failures += 1;
      logFailure(error);
      return afterFailureMs;
    }
  }

  /** Logs failures 1, 2, 4, 8 …: an hour's outage takes a dozen lines. */
  function logFailure(error: unknown): void {
    if ((failures & (failures - 1)) !== 0) return;
    const what = isConnectionFault(error) ? { reason: (error as Error).message } : { err: error };
    log.error({ loop: name, failures, ...what }, 'worker.failed');
  }

  return {
    start() {
      if (running) return;
      running = true;
      again();
    },
    wake,
    async stop() {
      running = false;
      clearTimeout(timer);
      await current;
    },
  };
}
