/** An inverted index of a set of entries that does not change: for each word, the entries that contain it. */
import { randomInt } from 'node:crypto';
import { inSteps, type Steps } from './steps.ts';
import { createVocabulary, type Match, type Vocabulary } from './vocabulary.ts';
import { type Term, visitWords } from './terms.ts';

/** The part of an entry that contains a word, the most relevant first. */
export const nameField = 0;
export const tagField = 1;
export const otherField = 2;
type Field = typeof nameField | typeof tagField | typeof otherField;

/** A folded text of an entry. */
export type FieldText = { field: Field; text: string };

export type Segment = {
  vocabulary: Vocabulary;
  /** The postings of a word are those from `offsets[word]` to `offsets[word + 1]`. */
  offsets: Uint32Array;
  /** `slot * 4 + field` for each entry and the best of its fields that contains the word. */
  postings: Uint32Array;
  /** The same by slot: the words of a slot begin at `wordOffsets[slot - firstSlot]`. */
  firstSlot: number;
  wordOffsets: Uint32Array;
  /** `word * 4 + field` */
  words: Uint32Array;
  /** Space for the level of each word that a term matches. All `unmatched` between searches. */
  levelOfWord: Uint8Array;
  /** The words of the terms of running searches, by the number of typing errors. */
  foundWords: WeakMap<Term, MatchedWords[]>;
  /** Short terms of the last searches, the latest last. */
  keptTerms: Map<string, MatchedWords>;
};

/** The words of a segment that a term matches, how well each matches, and the number of their postings. */
export type MatchedWords = {
  words: number[];
  matches: Match[];
  postings: number;
  /** Made by the first search that needs them. */
  sets?: LevelSets;
};
/** Sets of entries, one after the other, for the levels from `first` to `last`. Each has this length. */
export type LevelSets = { first: number; last: number; length: number; bits: Uint32Array };
/** The entries that count, a set that takes all hits, and how many keys are wanted. */
export type SegmentQuery = {
  visible: Uint32Array;
  matched?: Uint32Array | undefined;
  count: number;
};
/** The hits of a segment: their number, and the smallest sort keys, in any order. */
export type SegmentHits = { total: number; keys: number[] };

/** The level of a word or an entry that a term does not match. */
export const unmatched = 255;
export const fields = 3;
export const fieldBits = 2;
export const fieldMask = 3;

/** Collects entries, and builds their segment at the end. */
export function createSegmentBuilder(firstSlot: number) {
  const table = createWordTable();
  const words = createList();
  const wordOffsets = createList();
  /** The last slot of each word: an entry's later fields are less relevant, and repetitions add nothing. */
  const lastSlots: number[] = [];

  /** Slots come in ascending order, and some may be missing. */
  function add(slot: number, texts: FieldText[]): void {
    while (wordOffsets.length <= slot - firstSlot) wordOffsets.push(words.length);
    for (const { field, text } of texts)
      visitWords(text, (bytes, start, end) =>
        addWord(table.numberOf(bytes, start, end), slot, field),
      );
  }

  function addWord(word: number, slot: number, field: Field): void {
    if (lastSlots[word] === slot) return;
    lastSlots[word] = slot;
    words.push((word << fieldBits) | field);
  }

  function* build(): Steps<Segment> {
    wordOffsets.push(words.length);
    const texts = yield* table.toWords();
    const bySlot = { firstSlot, wordOffsets: wordOffsets.take(), words: words.take() };
    return {
      ...bySlot,
      ...(yield* invert(bySlot, texts.length)),
      vocabulary: yield* createVocabulary(texts),
      levelOfWord: new Uint8Array(texts.length).fill(unmatched),
      foundWords: new WeakMap(),
      keptTerms: new Map(),
    };
  }

  return { add, build };
}

const wordsPerStep = 500_000;
const slotsPerStep = 20_000;

