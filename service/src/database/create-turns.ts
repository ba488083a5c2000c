/** Lets a few of what takes a connection for seconds run at a time, so that the others of the pool are free for everybody else. */
import pLimit from 'p-limit';
import { ServiceError } from '../errors.ts';

/** Per process, as is each of these numbers. */
const runningMax = 3;
const waitingMax = 30;
/** Of one caller, who may have more requests at a time than these: the others are for other things. */
const waitingOfCallerMax = 3;
const retryAfterSeconds = 5;

export type Turns = <Result>(run: () => Promise<Result>, caller?: string | null) => Promise<Result>;

/** `what`: in the plural. What waits has no connection. Of each caller one runs at a time. Throws `unavailable` if too many wait, or too many of the caller. */
export function createTurns(what: string): Turns {
  const turns = pLimit(runningMax);
  const inTurnOfCaller = createTurnsOfCallers(1, (waiting) => {
    if (waiting >= waitingOfCallerMax) throw tryAgain(`Too many ${what} of yours are waiting.`);
  });

  async function take<Result>(run: () => Promise<Result>): Promise<Result> {
    if (turns.pendingCount < waitingMax) return turns(run);
    throw tryAgain(`Too many ${what} are waiting.`);
  }

  return (run, caller = null) =>
    caller === null ? take(run) : inTurnOfCaller(caller, () => take(run));
}

/** Lets `running` of each caller run at a time. `requireFew` gets how many of them wait, and throws if they are too many. */
export function createTurnsOfCallers(
  running: number,
  requireFew: (waiting: number) => void = () => {},
) {
  const ofCallers = new Map<string, ReturnType<typeof pLimit>>();
  return async <Result>(caller: string, run: () => Result | Promise<Result>): Promise<Result> => {
    const own = ofCallers.get(caller) ?? pLimit(running);
    requireFew(own.pendingCount);
    ofCallers.set(caller, own);
    try {
      return await own(async () => run());
    } finally {
      const isOver = own.activeCount + own.pendingCount === 0;
      if (isOver && ofCallers.get(caller) === own) ofCallers.delete(caller);
    }
  };
}

/** A statement that somebody waits for is cancelled after this time. */
export const statementMaxMs = 5_000;

export function takesTooLong(): ServiceError {
  return new ServiceError(
    'conflict',
    `This takes more than ${statementMaxMs / 1_000} seconds. Choose a shorter time range.`,
  );
}

export function tryAgain(reason: string): ServiceError {
  return new ServiceError('unavailable', `${reason} Try again in a moment.`, {
    headers: { 'retry-after': String(retryAfterSeconds) },
  });
}
