/** Whether a request that failed is sent once more, and when. Pure: randomness comes in. */
import { ApiError } from './api-error.ts';
import { NetworkError } from './network-error.ts';
import { TimeoutError } from './timeout-error.ts';
import { UnexpectedAnswerError } from './unexpected-answer-error.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
export type Failure = ApiError | NetworkError | TimeoutError | UnexpectedAnswerError;
export type Retry = {
  method: Method;
  failure: Failure;
  /** How many attempts were made. */
  attempts: number;
  /** How many may follow the first. */
  retries: number;
  /** From 0 to 1. */
  random: number;
};

const backoffBaseMs = 500;
const backoffMaxMs = 8000;
/** The rate limit's window is a minute. Who is asked to wait for longer should hear of it instead. */
const retryAfterMaxSeconds = 60;
/** So that those who were refused together do not come back together. */
const spreadMs = 250;

/** How long to wait before the next attempt, in milliseconds; null where there is none. */
export function retryWaitMs({ method, failure, attempts, retries, random }: Retry): number | null {
  if (attempts > retries || !mayRetry(method, failure)) return null;
  const backoffMs = Math.min(backoffBaseMs * 2 ** (attempts - 1), backoffMaxMs);
  const jitteredMs = backoffMs * (0.5 + random / 2);
  const askedSeconds = 'retryAfter' in failure ? failure.retryAfter : null;
  if (askedSeconds === null) return jitteredMs;
  if (askedSeconds > retryAfterMaxSeconds) return null;
  return Math.max(askedSeconds * 1000 + random * spreadMs, jitteredMs);
}

/** What may have been done already is asked for again only where twice is the same as once. */
export function mayRetry(method: Method, failure: Failure): boolean {
  if (wasRefusedBefore(failure)) return true;
  if (method !== 'GET' && method !== 'DELETE') return false;
  if (failure instanceof NetworkError || failure instanceof TimeoutError) return true;
  return [502, 503, 504].includes(failure.status);
}

/** Answers that are given before anything is done. The 503 `unavailable` is not one: it may come from a lost commit. */
function wasRefusedBefore(failure: Failure): boolean {
  if (!(failure instanceof ApiError || failure instanceof UnexpectedAnswerError)) return false;
  return failure.status === 429 || (failure instanceof ApiError && failure.code === 'maintenance');
}
