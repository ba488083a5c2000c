/** The different words of a set of entries, and which of them a term matches. */
import { countOnes } from './bits.ts';
import { isMistyped } from './is-mistyped.ts';
import { createTrigrams } from './trigrams.ts';

/** How a word matches a term: the better, the smaller. */
const whole = 0;
const prefix = 1;
const inside = 2;
export const mistyped = 3;
export type Match = typeof whole | typeof prefix | typeof inside | typeof mistyped;

export type Vocabulary = {
  /** Calls `visit` for each word that contains the term. */
  findContaining(term: string, visit: (word: number, match: Match) => void): void;
  /** Calls `visit` for each word that does not contain the term, but is it with at most `typosMax` typing errors. */
  findMistyped(term: string, typosMax: number, visit: (word: number) => void): void;
};

/** Words contain no line breaks. A word is known by its index. */
export function createVocabulary(words: string[]): Vocabulary {
  // One text takes less memory than its words, and is searched faster.
  const text = `${words.join('\n')}\n`;
  const starts = new Uint32Array(words.length + 1);
  for (const [index, word] of words.entries())
    starts[index + 1] = (starts[index] as number) + word.length + 1;
  const startOf = (word: number) => starts[word] as number;
  const textOf = (word: number) => text.slice(startOf(word), startOf(word + 1) - 1);
  const trigrams = createTrigrams(words);
  const byLength = groupByLength(words);

  return {
    findContaining(term, visit) {
      if (term.length >= 3) {
        for (const word of trigrams.candidates(term)) {
          const found = textOf(word);
          const position = found.indexOf(term);
          if (position > 0) visit(word, inside);
          else if (position === 0) visit(word, found.length === term.length ? whole : prefix);
        }
        return;
      }
      let position = text.indexOf(term);
      let word = 0;
      while (position !== -1) {
        word = wordAt(starts, position, word);
        const start = startOf(word);
        const next = startOf(word + 1);
        const isWhole = next - start - 1 === term.length;
        if (position === start) visit(word, isWhole ? whole : prefix);
        else visit(word, inside);
        word += 1;
        position = text.indexOf(term, next);
      }
    },
    findMistyped(term, typosMax, visit) {
      const wanted = lettersOf(term);
      const { offsets, grouped, letters } = byLength;
      const end = offsets.length - 1;
      const from = offsets[Math.min(Math.max(term.length - typosMax, 0), end)] as number;
      const until = offsets[Math.min(term.length + typosMax + 1, end)] as number;
      for (let at = from; at < until; at += 1) {
        if (!mayBeMistyped(letters[at] as number, wanted, typosMax)) continue;
        const word = grouped[at] as number;
        const found = textOf(word);
        if (isMistyped(found, term, typosMax) && !found.includes(term)) visit(word);
      }
    },
  };
}

/** The word that contains `position`, which is not before the word `first`. */
function wordAt(starts: Uint32Array, position: number, first: number): number {
  let step = 1;
  while (first + step < starts.length && (starts[first + step] as number) <= position) step *= 2;
  let low = first + (step >> 1);
  let high = Math.min(first + step, starts.length - 1);
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((starts[middle] as number) <= position) low = middle;
    else high = middle;
  }
  return low;
}

/** Those of a length from `offsets[length]` to `offsets[length + 1]`, each with its letters. */
type ByLength = { offsets: Uint32Array; grouped: Uint32Array; letters: Uint32Array };

function groupByLength(words: string[]): ByLength {
  const longest = words.reduce((most, { length }) => Math.max(most, length), 0);
  const offsets = new Uint32Array(longest + 2);
  for (const { length } of words) offsets[length + 1] = (offsets[length + 1] as number) + 1;
  for (let length = 0; length <= longest; length += 1)
    offsets[length + 1] = (offsets[length + 1] as number) + (offsets[length] as number);
  const next = offsets.slice();
  const grouped = new Uint32Array(words.length);
  const letters = new Uint32Array(words.length);
  for (const [index, word] of words.entries()) {
    const at = next[word.length] as number;
    next[word.length] = at + 1;
    grouped[at] = index;
    letters[at] = lettersOf(word);
  }
  return { offsets, grouped, letters };
}

/** A set of the letters of a word, in 32 bits. */
function lettersOf(word: string): number {
  let letters = 0;
  for (let index = 0; index < word.length; index += 1)
    letters |= 1 << (word.charCodeAt(index) & 31);
  return letters;
}

/** A typing error removes at most one letter and adds at most one. It rejects nearly all words, at 2 ns each. */
function mayBeMistyped(word: number, term: number, typosMax: number): boolean {
  return countOnes(word & ~term) <= typosMax && countOnes(term & ~word) <= typosMax;
}