function* invert(
  { firstSlot, wordOffsets, words }: Pick<Segment, 'firstSlot' | 'wordOffsets' | 'words'>,
  wordCount: number,
): Steps<Pick<Segment, 'offsets' | 'postings'>> {
  const offsets = new Uint32Array(wordCount + 1);
  yield* inSteps(words, wordsPerStep, (each) => {
    const word = each >>> fieldBits;
    offsets[word + 1] = (offsets[word + 1] as number) + 1;
  });
  for (let word = 0; word < wordCount; word += 1)
    offsets[word + 1] = (offsets[word + 1] as number) + (offsets[word] as number);
  const next = offsets.slice();
  const postings = new Uint32Array(words.length);
  yield* inSteps(wordOffsets.subarray(1), slotsPerStep, (end, index) => {
    for (let at = wordOffsets[index] as number; at < end; at += 1) {
      const each = words[at] as number;
      const word = each >>> fieldBits;
      const place = next[word] as number;
      postings[place] = ((firstSlot + index) << fieldBits) | (each & fieldMask);
      next[word] = place + 1;
    }
  });
  return { offsets, postings };
}

/** A list of numbers that leaves no copies behind while it grows. */
function createList() {
  let numbers = new Uint32Array(1024);
  let length = 0;
  const resize = (room: number) => {
    numbers = new Uint32Array(numbers.buffer.transfer(room * numbers.BYTES_PER_ELEMENT));
  };
  return {
    get length() {
      return length;
    },
    push(number: number): void {
      if (length === numbers.length) resize(2 * length);
      numbers[length] = number;
      length += 1;
    },
    take(): Uint32Array {
      resize(length);
      return numbers;
    },
  };
}

type WordTable = {
  /** The number of the word in these bytes. */
  numberOf(bytes: Uint8Array, start: number, end: number): number;
  /** The words in the order of their numbers. */
  toWords(): Steps<string[]>;
};

/** Nobody can choose words that have the same hashes. */
const seed = randomInt(2 ** 31);
const firstSize = 1_024;
const textsPerStep = 2_000;

/** Numbers different words by their UTF-8. No text is made of a word that is known, so reading many leaves no garbage. */
function createWordTable(): WordTable {
  let stored = Buffer.alloc(firstSize);
  /** Where each word ends, and the next one begins. */
  const ends: number[] = [];
  const hashes: number[] = [];
  /** A number and one, or 0. If a place is taken, the next one is used. */
  let places = new Uint32Array(firstSize);

  function place(number: number): void {
    const mask = places.length - 1;
    let at = (hashes[number] as number) & mask;
    while (places[at] !== 0) at = (at + 1) & mask;
    places[at] = number + 1;
  }

  function add(word: Uint8Array, hash: number): number {
    const start = ends.at(-1) ?? 0;
    const end = start + word.length;
    if (end > stored.length) stored = Buffer.concat([stored], 2 * end);
    stored.set(word, start);
    const number = ends.push(end) - 1;
    hashes.push(hash);
    if (2 * ends.length > places.length) {
      places = new Uint32Array(2 * places.length);
      for (let each = 0; each < number; each += 1) place(each);
    }
    place(number);
    return number;
  }

  function isStored(number: number, bytes: Uint8Array, start: number, end: number): boolean {
    const from = number === 0 ? 0 : (ends[number - 1] as number);
    if ((ends[number] as number) - from !== end - start) return false;
    return isSame(stored, from, bytes, start, end);
  }

  return {
    numberOf(bytes, start, end) {
      const hash = hashOf(bytes, start, end);
      const mask = places.length - 1;
      for (let at = hash & mask; ; at = (at + 1) & mask) {
        const number = (places[at] as number) - 1;
        if (number === -1) return add(bytes.subarray(start, end), hash);
        if (hashes[number] === hash && isStored(number, bytes, start, end)) return number;
      }
    },
    *toWords() {
      const words: string[] = [];
      let start = 0;
      yield* inSteps(ends, textsPerStep, (end) => {
        words.push(stored.toString('utf8', start, end));
        start = end;
      });
      return words;
    },
  };
}

function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = seed;
  for (let at = start; at < end; at += 1)
    hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  return hash ^ (hash >>> 15);
}

function isSame(stored: Uint8Array, from: number, bytes: Uint8Array, start: number, end: number) {
  for (let at = start; at < end; at += 1) if (stored[from + at - start] !== bytes[at]) return false;
  return true;
}
