/** Decides what follows an attempt: success, failure or a retry. Pure: randomness and time are arguments. */
import { attemptsMax, isSuccess } from '../../contract/delivery-rules.ts';

const jitter = 0.2;
export const retryAfterMaxMs = 6 * 3_600_000;
/** A delivery whose secret stays unreadable or whose platform refuses it for longer fails, so that none waits forever. */
export const waitMaxMs = 86_400_000;

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

/** Parses `Retry-After` as RFC 9110 defines it (10.2.3): seconds, or a date in one of three forms. Pure. */

/** How long the header asks to wait, at most `maxMs`; 0 if it is invalid or in the past. */
export function retryAfterMs(header: string, now: Date, maxMs: number): number {
  const text = header.trim();
  const requestedMs = /^\d+$/.test(text)
    ? Number(text) * 1000
    : httpDateMs(text, now) - now.getTime();
  return Number.isNaN(requestedMs) ? 0 : Math.min(Math.max(requestedMs, 0), maxMs);
}

const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
const time = String.raw`(?<hour>\d{2}):(?<minute>\d{2}):(?<second>\d{2})`;
const monthName = `(?<month>${months.join('|')})`;
/** RFC 9110, 5.6.7: the current form, and two older ones that a recipient must still accept. */
const forms = [
  String.raw`(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\d{2}) ${monthName} (?<year>\d{4}) ${time} GMT`,
  String.raw`(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\d{2})-${monthName}-(?<year>\d{2}) ${time} GMT`,
  String.raw`(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ${monthName} (?<day>\d{2}| \d) ${time} (?<year>\d{4})`,
].map((form) => new RegExp(`^${form}$`));

type Parts = Record<'day' | 'month' | 'year' | 'hour' | 'minute' | 'second', string>;

/** NaN for an invalid date; `Date.parse` accepts almost anything. */
function httpDateMs(text: string, now: Date): number {
  for (const form of forms) {
    const parts = form.exec(text)?.groups as Parts | undefined;
    if (parts) return toMs(parts, now);
  }
  return Number.NaN;
}

function toMs(parts: Parts, now: Date): number {
  const day = Number(parts.day);
  const [hour, minute, second] = [parts.hour, parts.minute, parts.second].map(Number) as [
    number,
    number,
    number,
  ];
  const index = months.indexOf(parts.month);
  const at = (year: number) => Date.UTC(year, index, day, hour, minute, second);
  const year = parts.year.length === 2 ? fullYear(Number(parts.year), at, now) : Number(parts.year);
  // A leap second is valid; 31 April is not.
  const isTime = hour <= 23 && minute <= 59 && second <= 60;
  return isTime && day >= 1 && day <= daysIn(year, index) ? at(year) : Number.NaN;
}

/** A two-digit year that seems more than 50 years ahead is the past year with the same last digits. */
function fullYear(digits: number, at: (year: number) => number, now: Date): number {
  const year = now.getUTCFullYear() - (now.getUTCFullYear() % 100) + digits;
  const furthest = new Date(now);
  furthest.setUTCFullYear(now.getUTCFullYear() + 50);
  return at(year) > furthest.getTime() ? year - 100 : year;
}

function daysIn(year: number, month: number): number {
  return new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
}
