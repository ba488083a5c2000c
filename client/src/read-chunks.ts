/** Reads the body of a response as it arrives. */
import { NetworkError } from './network-error.ts';
import { TimeoutError } from './timeout-error.ts';
import { withDeadline } from './with-deadline.ts';

/**
 * The time limit is that of each chunk, because the whole may take longer. `what` names it in errors. It takes the response,
 * because Node.js ends a body that nobody reads yet, as if it were whole, once nothing holds its response.
 */
export async function* readChunks(
  response: Response,
  what: string,
  limits: { timeoutMs: number; signals: AbortSignal[] },
): AsyncGenerator<Uint8Array, void, undefined> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  try {
    for (;;) {
      const ending = await withDeadline(limits, async () => reader.read());
      if (ending.kind === 'aborted') throw ending.reason;
      if (ending.kind === 'timedOut')
        throw new TimeoutError(`${what} paused for ${limits.timeoutMs} ms`, limits.timeoutMs);
      if (ending.kind === 'failed')
        throw new NetworkError(`${what} was interrupted`, { cause: ending.cause });
      if (ending.value.done) return;
      yield ending.value.value;
    }
  } finally {
    // The result of cancelling does not matter.
    void reader.cancel().catch(() => {});
  }
}
