/** Resolves after `durationMs`. Rejects with the reason of the first signal that aborts before. */
export function wait(durationMs: number, signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener('abort', abort);
    };
    const abort = () => {
      end();
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- the reason is the caller's
      reject(signals.find((signal) => signal.aborted)?.reason);
    };
    const timer = setTimeout(() => {
      end();
      resolve();
    }, durationMs);
    for (const signal of signals) signal.addEventListener('abort', abort);
    if (signals.some((signal) => signal.aborted)) abort();
  });
}
