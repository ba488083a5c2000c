/** Finds the entries of a segment where every term matches, in one of two ways. */
import { hasBit, setBit, bitsFor, countBits } from './bits.ts';
import type { Entries, Hits } from './entries.ts';
import {
  fieldBits,
  fieldMask,
  fields,
  unmatched,
  type MatchedWords,
  type Segment,
  type SegmentHits,
  type SegmentQuery,
  type LevelSets,
} from './segment.ts';

/**
 * For searches in which at least one term matches few entries, the first one. Collects the hits of that term; each further term
 * then keeps some of them.
 */
export function matchFew(
  entries: Entries,
  segment: Segment,
  [rarest, ...others]: MatchedWords[],
  { visible, matched, count }: SegmentQuery,
): SegmentHits {
  const { hits } = entries;
  if (rarest) hits.count = readPostings(hits, segment, rarest, visible);
  for (const each of others) keepHits(hits, segment, each);
  const { keys, add } = createSelection(entries, count);
  for (let index = 0; index < hits.count; index += 1) {
    const slot = hits.slots[index] as number;
    add(slot, hits.levels[slot] as number);
    if (matched) setBit(matched, slot, true);
  }
  const total = hits.count;
  forget(hits);
  return { total, keys };
}

// The loops below use nothing but numbers: they see up to a million postings per search.

/** Keeps those of the hits that have one of the words too, and raises their levels. */
function keepHits(hits: Hits, segment: Segment, matched: MatchedWords): void {
  const { levels, otherLevels, slots } = hits;
  const wordsPerSlot = segment.words.length / segment.wordOffsets.length;
  if (matched.postings < hits.count * wordsPerSlot) readPostings(hits, segment, matched, null);
  else readWords(hits, segment, matched);
  let count = 0;
  for (let index = 0; index < hits.count; index += 1) {
    const slot = slots[index] as number;
    const level = otherLevels[slot] as number;
    otherLevels[slot] = unmatched;
    if (level === unmatched) {
      levels[slot] = unmatched;
      continue;
    }
    if (level > (levels[slot] as number)) levels[slot] = level;
    slots[count] = slot;
    count += 1;
  }
  hits.count = count;
}

/**
 * Writes the levels of entries with one of the words: of visible ones, which become hits, or without `visible` those of hits,
 * into `otherLevels`. Returns the number of entries that became hits.
 */
function readPostings(
  { levels, otherLevels, slots }: Hits,
  { offsets, postings }: Segment,
  { words, matches }: MatchedWords,
  visible: Uint32Array | null,
): number {
  const written = visible ? levels : otherLevels;
  let count = 0;
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] as number;
    const firstLevel = (matches[index] as number) * fields;
    const end = offsets[word + 1] as number;
    for (let at = offsets[word] as number; at < end; at += 1) {
      const posting = postings[at] as number;
      const slot = posting >>> fieldBits;
      const level = firstLevel + (posting & fieldMask);
      const known = written[slot] as number;
      if (level >= known) continue;
      if (visible === null) {
        if (levels[slot] === unmatched) continue;
      } else if (known === unmatched) {
        if (!hasBit(visible, slot)) continue;
        slots[count] = slot;
        count += 1;
      }
      written[slot] = level;
    }
  }
  return count;
}

