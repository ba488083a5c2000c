/** Numbers different words by their UTF-8. No text is made of a word that is known, so reading many leaves no garbage. */
import { randomInt } from 'node:crypto';
import { inSteps, type Steps } from './steps.ts';

type WordTable = {
  /** The number of the word in these bytes. */
  numberOf(bytes: Uint8Array, start: number, end: number): number;
  /** The words in the order of their numbers. */
  toWords(): Steps<string[]>;
};

/** Nobody can choose words that have the same hashes. */
const seed = randomInt(2 ** 31);
const firstSize = 1_024;
const wordsPerStep = 2_000;

export function createWordTable(): WordTable {
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
      yield* inSteps(ends, wordsPerStep, (end) => {
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
