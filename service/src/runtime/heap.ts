/**
 * Sets how the heap grows at rest and under load. New objects start in the young generation; when it is full, V8 copies
 * what is still in use, and while many deliveries are in flight a large young generation halves that work. It never
 * shrinks, so nothing may grow it before there is load: `bin/orgdir.js` keeps it small until then. About a tenth of the
 * deliveries leave something behind in the old generation, which V8 would let grow to several times its used size
 * before it collects.
 *
 * Flags at the start cannot replace this. With only the limits of the young generation the process takes 341 MiB under
 * load instead of 247, and 179 at rest instead of 142. Decision 3 has the figures of other flags.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

let underLoad = false;

/** Applies from now on. May be called often. */
export function sizeHeapForLoad(): void {
  if (underLoad) return;
  underLoad = true;
  // V8 reads both flags whenever it decides. The young generation doubles when much of it is still in use, up to
  // `--max-semi-space-size`; the old one is collected when it is half as large again as what was in use.
  setFlagsFromString('--semi-space-growth-factor=2');
  setFlagsFromString('--heap-growing-percent=50');
}

/**
 * Gives back the memory of what is not in use any more, after work that leaves much behind, such as loading an index. V8
 * keeps it otherwise: it collects only when more is allocated. Marks what is in use in the background; the thread stops
 * for some ten milliseconds.
 */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: object) => Promise<void>;
  await collect({ type: 'major', execution: 'async' });
}
