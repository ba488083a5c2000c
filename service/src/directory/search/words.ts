/** Splits text into the words that a search compares. */
import { foldText } from '../fold-text.ts';

/** Letters, digits and symbols such as `%` and emoji make words; spaces, hyphens, underscores and punctuation separate. */
const separators = /[^\p{L}\p{M}\p{N}\p{S}%&#@*\\]+/u;

/** A search text has at most 100 characters, but folding can make it longer. */
const termLengthMax = 100;
/** Each term costs up to some milliseconds. */
const termsMax = 10;
/** Longer words are stored as pieces. They overlap, so every possible term is in one of them. */
const pieceLength = 2 * termLengthMax;

/** The different words of a search text, longest first. Empty if it has none. */
export function termsOf(search: string): string[] {
  const terms = wordsIn(foldText(search)).map((word) => word.slice(0, termLengthMax));
  return [...new Set(terms)].sort((a, b) => b.length - a.length).slice(0, termsMax);
}

/** The words of a text that `foldText` has folded, with repetitions. */
export function wordsOf(folded: string): string[] {
  const words = wordsIn(folded);
  return words.some(({ length }) => length > pieceLength) ? words.flatMap(toPieces) : words;
}

function wordsIn(folded: string): string[] {
  return folded.split(separators).filter((word) => word !== '');
}

function toPieces(word: string): string[] {
  const count = Math.max(1, Math.ceil(word.length / termLengthMax) - 1);
  return Array.from({ length: count }, (_, index) =>
    word.slice(index * termLengthMax, index * termLengthMax + pieceLength),
  );
}
