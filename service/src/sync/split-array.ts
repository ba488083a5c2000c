/**
 * Splits the text of one JSON array into its entries while it arrives. Finds only where entries end, and checks nothing
 * else.
 */
import { SyncFailure } from './sync-failure.ts';

export type Entry = { number: number; bytes: Buffer };

const code = (character: string) => character.charCodeAt(0);
const [quote, backslash, comma] = [code('"'), code('\\'), code(',')];
const [openArray, closeArray, openObject, closeObject] = [
  code('['),
  code(']'),
  code('{'),
  code('}'),
];

export function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/**
 * `input` begins with `[`, after optional white space. An entry longer than `entryBytesMax` is cut to slightly more
 * than that.
 */
export async function* splitArray(
  input: AsyncIterable<Buffer>,
  entryBytesMax: number,
): AsyncGenerator<Entry> {
  const scan = new ArrayScan(entryBytesMax);
  for await (const chunk of input) yield* scan.take(chunk);
  scan.end();
}

class ArrayScan {
  readonly #entryBytesMax: number;
  #state: 'before' | 'inside' | 'after' = 'before';
  /** The number of open brackets inside the entry. */
  #depth = 0;
  #inText = false;
  #escaped = false;
  #number = 0;
  #parts: Buffer[] = [];
  #partBytes = 0;

  constructor(entryBytesMax: number) {
    this.#entryBytesMax = entryBytesMax;
  }

  /** The entries that end in this piece. */
  *take(chunk: Buffer): Generator<Entry> {
    let start = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] as number;
      if (this.#state !== 'inside') {
        this.#outside(byte);
        start = at + 1;
      } else if (this.#endsEntry(byte)) {
        this.#keep(chunk.subarray(start, at));
        const entry = this.#finish(byte === closeArray);
        if (entry) yield entry;
        start = at + 1;
      }
    }
    if (this.#state === 'inside') this.#keep(chunk.subarray(start));
  }

  end(): void {
    if (this.#state === 'after') return;
    throw new SyncFailure(
      'cut_off',
      `the source ends in the middle of its array, after ${this.#number} entries`,
    );
  }

  #outside(byte: number): void {
    if (isSpace(byte)) return;
    if (this.#state === 'before' && byte === openArray) this.#state = 'inside';
    else throw new SyncFailure('malformed', 'the source goes on after its array');
  }

  #endsEntry(byte: number): boolean {
    if (this.#inText) {
      if (this.#escaped) this.#escaped = false;
      else if (byte === backslash) this.#escaped = true;
      else if (byte === quote) this.#inText = false;
      return false;
    }
    if (byte === quote) this.#inText = true;
    else if (byte === openArray || byte === openObject) this.#depth += 1;
    else if (this.#depth === 0) return byte === comma || byte === closeArray;
    else if (byte === closeArray || byte === closeObject) this.#depth -= 1;
    return false;
  }

  /** Past the limit, it only matters that the entry is too long. */
  #keep(part: Buffer): void {
    if (this.#partBytes <= this.#entryBytesMax) this.#parts.push(Buffer.from(part));
    this.#partBytes += part.length;
  }

  #finish(last: boolean): Entry | null {
    const bytes = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#partBytes = 0;
    if (last) this.#state = 'after';
    const isEmpty = bytes.every(isSpace);
    if (last && isEmpty && this.#number === 0) return null;
    this.#number += 1;
    if (isEmpty)
      throw new SyncFailure(
        'malformed',
        `the source has nothing where entry ${this.#number} should be`,
      );
    return { number: this.#number, bytes };
  }
}
