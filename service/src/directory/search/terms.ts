/** The words of a search text, and how else an entry may spell each of them. */
import { foldText } from '../fold-text.ts';
import { inLatin, termLengthMax, wordsIn } from './words.ts';

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
