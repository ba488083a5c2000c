/** Makes all properties of a process meet the same random values at each run with a seed. */
import fc from 'fast-check';

export function chooseRandomValues(seed: number): void {
  fc.configureGlobal({ seed });
}
