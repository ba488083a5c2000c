/** Says what somebody probably meant who gave a name that is not known. */
import { closestMatch } from 'leven';

/** The end of a message: names the closest one if it is close, or all. */
export function suggestName(name: string, known: readonly string[]): string {
  const near = closestMatch(name, known, { maxDistance: Math.ceil(name.length / 3) });
  return near === undefined
    ? `; use one of ${known.join(', ')}`
    : `; did you mean ${JSON.stringify(near)}?`;
}
