/** Runs a benchmark, cleans up even if it is interrupted, and ends the process. */
import { once } from 'node:events';

export async function runUntilInterrupted(
  cleanUps: AsyncDisposableStack,
  run: () => Promise<void>,
): Promise<never> {
  const interrupted = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]).then(() => {
    process.exitCode = 1;
  });
  try {
    await Promise.race([run(), interrupted]);
  } finally {
    await cleanUps.disposeAsync();
  }
  // An interrupted run still waits for processes that have ended.
  process.exit();
}
