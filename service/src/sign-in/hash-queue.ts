/**
 * Lets few passwords be hashed at once: each takes a tenth of a second of a core and 32 MB, on the threads that files and
 * deflating need too. Whoever comes while too many wait is sent away, so that a flood of sign-ins ends there.
 */
export type HashQueue = <T>(work: () => Promise<T>) => Promise<T>;

/** Half of the two cores that the service is made for. */
const hashesAtOnce = 1;
/** Some seconds of waiting. */
const waitingMax = 40;

export function createHashQueue(tooMany: () => Error): HashQueue {
  const waiting: (() => void)[] = [];
  let running = 0;

  return async (work) => {
    if (running >= hashesAtOnce) {
      if (waiting.length >= waitingMax) throw tooMany();
      // Whoever ends hands its place on.
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
      });
    } else running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
