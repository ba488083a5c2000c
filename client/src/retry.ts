/** Decides whether and when a failed request is retried. Pure: randomness is an argument. */
import { ApiError } from './api-error.ts';
import { NetworkError } from './network-error.ts';
import { OrgdirError } from './orgdir-error.ts';
import { TimeoutError } from './timeout-error.ts';
import { UnexpectedResponseError } from './unexpected-response-error.ts';

export type Failure = ApiError | NetworkError | TimeoutError | UnexpectedResponseError;
export type Retry = {
  /** Whether the request may be executed twice. */
  isIdempotent: boolean;
  failure: Failure;
  /** The number of attempts so far. */
  attempts: number;
  /** The maximum number of retries. */
  retries: number;
  /** From 0 to 1. */
  random: number;
};

const backoffBaseMs = 500;
const backoffMaxMs = 8000;
/** The window of the rate limit. A longer wait is reported to the caller instead. */
export const retryAfterMaxSeconds = 60;
/** Spreads clients that were rejected at the same time. */
export const spreadMs = 250;

/** Returns the wait before the next attempt in milliseconds, or null if there is none. */
export function retryWaitMs({
  isIdempotent,
  failure,
  attempts,
  retries,
  random,
}: Retry): number | null {
  if (attempts > retries || !mayRetry(isIdempotent, failure)) return null;
  const backoffMs = Math.min(backoffBaseMs * 2 ** (attempts - 1), backoffMaxMs);
  const jitteredMs = backoffMs * (0.5 + random / 2);
  const retryAfterSeconds = 'retryAfter' in failure ? failure.retryAfter : null;
  if (retryAfterSeconds === null) return jitteredMs;
  if (retryAfterSeconds > retryAfterMaxSeconds) return null;
  return Math.max(retryAfterSeconds * 1000 + random * spreadMs, jitteredMs);
}

/** A request that the service may have executed is retried only if it is idempotent. */
function mayRetry(isIdempotent: boolean, failure: Failure): boolean {
  if (wasRejectedUnexecuted(failure)) return true;
  if (!isIdempotent) return false;
  if (failure instanceof NetworkError || failure instanceof TimeoutError) return true;
  return [502, 503, 504].includes(failure.status);
}

/**
 * Whether a loop that runs for ever goes on after a failure. Once it has read something of the service, a response of something
 * else came from between them, such as the sign-in page of a network, and an error of the service itself may be mended; before
 * that, `baseUrl` may be wrong, and so it is if the service has moved for good.
 */
export function isTemporary(error: unknown, hasRead: boolean): error is Failure {
  if (hasRead && error instanceof ApiError && error.status === 500) return true;
  if (error instanceof UnexpectedResponseError && hasRead && ![301, 308].includes(error.status))
    return true;
  return error instanceof OrgdirError && mayRetry(true, error as Failure);
}

/** Whether the service rejected the request before executing it. The 503 `unavailable` may come from a lost commit. */
function wasRejectedUnexecuted(failure: Failure): boolean {
  if (!(failure instanceof ApiError || failure instanceof UnexpectedResponseError)) return false;
  return failure.status === 429 || (failure instanceof ApiError && failure.code === 'maintenance');
}
