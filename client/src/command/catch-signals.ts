/** Ends a command gracefully. */

/** Shells use 128 plus the signal's number as the exit code of a process that a signal ended. */
const signalCodes = [
  // The terminal was closed.
  ['SIGHUP', 129],
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const;

/** Ctrl-C on a terminal reaches the whole process group, and npm forwards it as well: count both as one signal. */
const sameSignalMs = 500;

/** Calls `act` with the exit code of the first signal. A second one ends the process at once. Returns a function that stops it. */
export function onFirstSignal(act: (code: number) => void): () => void {
  let receivedAt: number | null = null;
  const handlers = signalCodes.map(([name, code]) => {
    const onSignal = () => {
      if (receivedAt === null) {
        receivedAt = Date.now();
        act(code);
      } else if (Date.now() - receivedAt > sameSignalMs) process.exit(code);
    };
    process.on(name, onSignal);
    return () => process.off(name, onSignal);
  });
  return () => {
    for (const remove of handlers) remove();
  };
}

/** `signal` aborts on the first signal, and when standard output is closed. A second signal ends the process at once. */
export function catchSignals(): { signal: AbortSignal; remove(): void } {
  const controller = new AbortController();
  const end = () => controller.abort();
  const removeSignals = onFirstSignal(end);
  process.stdout.on('error', end);
  return {
    signal: controller.signal,
    remove: () => {
      removeSignals();
      process.stdout.off('error', end);
    },
  };
}
