/** Splits text into the words that a search compares. */
import anyAscii from 'any-ascii';
import { foldText } from '../fold-text.ts';

/** Letters, digits and symbols such as `%` and emoji make words; spaces, hyphens, underscores and punctuation separate. */
const separators = /[^\p{L}\p{M}\p{N}\p{S}%&#@*\\]+/u;
/** `S.p.A.` and `C.E.I.A` are one word. */
const abbreviation = /(?<![\p{L}\p{N}.])(?:\p{L}\.){2,}\p{L}?(?![\p{L}\p{N}])/gu;
const otherScript = /(?!\p{Script=Latin})\p{L}/u;

/** A search text has at most 100 characters, but folding can make it longer. */
export const termLengthMax = 100;
/** Longer words are stored as pieces. They overlap, so every possible term is in one of them. */
const pieceLength = 2 * termLengthMax;

/** The words of a text that `foldText` has folded, with repetitions. Those of other scripts are there in Latin letters, too. */
export function wordsOf(folded: string): string[] {
  const words = wordsIn(folded);
  if (otherScript.test(folded)) words.push(...words.flatMap((word) => wordsIn(inLatin(word))));
  return words.some(({ length }) => length > pieceLength) ? words.flatMap(toPieces) : words;
}

export function wordsIn(folded: string): string[] {
  const text = folded.replace(abbreviation, (dotted) => dotted.replaceAll('.', ''));
  return text.split(separators).filter((word) => word !== '');
}

/** The same in Latin letters, or an empty text if it has no others. */
export function inLatin(word: string): string {
  return otherScript.test(word) ? foldText(anyAscii(word)) : '';
}

function toPieces(word: string): string[] {
  const count = Math.max(1, Math.ceil(word.length / termLengthMax) - 1);
  return Array.from({ length: count }, (_, index) =>
    word.slice(index * termLengthMax, index * termLengthMax + pieceLength),
  );
}
