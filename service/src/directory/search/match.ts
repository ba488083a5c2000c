/** Finds the entries that a search matches, and puts them in order. */
import type { Entries, Window } from './entries.ts';
import { matchFew, matchMany } from './match-words.ts';
import { fields, type MatchedWords, type Segment } from './segment.ts';
import type { Term } from './terms.ts';
import { mistyped, whole, type Match } from './vocabulary.ts';

export type Found = {
  total: number;
  /** The ordinals of the entries in the window, the most relevant first. */
  ordinals: number[];
  /** How well each of them matches: a smaller level is a better match. */
  levels: number[];
};

/** The first level at which a term is mistyped. */
export const mistypedLevel = mistyped * fields;

/** Words of letters only may be mistyped. */
const letters = /^[\p{L}\p{M}]+$/u;
/** The lengths from which on words may have one typo and two, by how much is forgiven. */
const typoLengths = { none: [], usual: [5, 9], most: [4, 9] } satisfies Record<string, number[]>;
type Typos = keyof typeof typoLengths;

/** Which entries count, which of them are returned, and a set of all, if it is given. */
export type Among = { visible: Uint32Array; window: Window; matched?: Uint32Array | undefined };

/** What a search looks for: every term, with so many typing errors. */
export type Wanted = { terms: Term[]; typos: Typos };

/**
 * Finds the entries where every term matches. The level of an entry is that of its worst term: whole words before starts
 * of words, before parts of words, and each of these in the name before the tag, before other fields.
 */
export function match(
  entries: Entries,
  segments: Segment[],
  { terms, typos }: Wanted,
  { window: { offset, limit }, visible, matched }: Among,
): Found {
  const found = segments.map((segment) => {
    const words = terms
      .map((term) => matchWords(segment, term, typosIn(term, typos)))
      .sort((a, b) => a.postings - b.postings);
    const matchAll = isForMany(segment, words) ? matchMany : matchFew;
    return matchAll(entries, segment, words, { visible, matched, count: offset + limit });
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

/** The words of a term, found once for all steps of a search. Those of short terms, which are expensive to find, are kept longer. */
function matchWords(segment: Segment, term: Term, typosMax: number): MatchedWords {
  const known = segment.foundWords.get(term) ?? [];
  segment.foundWords.set(term, known);
  return (known[typosMax] ??= term.isWhole
    ? findWords(segment, term, typosMax)
    : keptWords(segment, term, typosMax));
}

function keptWords(segment: Segment, term: Term, typosMax: number): MatchedWords {
  const { text, spellings } = term;
  // `o` has no other spelling, but `ö` does, and both have the same text.
  if (text.length > keptTermLength || spellings.length > 0)
    return findWords(segment, term, typosMax);
  const { keptTerms } = segment;
  const found = keptTerms.get(text) ?? findWords(segment, term, 0);
  keptTerms.delete(text);
  keptTerms.set(text, found);
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

function findWords({ vocabulary, offsets }: Segment, term: Term, typosMax: number): MatchedWords {
  const found = new Map<number, Match>();
  const visit = (word: number, matched: Match) => {
    if (matched < (found.get(word) ?? Number.POSITIVE_INFINITY)) found.set(word, matched);
  };
  const visitWhole = (word: number) => visit(word, whole);
  if (term.isWhole) vocabulary.findWhole(term.text, visitWhole);
  else for (const text of [term.text, ...term.spellings]) vocabulary.findContaining(text, visit);
  for (const word of term.words) vocabulary.findWhole(word, visitWhole);
  if (typosMax > 0) vocabulary.findMistyped(term.text, typosMax, (word) => visit(word, mistyped));
  let postings = 0;
  for (const word of found.keys())
    postings += (offsets[word + 1] as number) - (offsets[word] as number);
  return { words: [...found.keys()], matches: [...found.values()], postings };
}

/** The number of typing errors that a term may have. */
export function typosIn({ text, isWhole }: Term, typos: Typos): number {
  if (isWhole || !letters.test(text)) return 0;
  return typoLengths[typos].filter((length) => text.length >= length).length;
}
