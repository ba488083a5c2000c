/** Lets a few of what takes a connection for seconds run at a time, so that the others of the pool are free for everybody else. */
import pLimit from 'p-limit';
import { ServiceError } from '../errors.ts';

/** Per process, as is each of these numbers. */
const runningMax = 3;
const waitingMax = 30;
/** Of one caller, of whose only one runs at a time: the others find turns left. */
const waitingOfCallerMax = 10;
const retryAfterSeconds = 5;

export type Turns = <Result>(run: () => Promise<Result>, caller?: string | null) => Promise<Result>;

/** `what`: in the plural. What waits has no connection. Throws `unavailable` if too many wait, or too many of the caller. */
export function createTurns(what: string): Turns {
  const turns = pLimit(runningMax);
  const ofCallers = new Map<string, ReturnType<typeof pLimit>>();

  function take<Result>(run: () => Promise<Result>): Promise<Result> {
    if (turns.pendingCount < waitingMax) return turns(run);
    throw tryAgain(`Too many ${what} are waiting.`);
  }

  return async (run, caller = null) => {
    if (caller === null) return take(run);
    const own = ofCallers.get(caller) ?? pLimit(1);
    if (own.pendingCount >= waitingOfCallerMax)
      throw tryAgain(`Too many ${what} of yours are waiting.`);
    ofCallers.set(caller, own);
    try {
      return await own(async () => take(run));
    } finally {
      if (own.activeCount + own.pendingCount === 0) ofCallers.delete(caller);
    }
  };
}

export function tryAgain(reason: string): ServiceError {
  return new ServiceError('unavailable', `${reason} Try again in a moment.`, {
    headers: { 'retry-after': String(retryAfterSeconds) },
  });
}
