/** Finds the slots that a search matches, and puts them in order. */
import { unmatched, type Entries, type Hits, type Unlisted } from './entries.ts';
import { fieldBits, fieldMask, fields, type Segment } from './segment.ts';
import { mistyped } from './vocabulary.ts';

export type Window = {
  offset: number;
  limit: number;
  /** Mistyped words match only if fewer entries than this are found without them. */
  pageSize: number;
  /** Default: none. */
  unlisted?: Unlisted;
};
export type Found = {
  total: number;
  /** The ordinals of the entries in the window, the most relevant first. */
  ordinals: number[];
  /** How well each of them matches: a smaller level is a better match. */
  levels: number[];
};

/** Words of letters only may be mistyped, from these lengths on. */
const letters = /^[\p{L}\p{M}]+$/u;
const typoLengths = [
  { length: 9, typos: 2 },
  { length: 5, typos: 1 },
];

/**
 * Finds the entries where every term matches. The level of an entry is that of its worst term: whole words before starts
 * of words, before parts of words, and each of these in the name before the tag, before other fields.
 */
export function match(
  entries: Entries,
  segments: Segment[],
  terms: string[],
  { typos, window, visibilityMax }: { typos: boolean; window: Window; visibilityMax: number },
): Found {
  const { visibility } = entries;
  let [hits, before] = entries.scratch;
  for (const [index, term] of terms.entries()) {
    [hits, before] = [before, hits];
    const scope = index === 0 ? null : before;
    for (const segment of segments)
      matchTerm(segment, { term, typos, hits, scope, visibility, visibilityMax });
    if (scope) raiseLevels(hits, scope);
    forget(before);
    if (hits.count === 0) break;
  }
  const found = rank(entries, hits, window);
  forget(hits);
  return found;
}

/** Adds the entries of a segment where a term matches to `hits`, unless they are missing in `scope`. */
function matchTerm(
  { vocabulary, offsets, postings }: Segment,
  {
    term,
    typos,
    hits,
    scope,
    ...visible
  }: Visible & { term: string; typos: boolean; hits: Hits; scope: Hits | null },
): void {
  const visit = (word: number, matched: number) => {
    const [from, end] = [offsets[word] as number, offsets[word + 1] as number];
    const list = { postings, from, end, firstLevel: matched * fields };
    if (!scope) addAll(hits, list, visible);
    else if (end - from > scope.count * lookUpCost) addFound(hits, list, scope);
    else addCommon(hits, list, scope);
  };
  vocabulary.findContaining(term, visit);
  const typosMax = typos ? typosIn(term) : 0;
  if (typosMax > 0) vocabulary.findMistyped(term, typosMax, (word) => visit(word, mistyped));
}

/** Looking up an entry in a long list takes about as long as reading so many entries of it. */
const lookUpCost = 16;

/** The postings of a word. `firstLevel` is the level of a match in the best field. */
type List = { postings: Uint32Array; from: number; end: number; firstLevel: number };

type Visible = { visibility: Uint8Array; visibilityMax: number };

// These loops see up to a million postings per search: they use nothing but numbers.

function addAll(
  hits: Hits,
  { postings, from, end, firstLevel }: List,
  { visibility, visibilityMax }: Visible,
): void {
  const { levels, slots } = hits;
  let { count } = hits;
  for (let at = from; at < end; at += 1) {
    const posting = postings[at] as number;
    const slot = posting >>> fieldBits;
    const level = firstLevel + (posting & fieldMask);
    const known = levels[slot] as number;
    if (level >= known) continue;
    if (known === unmatched) {
      if ((visibility[slot] as number) > visibilityMax) continue;
      slots[count] = slot;
      count += 1;
    }
    levels[slot] = level;
  }
  hits.count = count;
}

