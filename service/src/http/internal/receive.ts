/** Yields a request body in chunks while they arrive, without buffering it. */
import type { IncomingMessage } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { invalid } from '../../errors.ts';
import { tooLarge } from '../responses/send-error.ts';

/** Other writers wait while this request is idle. */
export const pauseMsMax = 10_000;

/** Throws `validation_failed` if the connection closes or stalls, `payload_too_large` beyond `bytesMax`. */
export async function* receive(
  request: IncomingMessage,
  bytesMax: number,
  pauseMs = pauseMsMax,
): AsyncGenerator<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) throw tooLarge(bytesMax);
  // Not destroyed if the reader ends early: that would cut the connection before the response.
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await nextOf(chunks, pauseMs);
      if (done) return;
      bytes += value.length;
      if (bytes > bytesMax) throw tooLarge(bytesMax);
      yield value;
    }
  } finally {
    // The rest of the body is discarded, so that the caller gets to read the response.
    request.resume();
  }
}

async function nextOf(
  chunks: AsyncIterator<Buffer>,
  pauseMs: number,
): Promise<IteratorResult<Buffer>> {
  const finished = new AbortController();
  const stalled = wait(pauseMs, 'stalled' as const, { signal: finished.signal, ref: false });
  // If a chunk comes first, nobody awaits this promise, and its rejection would end the process.
  stalled.catch(() => {});
  try {
    const next = await Promise.race([chunks.next(), stalled]);
    if (next === 'stalled') throw stalledBody(pauseMs);
    return next;
  } catch (error) {
    const { code = '' } = error as { code?: string };
    throw cutCodes.has(code) ? cutOff(error) : error;
  } finally {
    finished.abort();
  }
}

const cutCodes = new Set(['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE']);

function stalledBody(pauseMs: number): Error {
  return invalid({
    path: 'body',
    message: `must arrive without pauses of ${pauseMs / 1000} seconds`,
  });
}

function cutOff(cause: unknown): Error {
  const error = invalid({ path: 'body', message: 'ended early' });
  error.cause = cause;
  return error;
}
