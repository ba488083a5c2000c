/** Every moment that is chosen at random comes from one number, which a run prints and takes back. */
import { createHash } from 'node:crypto';
import { createRandom, type Random } from '../bench/random.ts';

export const seedVariable = 'FAULTS_SEED';

export function randomOf(scenario: string): Random {
  const seed = Number(process.env[seedVariable]);
  // Each scenario has numbers of its own, so that one run alone repeats what it did among the others.
  const own = createHash('sha256').update(scenario).digest().readInt32BE();
  return createRandom(seed ^ own);
}