/** Writes the levels of hits into `otherLevels`, from the words of each. */
function readWords(
  { slots, otherLevels, count }: Hits,
  { firstSlot, wordOffsets, words, levelOfWord }: Segment,
  matched: MatchedWords,
): void {
  for (let index = 0; index < matched.words.length; index += 1)
    levelOfWord[matched.words[index] as number] = (matched.matches[index] as number) * fields;
  for (let index = 0; index < count; index += 1) {
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

/** Leaves the space empty for the next search. */
function forget(hits: Hits): void {
  for (let index = 0; index < hits.count; index += 1)
    hits.levels[hits.slots[index] as number] = unmatched;
  hits.count = 0;
}

/**
 * For searches in which each term matches many: looks at the sets of entries of each level, 32 entries at a time. Only the best
 * levels, until they fill the page, are looked at entry by entry.
 */
export function matchMany(
  entries: Entries,
  segment: Segment,
  terms: MatchedWords[],
  { visible, matched, count }: SegmentQuery,
): SegmentHits {
  const sets = terms.map((term) => (term.sets ??= makeSets(segment, term)));
  const first = Math.max(...sets.map((each) => each.first));
  const last = Math.max(...sets.map((each) => each.last));
  const { keys, add } = createSelection(entries, count);
  let better = new Uint32Array(lengthOf(segment));
  for (let level = first; level <= last && keys.length < count; level += 1) {
    const found = intersect(visible, sets, level);
    forEachNew(found, better, (slot) => add(slot, level));
    better = found;
  }
  const all = intersect(visible, sets, last);
  if (matched)
    for (const [index, bits] of all.entries()) matched[index] = (matched[index] as number) | bits;
  return { total: countBits(all), keys };
}

/** For each level the entries in which the term has it or a better one. */
function makeSets(segment: Segment, term: MatchedWords): LevelSets {
  const length = lengthOf(segment);
  let [best, worst] = [Number.POSITIVE_INFINITY, 0];
  for (const matched of term.matches) {
    if (matched < best) best = matched;
    if (matched > worst) worst = matched;
  }
  const first = best * fields;
  const last = worst * fields + fields - 1;
  const bits = new Uint32Array((last - first + 1) * length);
  addPostings(bits, length, segment, term, best);
  for (let index = length; index < bits.length; index += 1)
    bits[index] = (bits[index] as number) | (bits[index - length] as number);
  return { first, last, length, bits };
}

/** The length of a set of the entries of a segment: it does not grow when entries are added. */
function lengthOf({ firstSlot, wordOffsets }: Segment): number {
  return bitsFor(firstSlot + wordOffsets.length - 1);
}

function addPostings(
  bits: Uint32Array,
  length: number,
  { offsets, postings }: Segment,
  { words, matches }: MatchedWords,
  best: number,
): void {
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] as number;
    const start = ((matches[index] as number) - best) * fields * length;
    const end = offsets[word + 1] as number;
    for (let at = offsets[word] as number; at < end; at += 1) {
      const posting = postings[at] as number;
      const slot = posting >>> fieldBits;
      const place = start + (posting & fieldMask) * length + (slot >>> 5);
      bits[place] = (bits[place] as number) | (1 << (slot & 31));
    }
  }
}

/** The visible entries in which every term has this level or a better one. */
function intersect(
  visible: Uint32Array,
  sets: LevelSets[],
  level: number,
): Uint32Array<ArrayBuffer> {
  const found = visible.slice(0, sets[0]?.length);
  for (const each of sets) {
    const { bits } = each;
    const start = startOf(each, level);
    for (let index = 0; index < found.length; index += 1)
      found[index] = (found[index] as number) & (bits[start + index] as number);
  }
  return found;
}

/** Where the set of a level begins, which is not better than the first one. */
function startOf({ first, last, length }: LevelSets, level: number): number {
  return (Math.min(level, last) - first) * length;
}

/** Visits those in `found` that are not in `better`. */
function forEachNew(found: Uint32Array, better: Uint32Array, visit: (slot: number) => void): void {
  for (let index = 0; index < found.length; index += 1) {
    let bits = (found[index] as number) & ~(better[index] as number);
    while (bits !== 0) {
      visit(index * 32 + 31 - Math.clz32(bits & -bits));
      bits &= bits - 1;
    }
  }
}

/** Selecting the first ones takes a tenth of the time of sorting all. */
const selectMax = 200;

/** Selects the smallest sort keys of the hits that it is given. */
function createSelection(entries: Entries, count: number) {
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
