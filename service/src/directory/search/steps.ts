/** Work that leaves the thread free in between: each step takes a few milliseconds at most. */
import { setImmediate as others } from 'node:timers/promises';

export type Steps<Result> = Generator<void, Result>;

/** Takes all steps at once. */
export function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Lets others use the thread after each step. */
export async function finishInTurns<Result>(
  steps: Steps<Result>,
  signal: AbortSignal,
): Promise<Result> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    await others();
    signal.throwIfAborted();
  }
}

/** Visits all elements, with a step for each `length` of them. */
export function* inSteps<Element>(
  elements: ArrayLike<Element>,
  length: number,
  visit: (element: Element, index: number) => void,
): Steps<void> {
  for (let from = 0; from < elements.length; from += length) {
    const end = Math.min(from + length, elements.length);
    for (let index = from; index < end; index += 1) visit(elements[index] as Element, index);
    yield;
  }
}
