/** Lets a few of what takes a connection for seconds run at a time, so that the others of the pool are free for everybody else. */
import pLimit from 'p-limit';
import { ServiceError } from '../errors.ts';

/** Per process, as is each of these numbers. */
const runningMax = 3;
const waitingMax = 30;
const retryAfterSeconds = 5;

export type Turns = <Result>(run: () => Promise<Result>) => Promise<Result>;

/** `what`: in the plural. What waits has no connection. Throws `unavailable` if too many wait. */
export function createTurns(what: string): Turns {
  const turns = pLimit(runningMax);
  return async (run) => {
    if (turns.pendingCount < waitingMax) return turns(run);
    throw tryAgain(`Too many ${what} are waiting.`);
  };
}

export function tryAgain(reason: string): ServiceError {
  return new ServiceError('unavailable', `${reason} Try again in a moment.`, {
    headers: { 'retry-after': String(retryAfterSeconds) },
  });
}
