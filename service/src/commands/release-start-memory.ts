/** Gives back what a start leaves behind: a fifth of the memory of a service at rest (docs/decisions/0003-reads.md). */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

/** One full collection, of about 100 ms. Node itself waits for memory to become short, which at rest it never does. */
export function releaseStartMemory(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as Collect;
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
