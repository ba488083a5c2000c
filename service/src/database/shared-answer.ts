/** One question to the database on behalf of all who ask at once, with a bound on how long each of them waits. */
import { setTimeout as wait } from 'node:timers/promises';

export type SharedAnswerOptions = {
  /** Who asks is told within this that the database does not answer. */
  withinMs: number;
  /** For how long an answer, good or bad, stands for the next who ask. */
  standsForMs: number;
  /** A question without an answer is given up after this, and the next who asks begins another. */
  givenUpAfterMs?: number;
};

/** The server itself ends a statement by then; what is still unanswered is on a connection that fell silent. */
const statementEndsWithinMs = 15_000;

/** Returns a function that shares one `ask` under way among all who call it. */
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
