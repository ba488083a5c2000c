/** Selects the smallest sort keys of the hits that it is given. */
import type { Entries } from './entries.ts';
import { unmatched } from './segment.ts';

/** Selecting the first ones takes a tenth of the time of sorting all. */
const selectMax = 200;

export function createSelection(entries: Entries, count: number) {
  const keys: number[] = [];
  let largest = Number.POSITIVE_INFINITY;
  let largestLevel = unmatched;
  let leastMembers = 0;

  function insert(key: number): void {
    let at = keys.length;
    keys.push(key);
    while (at > 0 && (keys[at - 1] as number) > key) {
      keys[at] = keys[at - 1] as number;
      at -= 1;
    }
    keys[at] = key;
    if (keys.length > count) keys.pop();
    if (keys.length < count) return;
    largest = keys.at(-1) as number;
    largestLevel = entries.levelOfKey(largest);
    leastMembers = entries.membersOfKey(largest);
  }

  function add(slot: number, level: number): void {
    // Rejects most hits of a long list without their key.
    if (level > largestLevel) return;
    if (level === largestLevel && (entries.members[slot] as number) < leastMembers) return;
    const key = entries.sortKey(slot, level);
    if (count > selectMax) keys.push(key);
    else if (key < largest) insert(key);
  }

  return {
    /** At least the `count` smallest keys, in any order. */
    keys,
    add,
  };
}
