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

/** Saves looking for an abbreviation, which takes a hundred times as long. */
const maybeAbbreviation = /\..\./u;
const separates = Uint8Array.from({ length: 128 }, (_, code) =>
  separators.test(String.fromCharCode(code)) ? 1 : 0,
);
let space = Buffer.alloc(1_024);

/**
 * Visits the words of `wordsOf` as UTF-8. Most texts are ASCII, whose bytes are split without making texts of the words. Bytes
 * are valid during the visit.
 */
export function visitWords(
  folded: string,
  visit: (bytes: Uint8Array, start: number, end: number) => void,
): void {
  const bytesMax = 3 * folded.length;
  if (bytesMax > space.length) space = Buffer.alloc(2 * bytesMax);
  const bytes = space;
  const isAscii = bytes.write(folded) === folded.length;
  if (!isAscii || maybeAbbreviation.test(folded)) {
    for (const word of wordsOf(folded)) visit(Buffer.from(word), 0, Buffer.byteLength(word));
    return;
  }
  let start = 0;
  for (let at = 0; at <= folded.length; at += 1) {
    if (at < folded.length && separates[bytes[at] as number] === 0) continue;
    if (at - start > pieceLength)
      for (const piece of toPieces(folded.slice(start, at)))
        visit(Buffer.from(piece), 0, piece.length);
    else if (at > start) visit(bytes, start, at);
    start = at + 1;
  }
}

/** The words of a text that `foldText` has folded, with repetitions. Those of other scripts are there in Latin letters, too. */
export function wordsOf(folded: string): string[] {
  const words = wordsIn(folded);
  if (otherScript.test(folded)) words.push(...words.flatMap((word) => wordsIn(inLatin(word))));
  return words.some(({ length }) => length > pieceLength) ? words.flatMap(toPieces) : words;
}

export function wordsIn(folded: string): string[] {
  const text = maybeAbbreviation.test(folded)
    ? folded.replace(abbreviation, (dotted) => dotted.replaceAll('.', ''))
    : folded;
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
