/**
 * The part of the heap in which objects begin. When it is full, what is still in use is copied: while many deliveries are
 * under way a large one spares half of that. But it keeps the size that it has grown to, so that nothing may grow it
 * before there is much to do; `bin/orgdir.js` holds it until then.
 */
import { setFlagsFromString } from 'node:v8';

let mayGrow = false;

/** From now on it doubles when much of it is still in use, up to `--max-semi-space-size`. May be called often. */
export function letYoungGenerationGrow(): void {
  if (mayGrow) return;
  mayGrow = true;
  // V8 reads this each time that it decides whether to grow.
  setFlagsFromString('--semi-space-growth-factor=2');
}
