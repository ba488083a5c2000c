/** Reads the entries of one JSON array while it arrives. An entry over the limit is skipped and never fills the memory. */
import { getManyValues, isMany, none, type Many } from 'stream-chain/core';
import { Assembler } from 'stream-json/assembler.js';
import { jsonParser } from 'stream-json/core/parser.js';
import type { Token } from 'stream-json/parser.js';
import { lineBytesMax, tooLong, type SourceLine } from '../directory/import-source.ts';
import { SyncFailure } from './sync-failure.ts';

export async function* readArray(bytes: AsyncIterable<Buffer>): AsyncGenerator<SourceLine> {
  // The parser holds at most 256 characters of an unpacked string.
  const parse = jsonParser({ packValues: false });
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  const entries = new EntryReader();

  for await (const chunk of bytes)
    yield* entries.take(parseAs('malformed', () => parse(utf8.decode(chunk, { stream: true }))));
  yield* entries.take(parseAs('cut_off', () => parse((utf8.decode() || none) as string)));
}

function parseAs(reason: 'malformed' | 'cut_off', parse: () => Many<Token> | typeof none): Token[] {
  try {
    const tokens = parse();
    return isMany(tokens) ? getManyValues(tokens) : [];
  } catch (cause) {
    const { message } = cause as Error;
    throw new SyncFailure(reason, `the source is not valid JSON: ${message}`, { cause });
  }
}

class EntryReader {
  #number = 0;
  #depth = 0;
  #text = '';
  /** The length of the texts in the entry, plus one for each token: less than its bytes. */
  #length = 0;
  #assembler = new Assembler();

  *take(tokens: Token[]): Generator<SourceLine> {
    for (const token of tokens) {
      if (!this.#endsEntry(token)) continue;
      this.#number += 1;
      const isTooLong = this.#length > lineBytesMax;
      yield { number: this.#number, ...(isTooLong ? tooLong : { value: this.#assembler.current }) };
      this.#assembler = new Assembler();
      this.#length = 0;
    }
  }

  #endsEntry(token: Token): boolean {
    switch (token.name) {
      case 'startArray':
      case 'startObject':
        if (this.#depth > 0) this.#keep(token);
        this.#depth += 1;
        // The parser remembers each level.
        if (this.#depth > lineBytesMax)
          throw new SyncFailure('malformed', `entry ${this.#number + 1} is nested too deeply`);
        return false;
      case 'endArray':
      case 'endObject':
        this.#depth -= 1;
        if (this.#depth > 0) this.#keep(token);
        break;
      case 'startKey':
      case 'startString':
      case 'startNumber':
        this.#text = '';
        return false;
      case 'stringChunk':
      case 'numberChunk':
        this.#length += token.value.length;
        if (this.#length <= lineBytesMax) this.#text += token.value;
        return false;
      case 'endKey':
        this.#keep({ name: 'keyValue', value: this.#text });
        return false;
      case 'endString':
        this.#keep({ name: 'stringValue', value: this.#text });
        break;
      case 'endNumber':
        this.#keep({ name: 'numberValue', value: this.#text });
        break;
      default:
        this.#keep(token);
    }
    return this.#depth === 1;
  }

  #keep(token: Token): void {
    this.#length += 1;
    if (this.#length <= lineBytesMax) this.#assembler.consume(token);
  }
}
