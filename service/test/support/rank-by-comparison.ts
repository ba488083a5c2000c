/** How well entries match a search, by comparing every word of every entry: what the index is tested against. */
import type { FieldText } from '../../src/directory/search/segment.ts';
import { type Term, wordsOf } from '../../src/directory/search/terms.ts';
import { isMistyped } from '../../src/directory/search/vocabulary.ts';

/** The level of the worst term, or Infinity if one of them does not match. */
export function levelOf(texts: FieldText[], terms: Term[], typos: boolean): number {
  return Math.max(...terms.map((term) => levelOfTerm(texts, term, typos)));
}

function levelOfTerm(texts: FieldText[], term: Term, typos: boolean): number {
  const levels = texts.flatMap(({ field, text }) =>
    wordsOf(text).map((word) => field + 3 * matchOf(word, term, typos)),
  );
  return Math.min(Number.POSITIVE_INFINITY, ...levels);
}

function matchOf(word: string, { text, spellings, words }: Term, typos: boolean): number {
  const spelled = [text, ...spellings];
  if (spelled.includes(word) || words.includes(word)) return 0;
  if (spelled.some((each) => word.startsWith(each))) return 1;
  if (spelled.some((each) => word.includes(each))) return 2;
  return typos && text.length >= 5 && isMistyped(word, text, 1) ? 3 : Number.POSITIVE_INFINITY;
}
