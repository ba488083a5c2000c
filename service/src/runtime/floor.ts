/**
 * Remembers up to where a look found everything, so that the next one begins there. Rows that are gone but in somebody's
 * snapshot stay in an index, and without a floor each look would step over all of them.
 */
import { createEvery } from './create-every.ts';

export type Floor<Bottom> = {
  /** Begins a look: once a minute at the bottom, for rows that were locked when it looked. */
  look(): Look<Bottom>;
  /** Where the last look ended. */
  current(): string | Bottom;
  /** The next look begins here, or covers everything, whatever running looks find. */
  reset(to?: string | Bottom): void;
};

type Look<Bottom> = {
  from: string | Bottom;
  /** Call with where it ended, if it found everything. */
  reached: (found: string) => void;
};

/** How often a look covers everything, and not only what an earlier one has not. */
export const fullLookMs = 60_000;

export function createFloor<Bottom>(bottom: Bottom): Floor<Bottom> {
  const isFull = createEvery(fullLookMs);
  let floor: string | Bottom = bottom;
  let resets = 0;
  return {
    look() {
      if (isFull()) floor = bottom;
      const before = resets;
      return {
        from: floor,
        reached(found) {
          if (resets === before) floor = found;
        },
      };
    },
    current: () => floor,
    reset(to = bottom) {
      floor = to;
      resets += 1;
    },
  };
}
