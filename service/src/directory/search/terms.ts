/** Splits texts into the words that a search compares: those of entries, and those of a search text with other spellings. */
import anyAscii from 'any-ascii';
import { foldText } from '../fold-text.ts';

export type Term = {
  /** Folded. */
  text: string;
  /** Other spellings, which match as the text does. */
  spellings: string[];
  /** Other words, which match whole words only. */
  words: string[];
  /** Whether the text, too, matches whole words only. */
  isWhole: boolean;
};

/** Each term costs up to some milliseconds. */
const termsMax = 10;
/** A shorter spelling in Latin letters would be a part of unrelated words. */
const latinLengthMin = 4;

const legalForms = [
  ['ltd', 'limited', 'ltda', 'limitada'],
  ['corp', 'corporation'],
  ['inc', 'incorporated'],
  ['co', 'company'],
  ['pty', 'proprietary'],
  ['gmbh', 'ggmbh', 'mbh'],
  ...'ab ad ag ans aps as asa bv bvba cv dd doo ead eood ev ehf hf kft kg kgaa kk llc llp lp nv oao og ohg ood ooo oy oyj'
    .split(' ')
    .map((form) => [form]),
  ...'pao pjsc plc pt pte pvt sa sab sarl sas sasu sdn bhd se sia sl slu sp spa spol sprl srl sro uab ug zao zoo zrt'
    .split(' ')
    .map((form) => [form]),
];
const connectives = [
  ['&', '+', 'and', 'und', 'et'],
  ['the'],
  ['of'],
  ['for'],
  ['de'],
  ['der'],
  ['la'],
];
const equals = new Map(
  [...legalForms, ...connectives].flatMap((group) =>
    group.map((word) => [word, group.filter((other) => other !== word)] as const),
  ),
);

const umlauts: Record<string, string> = { ä: 'ae', ö: 'oe', ü: 'ue', ø: 'oe', å: 'aa' };
const umlaut = /[äöüøå]/g;
const otherThanUmlauts = /[^äöüøå]+/g;
const writtenUmlaut = /([aou])e|(?<=a)a/g;

/** The different words of a search text, longest first. Empty if it has none. */
export function termsOf(search: string): Term[] {
  const texts = wordsIn(foldText(search));
  // Split before an umlaut becomes two letters: `Ö.B.B.` is an abbreviation, `oe.b.b.` is none.
  const withUmlauts = search.toLowerCase().normalize('NFC').replace(otherThanUmlauts, foldText);
  const spellings = wordsIn(withUmlauts).map((word) =>
    word.replace(umlaut, (each) => umlauts[each] ?? ''),
  );
  const terms = new Map(texts.map((text, index) => [text, termOf(text, spellings[index] ?? text)]));
  return [...terms.values()].sort((a, b) => b.text.length - a.text.length).slice(0, termsMax);
}

function termOf(word: string, spelling: string): Term {
  const text = word.slice(0, termLengthMax);
  const latin = inLatin(text);
  const others = (words: string[]) => words.filter((each) => each !== text);
  return {
    text,
    spellings: others([spelling, latin.length < latinLengthMin ? text : latin]),
    words: others([...(equals.get(text) ?? []), text.replace(writtenUmlaut, '$1')]),
    isWhole: false,
  };
}

/** Whether a search finds the same without the term: a legal form or a connective. */
export function isFiller({ text }: Term): boolean {
  return equals.has(text);
}

/** Letters, digits and symbols such as `%` and emoji make words; spaces, hyphens, underscores and punctuation separate. */
const separators = /[^\p{L}\p{M}\p{N}\p{S}%&#@*\\]+/u;
/** `S.p.A.` and `C.E.I.A` are one word. */
const abbreviation = /(?<![\p{L}\p{N}.])(?:\p{L}\.){2,}\p{L}?(?![\p{L}\p{N}])/gu;
const otherScript = /(?!\p{Script=Latin})\p{L}/u;

/** A search text has at most 100 characters, but folding can make it longer. */
const termLengthMax = 100;
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

function wordsIn(folded: string): string[] {
  const text = maybeAbbreviation.test(folded)
    ? folded.replace(abbreviation, (dotted) => dotted.replaceAll('.', ''))
    : folded;
  return text.split(separators).filter((word) => word !== '');
}

/** The same in Latin letters, or an empty text if it has no others. */
function inLatin(word: string): string {
  return otherScript.test(word) ? foldText(anyAscii(word)) : '';
}

function toPieces(word: string): string[] {
  const count = Math.max(1, Math.ceil(word.length / termLengthMax) - 1);
  return Array.from({ length: count }, (_, index) =>
    word.slice(index * termLengthMax, index * termLengthMax + pieceLength),
  );
}
