/** An inverted index of a set of entries that does not change: for each word, the entries that contain it. */
import { createVocabulary, type Vocabulary } from './vocabulary.ts';
import { wordsOf } from './words.ts';

/** The part of an entry that contains a word, the most relevant first. */
export const nameField = 0;
export const tagField = 1;
export const otherField = 2;
export type Field = typeof nameField | typeof tagField | typeof otherField;

/** A folded text of an entry. */
export type FieldText = { field: Field; text: string };

export type Segment = {
  vocabulary: Vocabulary;
  /** The postings of a word are those from `offsets[word]` to `offsets[word + 1]`. */
  offsets: Uint32Array;
  /** `slot * 4 + field` for each entry and the best of its fields that contains the word. */
  postings: Uint32Array;
};

export const fields = 3;
export const fieldBits = 2;
export const fieldMask = 3;

const chunkLength = 1 << 16;

/** Collects entries, and builds their segment at the end. */
export function createSegmentBuilder() {
  const words = new Map<string, number>();
  const counts: number[] = [];
  /** The last slot of each word: an entry's later fields are less relevant, and repetitions add nothing. */
  const lastSlots: number[] = [];
  // Chunks, because a single array that grows would leave copies behind.
  const chunks: Uint32Array[] = [];
  let length = 0;

  function add(slot: number, texts: FieldText[]): void {
    for (const { field, text } of texts)
      for (const word of wordsOf(text)) addWord(word, slot, field);
  }

  function addWord(word: string, slot: number, field: Field): void {
    let id = words.get(word);
    if (id === undefined) {
      id = words.size;
      words.set(word, id);
      counts.push(0);
      lastSlots.push(-1);
    }
    if (lastSlots[id] === slot) return;
    lastSlots[id] = slot;
    counts[id] = (counts[id] as number) + 1;
    if (length % chunkLength === 0) chunks.push(new Uint32Array(2 * chunkLength));
    const chunk = chunks.at(-1) as Uint32Array;
    const at = 2 * (length % chunkLength);
    chunk[at] = id;
    chunk[at + 1] = (slot << fieldBits) | field;
    length += 1;
  }

  function build(): Segment {
    const offsets = new Uint32Array(words.size + 1);
    for (const [id, count] of counts.entries()) offsets[id + 1] = (offsets[id] as number) + count;
    const next = offsets.slice();
    const postings = new Uint32Array(length);
    for (let index = 0; index < length; index += 1) {
      const chunk = chunks[Math.floor(index / chunkLength)] as Uint32Array;
      const at = 2 * (index % chunkLength);
      const id = chunk[at] as number;
      postings[next[id] as number] = chunk[at + 1] as number;
      next[id] = (next[id] as number) + 1;
    }
    return { vocabulary: createVocabulary([...words.keys()]), offsets, postings };
  }

  return { add, build };
}
