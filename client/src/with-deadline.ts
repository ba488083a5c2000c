/** `aborted`: one of the caller's signals aborted, with this reason. */
export type Ending<T> =
  | { kind: 'done'; value: T }
  | { kind: 'failed'; cause: unknown }
  | { kind: 'timedOut' }
  | { kind: 'aborted'; reason: unknown };

/**
 * Runs a function with a signal that the caller's signals and a timeout abort, and does not wait for a function that ignores
 * it. `AbortSignal.any` does the same, but leaks memory in some versions of Node.js while a signal lives.
 */
export async function withDeadline<T>(
  { timeoutMs, signals }: { timeoutMs: number; signals: readonly AbortSignal[] },
  run: (signal: AbortSignal) => Promise<T>,
): Promise<Ending<T>> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  const aborting = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(new Error('aborted')));
  });
  // It rejects unseen if a signal aborts before the function runs.
  aborting.catch(() => {});
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    abort();
  }, timeoutMs);
  for (const signal of signals) signal.addEventListener('abort', abort);
  try {
    const aborted = signals.find((signal) => signal.aborted);
    if (aborted) return { kind: 'aborted', reason: aborted.reason };
    return { kind: 'done', value: await Promise.race([run(controller.signal), aborting]) };
  } catch (cause) {
    const aborted = signals.find((signal) => signal.aborted);
    if (aborted) return { kind: 'aborted', reason: aborted.reason };
    return timedOut ? { kind: 'timedOut' } : { kind: 'failed', cause };
  } finally {
    clearTimeout(timer);
    for (const signal of signals) signal.removeEventListener('abort', abort);
  }
}
