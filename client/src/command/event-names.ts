import { invalidArguments } from './command-error.ts';
import { pulledEvents, samples } from './samples.ts';

export const eventNames = Object.keys(samples) as (keyof typeof samples)[];

/** Throws for an unknown name, with the nearest known one. */
export function checkEventName(name: string): keyof typeof samples {
  const known = eventNames.find((each) => each === name);
  if (known !== undefined) return known;
  const [nearest] = [...eventNames].sort((a, b) => distance(name, a) - distance(name, b));
  throw invalidArguments(`there is no event ${name.slice(0, 64)}; did you mean ${nearest}?`);
}

/** The stream has opt-in events only for a webhook that names them, and no tests and probes. */
export function checkStreamed(name: string): void {
  if (!(pulledEvents as readonly string[]).includes(checkEventName(name)))
    throw invalidArguments(
      `${name} goes only to webhooks that name it; add --webhook with the id of one`,
    );
}

/** Levenshtein. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const character of a.slice(0, 64)) {
    const next = [(row[0] ?? 0) + 1];
    for (let j = 0; j < b.length; j += 1)
      next.push(
        Math.min(
          (row[j] ?? 0) + (character === b[j] ? 0 : 1),
          (row[j + 1] ?? 0) + 1,
          (next[j] ?? 0) + 1,
        ),
      );
    row = next;
  }
  return row.at(-1) ?? 0;
}