function addCommon(hits: Hits, { postings, from, end, firstLevel }: List, scope: Hits): void {
  const { levels, slots } = hits;
  const inScope = scope.levels;
  let { count } = hits;
  for (let at = from; at < end; at += 1) {
    const posting = postings[at] as number;
    const slot = posting >>> fieldBits;
    const level = firstLevel + (posting & fieldMask);
    const known = levels[slot] as number;
    if (level >= known || inScope[slot] === unmatched) continue;
    if (known === unmatched) {
      slots[count] = slot;
      count += 1;
    }
    levels[slot] = level;
  }
  hits.count = count;
}

function addFound(hits: Hits, { postings, from, end, firstLevel }: List, scope: Hits): void {
  const { levels, slots } = hits;
  for (let index = 0; index < scope.count; index += 1) {
    const slot = scope.slots[index] as number;
    let [low, high] = [from, end];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((postings[middle] as number) >>> fieldBits < slot) low = middle + 1;
      else high = middle;
    }
    const posting = low < end ? (postings[low] as number) : -1;
    if (posting >>> fieldBits !== slot) continue;
    const level = firstLevel + (posting & fieldMask);
    if (levels[slot] === unmatched) {
      slots[hits.count] = slot;
      hits.count += 1;
    }
    if (level < (levels[slot] as number)) levels[slot] = level;
  }
}

function raiseLevels({ levels, slots, count }: Hits, before: Hits): void {
  for (let index = 0; index < count; index += 1) {
    const slot = slots[index] as number;
    levels[slot] = Math.max(levels[slot] as number, before.levels[slot] as number);
  }
}

/** Filling the whole space takes about as long as resetting a fiftieth of it entry by entry. */
const fillCost = 50;

/** Leaves the scratch space empty for the next term or search. */
function forget(hits: Hits): void {
  if (hits.count > hits.levels.length / fillCost) hits.levels.fill(unmatched);
  else
    for (let index = 0; index < hits.count; index += 1)
      hits.levels[hits.slots[index] as number] = unmatched;
  hits.count = 0;
}

/** The number of typing errors that a term may have. */
export function typosIn(term: string): number {
  if (!letters.test(term)) return 0;
  return typoLengths.find(({ length }) => term.length >= length)?.typos ?? 0;
}

function rank(entries: Entries, hits: Hits, { offset, limit }: Window): Found {
  const keys = smallestKeys(entries, hits, offset + limit).slice(offset);
  return {
    total: hits.count,
    ordinals: keys.map((key) => entries.ordinalOfKey(key)),
    levels: keys.map((key) => entries.levelOfKey(key)),
  };
}

/** Selecting the first ones takes a tenth of the time of sorting all. */
const selectMax = 200;

/** The first `count` sort keys. */
function smallestKeys(entries: Entries, hits: Hits, count: number): number[] {
  if (count > selectMax) return sortedKeys(entries, hits).slice(0, count);
  const keys: number[] = [];
  let largest = Number.POSITIVE_INFINITY;
  let largestLevel = unmatched;
  let leastMembers = 0;
  for (let index = 0; index < hits.count; index += 1) {
    const slot = hits.slots[index] as number;
    const level = hits.levels[slot] as number;
    // Rejects most hits of a long list without their key.
    if (level > largestLevel) continue;
    if (level === largestLevel && (entries.members[slot] as number) < leastMembers) continue;
    const key = entries.sortKey(slot, level);
    if (key >= largest) continue;
    insert(keys, key);
    if (keys.length > count) keys.pop();
    if (keys.length < count) continue;
    largest = keys.at(-1) as number;
    largestLevel = entries.levelOfKey(largest);
    leastMembers = entries.membersOfKey(largest);
  }
  return keys;
}

function sortedKeys(entries: Entries, hits: Hits): number[] {
  const keys = new Float64Array(hits.count);
  for (const index of keys.keys()) {
    const slot = hits.slots[index] as number;
    keys[index] = entries.sortKey(slot, hits.levels[slot] as number);
  }
  return [...keys.sort()];
}

function insert(keys: number[], key: number): void {
  let at = keys.length;
  keys.push(key);
  while (at > 0 && (keys[at - 1] as number) > key) {
    keys[at] = keys[at - 1] as number;
    at -= 1;
  }
  keys[at] = key;
}
