/** A seeded random generator (mulberry32), so that runs are comparable. */
import { createHash } from 'node:crypto';

export type Random = { below(bound: number): number; pick<T>(list: readonly T[]): T };

export function createRandom(seed: number): Random {
  let state = seed;
  function next(): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const below = (bound: number) => Math.floor(next() * bound);
  return {
    below,
    pick<T>(list: readonly T[]): T {
      const picked = list[below(list.length)];
      if (picked === undefined) throw new Error('there is nothing to pick from');
      return picked;
    },
  };
}

/** The seed of a run of scenarios, which prints it and accepts it. */
export const seedVariable = 'FAULTS_SEED';

/** Each scenario has its own sequence, so that it repeats when it runs alone. */
export function randomOf(scenario: string): Random {
  const own = createHash('sha256').update(scenario).digest().readInt32BE();
  return createRandom(Number(process.env[seedVariable] ?? 0) ^ own);
}
