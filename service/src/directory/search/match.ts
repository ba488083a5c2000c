/** Finds the entries that a search matches, and puts them in order. */
import type { Entries, Unlisted } from './entries.ts';
import { matchFew } from './match-few.ts';
import { matchMany } from './match-many.ts';
import type { MatchedWords, Segment } from './segment.ts';
import { mistyped, type Match } from './vocabulary.ts';

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
  {
    typos,
    window: { offset, limit },
    visible,
  }: { typos: boolean; window: Window; visible: Uint32Array },
): Found {
  const found = segments.map((segment) => {
    const matched = terms
      .map((term) => matchWords(segment, term, typos))
      .sort((a, b) => a.postings - b.postings);
    const matchAll = isForMany(segment, matched) ? matchMany : matchFew;
    return matchAll(entries, segment, matched, visible, offset + limit);
  });
  // Sorts numbers without a comparison function, which is faster.
  const sorted = Float64Array.from(found.flatMap((each) => each.keys)).sort();
  const keys = Array.from(sorted.subarray(offset, offset + limit));
  return {
    total: found.reduce((sum, { total }) => sum + total, 0),
    ordinals: keys.map((key) => entries.ordinalOfKey(key)),
    levels: keys.map((key) => entries.levelOfKey(key)),
  };
}

/** Half of all words contain a common letter. */
const keptTermLength = 1;
/** The sets of each take about a byte per entry. */
const keptTermsMax = 32;

/** Keeps the words of short terms, which are expensive to find, and their sets. */
function matchWords(segment: Segment, term: string, typos: boolean): MatchedWords {
  if (term.length > keptTermLength) return findWords(segment, term, typos ? typosIn(term) : 0);
  const { keptTerms } = segment;
  const found = keptTerms.get(term) ?? findWords(segment, term, 0);
  keptTerms.delete(term);
  keptTerms.set(term, found);
  const [oldest] = keptTerms.keys();
  if (keptTerms.size > keptTermsMax && oldest !== undefined) keptTerms.delete(oldest);
  return found;
}

/** The cost of a hit and of 32 entries of the sets of a term, where reading a posting into a set costs 1. */
const hitCost = 3;
const setCost = 5;

/** Whether whole sets of entries take less time than the hits of the rarest term. */
function isForMany({ words, wordOffsets }: Segment, [rarest, ...others]: MatchedWords[]): boolean {
  if (!rarest) return false;
  const slots = wordOffsets.length - 1;
  let few = hitCost * rarest.postings;
  for (const { postings } of others)
    few += Math.min(postings, (rarest.postings * words.length) / slots);
  let many = 0;
  for (const { postings, sets } of [rarest, ...others])
    many += (setCost * slots) / 32 + (sets ? 0 : postings);
  return many < few;
}

function findWords({ vocabulary, offsets }: Segment, term: string, typosMax: number): MatchedWords {
  const found: MatchedWords = { words: [], matches: [], postings: 0 };
  const visit = (word: number, matched: Match) => {
    found.words.push(word);
    found.matches.push(matched);
    found.postings += (offsets[word + 1] as number) - (offsets[word] as number);
  };
  vocabulary.findContaining(term, visit);
  if (typosMax > 0) vocabulary.findMistyped(term, typosMax, (word) => visit(word, mistyped));
  return found;
}

/** The number of typing errors that a term may have. */
export function typosIn(term: string): number {
  if (!letters.test(term)) return 0;
  return typoLengths.find(({ length }) => term.length >= length)?.typos ?? 0;
}
