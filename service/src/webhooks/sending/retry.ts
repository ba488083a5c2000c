/** Decides what follows an attempt: success, failure or a retry. Pure: randomness and time are arguments. */
import { attemptsMax, isSuccess } from '../../contract/delivery-rules.ts';
import { retryAfterMs } from './retry-after.ts';

const jitter = 0.2;
const retryAfterMaxMs = 6 * 3_600_000;

export type Backoff = { baseMs: number; factor: number };
export type AttemptResult = {
  statusCode: number | null;
  error: 'dns' | 'connect' | 'tls' | 'timeout' | 'blocked' | 'reset' | 'interrupted' | null;
  /** The header as received, or null. */
  retryAfter: string | null;
};
export type Verdict =
  | { kind: 'succeeded' }
  | { kind: 'failed' }
  | { kind: 'retry'; waitMs: number }
  /** Nothing was sent and nothing counts; the delivery goes back to waiting, `park`ed if its webhook has no room. */
  | { kind: 'postponed'; waitMs: number; park: boolean }
  /** Nothing was sent, because the webhook may no longer have the event. */
  | { kind: 'cancelled'; by: 'deactivation' | 'permission' | 'deletion' | 'suspension' }
  /** Nothing was sent, because the webhook's secret cannot be read; the delivery ends as failed. */
  | { kind: 'given_up' };

/** `attempt` counts from 1 within the cycle. `random` is in [0, 1). */
export function decideVerdict(
  result: AttemptResult,
  cycle: { attempt: number; attemptsMax: number },
  backoff: Backoff,
  random: number,
  now: Date,
): Verdict {
  if (isSuccess(result)) return { kind: 'succeeded' };
  if (cycle.attempt >= cycle.attemptsMax) return { kind: 'failed' };
  const waitMs = backoffMs(cycle.attempt, backoff, random);
  return { kind: 'retry', waitMs: Math.max(waitMs, requestedWaitMs(result, now)) };
}

/** The attempt's position in its cycle. Tests and probes have one attempt. */
export function cycleOf(delivery: { trigger: string; cycleAttempt: number }) {
  const { trigger, cycleAttempt } = delivery;
  const isSingle = trigger === 'test' || trigger === 'probe';
  return { attempt: cycleAttempt, attemptsMax: isSingle ? 1 : attemptsMax };
}

/** base × factor^(n−1), ±20 %. */
export function backoffMs(attempt: number, { baseMs, factor }: Backoff, random: number): number {
  return Math.round(baseMs * factor ** (attempt - 1) * (1 - jitter + 2 * jitter * random));
}

/** How long the receiver asks to wait, on 429 and 503: at most six hours. */
function requestedWaitMs({ statusCode, retryAfter }: AttemptResult, now: Date): number {
  if ((statusCode !== 429 && statusCode !== 503) || retryAfter === null) return 0;
  return retryAfterMs(retryAfter, now, retryAfterMaxMs);
}
