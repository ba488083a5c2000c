/** Finds the slots that a search matches, and puts them in order. */
import type { Entries, Hits, Unlisted } from './entries.ts';
import { fieldBits, fieldMask, fields, unmatched, type Segment } from './segment.ts';
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
  const { hits } = entries;
  for (const segment of segments) {
    const first = hits.count;
    const [rarest, ...others] = terms
      .map((term) => matchWords(segment, term, typos))
      .sort((a, b) => a.postings - b.postings);
    if (rarest) addHits(hits, segment, rarest, entries.visibility, visibilityMax);
    for (const each of others) keepHits(hits, first, segment, each);
  }
  const found = rank(entries, hits, window);
  forget(hits);
  return found;
}

/** The words of a segment that a term matches, how well each matches, and the number of their postings. */
type MatchedWords = { words: number[]; matches: number[]; postings: number };

function matchWords({ vocabulary, offsets }: Segment, term: string, typos: boolean): MatchedWords {
  const found: MatchedWords = { words: [], matches: [], postings: 0 };
  const visit = (word: number, matched: number) => {
    found.words.push(word);
    found.matches.push(matched);
    found.postings += (offsets[word + 1] as number) - (offsets[word] as number);
  };
  vocabulary.findContaining(term, visit);
  const typosMax = typos ? typosIn(term) : 0;
  if (typosMax > 0) vocabulary.findMistyped(term, typosMax, (word) => visit(word, mistyped));
  return found;
}

// The loops below see up to a million postings per search: they use nothing but numbers.

/** Adds the entries with one of the words. */
function addHits(
  hits: Hits,
  { offsets, postings }: Segment,
  { words, matches }: MatchedWords,
  visibility: Uint8Array,
  visibilityMax: number,
): void {
  const { levels, slots } = hits;
  let { count } = hits;
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] as number;
    const firstLevel = (matches[index] as number) * fields;
    const end = offsets[word + 1] as number;
    for (let at = offsets[word] as number; at < end; at += 1) {
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
  }
  hits.count = count;
}

/** Keeps those of the hits from `first` on that have one of the words too, and raises their levels. */
function keepHits(hits: Hits, first: number, segment: Segment, matched: MatchedWords): void {
  const { levels, otherLevels, slots } = hits;
  const wordsPerSlot = segment.words.length / segment.wordOffsets.length;
  if (matched.postings < (hits.count - first) * wordsPerSlot) readPostings(hits, segment, matched);
  else readWords(hits, first, segment, matched);
  let count = first;
  for (let index = first; index < hits.count; index += 1) {
    const slot = slots[index] as number;
    const level = otherLevels[slot] as number;
    otherLevels[slot] = unmatched;
    if (level > (levels[slot] as number)) levels[slot] = level;
    if (level === unmatched) continue;
    slots[count] = slot;
    count += 1;
  }
  hits.count = count;
}

/** Writes the levels of hits into `otherLevels`, from the postings of the words. */
function readPostings(
  { levels, otherLevels }: Hits,
  { offsets, postings }: Segment,
  { words, matches }: MatchedWords,
): void {
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] as number;
    const firstLevel = (matches[index] as number) * fields;
    const end = offsets[word + 1] as number;
    for (let at = offsets[word] as number; at < end; at += 1) {
      const posting = postings[at] as number;
      const slot = posting >>> fieldBits;
      const level = firstLevel + (posting & fieldMask);
      if (level < (otherLevels[slot] as number) && levels[slot] !== unmatched)
        otherLevels[slot] = level;
    }
  }
}

/** The same, from the words of each hit. */
function readWords(
  { slots, otherLevels, count }: Hits,
  first: number,
  { firstSlot, wordOffsets, words, levelOfWord }: Segment,
  matched: MatchedWords,
): void {
  for (let index = 0; index < matched.words.length; index += 1)
    levelOfWord[matched.words[index] as number] = (matched.matches[index] as number) * fields;
  for (let index = first; index < count; index += 1) {
    const slot = slots[index] as number;
    const end = wordOffsets[slot - firstSlot + 1] as number;
    let best = unmatched;
    for (let at = wordOffsets[slot - firstSlot] as number; at < end; at += 1) {
      const word = words[at] as number;
      const level = (levelOfWord[word >>> fieldBits] as number) + (word & fieldMask);
      if (level < best) best = level;
    }
    otherLevels[slot] = best;
  }
  for (const word of matched.words) levelOfWord[word] = unmatched;
}

/** Filling the whole space takes about as long as resetting a fiftieth of it entry by entry. */
const fillCost = 50;

/** Leaves the space empty for the next search. */
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
