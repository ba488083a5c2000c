/** Ends a command gracefully. */

/** Shells use 128 plus the signal's number as the exit code of a process that a signal ended. */
export const signalCodes = [
  // The terminal was closed.
  ['SIGHUP', 129],
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const;

/** Ctrl-C on a terminal reaches the whole process group, and npm forwards it as well: count both as one signal. */
export const sameSignalMs = 500;

/** `signal` aborts on the first signal, and when standard output is closed. A second signal ends the process at once. */
export function catchSignals(): { signal: AbortSignal; remove(): void } {
  const controller = new AbortController();
  let receivedAt: number | null = null;
  const end = () => controller.abort();
  const handlers = signalCodes.map(([name, code]) => {
    const onSignal = () => {
      if (receivedAt !== null && Date.now() - receivedAt > sameSignalMs) process.exit(code);
      receivedAt ??= Date.now();
      end();
    };
    process.on(name, onSignal);
    return () => process.off(name, onSignal);
  });
  process.stdout.on('error', end);
  return {
    signal: controller.signal,
    remove: () => {
      for (const remove of handlers) remove();
      process.stdout.off('error', end);
    },
  };
}
