/** The different words of a set of entries, and which of them a term matches. */
import { countOnes } from './bits.ts';
import { inSteps, type Steps } from './steps.ts';

/** How a word matches a term: the better, the smaller. */
export const whole = 0;
const prefix = 1;
const inside = 2;
export const mistyped = 3;
export type Match = typeof whole | typeof prefix | typeof inside | typeof mistyped;

export type Vocabulary = {
  /** Calls `visit` if the term is one of the words. */
  findWhole(term: string, visit: (word: number) => void): void;
  /** Calls `visit` for each word that contains the term. */
  findContaining(term: string, visit: (word: number, match: Match) => void): void;
  /** Calls `visit` for each word that does not contain the term, but is it with at most `typosMax` typing errors. */
  findMistyped(term: string, typosMax: number, visit: (word: number) => void): void;
};

const wordsPerStep = 2_000;

/** Words contain no line breaks. A word is known by its index. */
export function* createVocabulary(words: string[]): Steps<Vocabulary> {
  const { text, starts, shortWords } = yield* joinWords(words);
  const trigrams = yield* createTrigrams(words);
  const byLength = yield* groupByLength(words);
  const startOf = (word: number) => starts[word] as number;
  const textOf = (word: number) => text.slice(startOf(word), startOf(word + 1) - 1);

  return {
    findWhole(term, visit) {
      const short = shortWords.get(term);
      if (short !== undefined) visit(short);
      else for (const word of trigrams.candidates(term)) if (textOf(word) === term) visit(word);
    },
    findContaining(term, visit) {
      if (term.length >= trigramLength) {
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

/** One text takes less memory than its words, and is searched faster. */
function* joinWords(words: string[]) {
  const starts = new Uint32Array(words.length + 1);
  const shortWords = new Map<string, number>();
  let text = '';
  yield* inSteps(words, wordsPerStep, (word, index) => {
    starts[index + 1] = (starts[index] as number) + word.length + 1;
    if (word.length < trigramLength) shortWords.set(word, index);
    if (index % wordsPerStep === 0)
      text += `${words.slice(index, index + wordsPerStep).join('\n')}\n`;
  });
  return { text, starts, shortWords };
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

function* groupByLength(words: string[]): Steps<ByLength> {
  let longest = 0;
  yield* inSteps(words, wordsPerStep, ({ length }) => (longest = Math.max(longest, length)));
  const offsets = new Uint32Array(longest + 2);
  yield* inSteps(words, wordsPerStep, ({ length }) => {
    offsets[length + 1] = (offsets[length + 1] as number) + 1;
  });
  for (let length = 0; length <= longest; length += 1)
    offsets[length + 1] = (offsets[length + 1] as number) + (offsets[length] as number);
  const next = offsets.slice();
  const grouped = new Uint32Array(words.length);
  const letters = new Uint32Array(words.length);
  yield* inSteps(words, wordsPerStep, (word, index) => {
    const at = next[word.length] as number;
    next[word.length] = at + 1;
    grouped[at] = index;
    letters[at] = lettersOf(word);
  });
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

/**
 * Whether `word` becomes `term` with at most `typosMax` insertions, deletions, substitutions and swaps of neighbours, none
 * of which overlap (optimal string alignment). It tries each of these at the first difference, up to 16 ways for two.
 */
export function isMistyped(word: string, term: string, typosMax: number, at = 0, to = 0): boolean {
  let [left, right] = [at, to];
  while (left < word.length && word.charCodeAt(left) === term.charCodeAt(right)) {
    left += 1;
    right += 1;
  }
  const [wordRest, termRest] = [word.length - left, term.length - right];
  if (Math.abs(wordRest - termRest) > typosMax) return false;
  if (wordRest === 0 || termRest === 0) return true;
  if (typosMax === 0) return false;
  const continues = (letters: number, others: number) =>
    isMistyped(word, term, typosMax - 1, left + letters, right + others);
  const isSwap = word[left] === term[right + 1] && word[left + 1] === term[right];
  return continues(1, 1) || continues(1, 0) || continues(0, 1) || (isSwap && continues(2, 2));
}

/** Finds the words that may contain a term by three letters in a row, without reading all words. */

type Trigrams = {
  /** Words that have the rarest three letters of the term, or the same hash. The term has three letters or more. */
  candidates(term: string): Uint32Array;
};

const trigramLength = 3;

function* createTrigrams(words: string[]): Steps<Trigrams> {
  const mask = 2 ** Math.ceil(Math.log2(words.length * 4 + 16)) - 1;
  const offsets = new Uint32Array(mask + 2);
  yield* inSteps(words, wordsPerStep, (word) => {
    for (const hash of hashesOf(word, mask)) offsets[hash + 1] = (offsets[hash + 1] as number) + 1;
  });
  for (let hash = 0; hash <= mask; hash += 1)
    offsets[hash + 1] = (offsets[hash + 1] as number) + (offsets[hash] as number);
  const next = offsets.slice();
  const lists = new Uint32Array(offsets[mask + 1] as number);
  yield* inSteps(words, wordsPerStep, (word, index) => {
    for (const hash of hashesOf(word, mask)) {
      lists[next[hash] as number] = index;
      next[hash] = (next[hash] as number) + 1;
    }
  });
  const listOf = (hash: number) => lists.subarray(offsets[hash], offsets[hash + 1]);

  return {
    candidates(term) {
      let shortest: Uint32Array | null = null;
      for (const hash of hashesOf(term, mask)) {
        const list = listOf(hash);
        if (shortest === null || list.length < shortest.length) shortest = list;
      }
      return shortest ?? lists.subarray(0, 0);
    },
  };
}

/** The hashes of all three letters in a row, each once. */
function hashesOf(word: string, mask: number): Set<number> {
  const hashes = new Set<number>();
  for (let at = 0; at + 2 < word.length; at += 1) {
    const letters =
      (Math.imul(word.charCodeAt(at), 961) +
        Math.imul(word.charCodeAt(at + 1), 31) +
        word.charCodeAt(at + 2)) |
      0;
    hashes.add((Math.imul(letters, 0x9e3779b1) >>> 7) & mask);
  }
  return hashes;
}
