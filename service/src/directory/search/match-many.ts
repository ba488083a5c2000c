/**
 * Finds the entries of a search in which each term matches many: the sets of entries of each level, 32 entries at a time.
 * Only the best levels, until they fill the page, are looked at entry by entry.
 */
import { bitsFor, countBits } from './bits.ts';
import type { Entries } from './entries.ts';
import {
  fieldBits,
  fieldMask,
  fields,
  type LevelSets,
  type MatchedWords,
  type Segment,
  type SegmentHits,
  type SegmentQuery,
} from './segment.ts';
import { createSelection } from './select-keys.ts';

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
