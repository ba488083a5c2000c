/**
 * Remembers up to where a look found everything, so that the next one begins there. Rows that are gone but in somebody's
 * snapshot stay in an index, and without a floor each look would step over all of them.
 */
import { createEvery } from './every.ts';

export type Floor<Bottom> = {
  /** Where the next look begins: once a minute at the bottom, for rows that were locked when it looked. */
  next(): string | Bottom;
  /** Where the last look ended. */
  current(): string | Bottom;
  reached(found: string): void;
};

/** How often a look covers everything, and not only what an earlier one has not. */
export const fullLookMs = 60_000;

export function createFloor<Bottom>(bottom: Bottom): Floor<Bottom> {
  const isFull = createEvery(fullLookMs);
  let floor: string | Bottom = bottom;
  return {
    next() {
      if (isFull()) floor = bottom;
      return floor;
    },
    current: () => floor,
    reached: (found) => void (floor = found),
  };
}
