/** All random choices come from one seed, which a run prints and accepts. */
import { createHash } from 'node:crypto';
import { createRandom, type Random } from '../bench/random.ts';

export const seedVariable = 'FAULTS_SEED';

export function randomOf(scenario: string): Random {
  const seed = Number(process.env[seedVariable]);
  // Each scenario has its own sequence, so that it repeats when it runs alone.
  const own = createHash('sha256').update(scenario).digest().readInt32BE();
  return createRandom(seed ^ own);
}
