/**
 * Shares one database query among all callers that need it at the same time, and limits how long each of them waits.
 */
import { setTimeout as wait } from 'node:timers/promises';

export type SharedAnswerOptions = {
  /** A caller gets an error after this time. */
  withinMs: number;
  /** How long a result, good or bad, is reused for later callers. */
  standsForMs: number;
  /** A query without a result is abandoned after this, and the next caller starts another. */
  givenUpAfterMs?: number;
};

/** The server itself ends a statement by then, so a query that still waits is on a dead connection. */
const statementEndsWithinMs = 15_000;

/** Returns a function whose callers share one running `ask`. */
export function shareAnswer<T>(
  ask: () => Promise<T>,
  { withinMs, standsForMs, givenUpAfterMs = statementEndsWithinMs }: SharedAnswerOptions,
): () => Promise<T> {
  let asked: Promise<T> | null = null;

  function begin(): Promise<T> {
    const answer = ask();
    const forget = () => {
      if (asked === answer) asked = null;
    };
    const silent = setTimeout(forget, givenUpAfterMs).unref();
    const answered = () => {
      clearTimeout(silent);
      setTimeout(forget, standsForMs).unref();
    };
    answer.then(answered, answered);
    return answer;
  }

  return async () => {
    const timer = new AbortController();
    const late = wait(withinMs, undefined, { ref: false, signal: timer.signal }).then(() => {
      throw new Error('the database did not answer in time');
    });
    late.catch(() => {});
    try {
      return await Promise.race([(asked ??= begin()), late]);
    } finally {
      timer.abort();
    }
  };
}
