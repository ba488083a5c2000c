/**
 * What a search that finds nothing looks for instead, step by step, until something is found: docs/reference/reads.md#search.
 * Each step keeps what those before it changed. Only entries that the caller may see decide.
 */
import type { Wanted } from './match.ts';
import { isFiller, type Term } from './terms.ts';

/** What to look for instead. `ignored` are the words of the search that were left out. */
type Relaxed = Wanted & { ignored: string[] };

const pieceLengthMin = 2;
/** Longer words are hardly two that somebody joined. */
const joinedLengthMax = 40;
const singularLengthMin = 3;
/** Words that more entries have say too little to be all that is left of a search. */
const rareShare = 0.01;

/** `search` finds entries with what is wanted, of so many. Returns null if nothing is found. */
export function relax<Found extends { total: number }>(
  terms: Term[],
  search: (wanted: Wanted) => Found,
  entries: number,
): { wanted: Wanted; found: Found; ignored: string[] } | null {
  const count = (some: Term[], typos: Wanted['typos'] = 'usual') =>
    search({ terms: some, typos }).total;
  const rareMax = Math.max(1, entries * rareShare);
  const isRare = (term: Term) => {
    const having = count([{ ...term, spellings: [], isWhole: true }]);
    return having > 0 && having <= rareMax;
  };
  // Each returns null if it has nothing to change.
  const steps: ((wanted: Relaxed) => Relaxed | null)[] = [
    (wanted) => leaveOut(wanted, isFiller),
    (wanted) => splitJoined(wanted, count),
    (wanted) => ({ ...wanted, terms: wanted.terms.map(inAnyNumber) }),
    (wanted) => ({ ...wanted, typos: 'most' }),
    (wanted) => {
      const known = leaveOut(wanted, (term) => count([term], 'none') === 0);
      return known?.terms.some(isRare) ? known : null;
    },
  ];
  let wanted: Relaxed = { terms, typos: 'usual', ignored: [] };
  for (const step of steps) {
    const next = step(wanted);
    if (next === null) continue;
    wanted = next;
    const found = search(wanted);
    if (found.total > 0) return { wanted, found, ignored: wanted.ignored };
  }
  return null;
}

function leaveOut(wanted: Relaxed, which: (term: Term) => boolean): Relaxed | null {
  const left = wanted.terms.filter(which);
  if (left.length === 0 || left.length === wanted.terms.length) return null;
  const ignored = [...wanted.ignored, ...left.map(({ text }) => text)];
  return { ...wanted, terms: wanted.terms.filter((term) => !left.includes(term)), ignored };
}

type Count = (terms: Term[]) => number;

function splitJoined(wanted: Relaxed, count: Count): Relaxed | null {
  const terms = wanted.terms.flatMap((term) => splitTerm(term, count) ?? [term]);
  return terms.length === wanted.terms.length ? null : { ...wanted, terms };
}

/** The two words that somebody joined, if an entry has both; null if an entry has the term itself, or no two. */
function splitTerm(term: Term, count: Count): [Term, Term] | null {
  const { text } = term;
  if (text.length < 2 * pieceLengthMin || text.length > joinedLengthMax || count([term]) > 0)
    return null;
  for (let at = pieceLengthMin; at <= text.length - pieceLengthMin; at += 1) {
    const pieces = [pieceOf(text.slice(0, at)), pieceOf(text.slice(at))] as [Term, Term];
    if (count(pieces) > 0) return pieces;
  }
  return null;
}

function pieceOf(text: string): Term {
  return { text, spellings: [], words: [], isWhole: true };
}

/** Matches the singular and the plural too. */
function inAnyNumber(term: Term): Term {
  const { text } = term;
  const others = [
    text.replace(/ies$/, 'y'),
    text.replace(/es$/, ''),
    text.replace(/s$/, ''),
    text.replace(/y$/, 'ies'),
  ].filter((other) => other !== text && other.length >= singularLengthMin);
  return others.length === 0 ? term : { ...term, spellings: [...term.spellings, ...others] };
}
