/**
 * How the heap grows, at rest and while there is much to deliver. The young generation is where objects begin: when it is
 * full, what is still in use is copied, and while many deliveries are under way a large one spares half of that. But it
 * keeps the size that it has grown to, so that nothing may grow it before there is much to do; `bin/orgdir.js` holds it
 * until then. Of what is in use for longer, some tenth of the deliveries leave something behind in the old generation,
 * which V8 would let grow to several times what is in use before it looks.
 */
import { setFlagsFromString } from 'node:v8';

let underLoad = false;

/** From now on. May be called often. */
export function sizeHeapForLoad(): void {
  if (underLoad) return;
  underLoad = true;
  // V8 reads both each time that it decides. The young generation doubles when much of it is still in use, up to
  // `--max-semi-space-size`; the old one is collected when it is half as large again as what was in use.
  setFlagsFromString('--semi-space-growth-factor=2');
  setFlagsFromString('--heap-growing-percent=50');
}
