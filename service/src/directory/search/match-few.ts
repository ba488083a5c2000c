/**
 * Finds the entries of a search in which at least one term matches few. Collects the hits of that term; each further term
 * then keeps some of them.
 */
import { hasBit, setBit } from './bits.ts';
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
} from './segment.ts';
import { createSelection } from './select-keys.ts';

/** The term that matches the fewest entries is the first one. */
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
