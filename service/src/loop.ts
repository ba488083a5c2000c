/**
 * Does one thing again and again: when it is woken, and when its time has come. Never twice at once; after a failure
 * not again at once, whoever asks meanwhile: a database that is away must not be asked without pause.
 */
import { isConnectionFault } from './database/database.ts';
import type { Logger } from './log.ts';

export type Loop = {
  start(): void;
  /** Does it as soon as it is not being done. */
  wake(): void;
  /** Resolves when the turn under way has ended. May be called twice. */
  stop(): Promise<void>;
};

const afterFailureMs = 500;

/** `turn` returns after how many milliseconds it wants its next turn, at the latest. */
export function createLoop(options: {
  name: string;
  turn: () => Promise<number>;
  log: Logger;
}): Loop {
  const { name, turn, log } = options;
  let running = false;
  let asked = false;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  let current: Promise<void> | null = null;

  function wake(): void {
    if (!running) return;
    asked = true;
    // While it has failed its time is what counts, not who asks.
    if (failures === 0) begin();
  }

  function begin(): void {
    if (!running) return;
    current ??= take().finally(() => {
      current = null;
      // A wake that came while the last turn was ending is not lost.
      if (asked && failures === 0) begin();
    });
  }

  async function take(): Promise<void> {
    clearTimeout(timer);
    let waitMs = 0;
    while (asked && running) {
      asked = false;
      waitMs = await tryTurn();
      if (failures > 0) break;
    }
    if (running) timer = setTimeout(again, waitMs);
  }

  function again(): void {
    asked = true;
    begin();
  }

  async function tryTurn(): Promise<number> {
    try {
      const waitMs = await turn();
      if (failures > 0) log.info({ loop: name, failures }, 'worker.recovered');
      failures = 0;
      return waitMs;
    } catch (error) {
      failures += 1;
      tell(error);
      return afterFailureMs;
    }
  }

  /** The first, the second, the fourth …: an outage of an hour is a dozen lines. */
  function tell(error: unknown): void {
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
