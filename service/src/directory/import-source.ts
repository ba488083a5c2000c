/** Reads NDJSON line by line: turns each line into a value or a fault. It checks no schema. `read-csv.ts` reads CSV. */

import { findRepeatedName, parseJson } from '../contract/json.ts';

/**
 * `number` counts lines from 1, as an editor does; `bytes` is the length of the line if it is known; `endsInput`: what
 * follows was not read.
 */
export type SourceLine = { number: number; bytes?: number } & (
  | { value: unknown }
  | { fault: string; endsInput?: true }
);

/** More than the largest entry that the schemas allow, with every character escaped. */
export const lineBytesMax = 2 * 1024 * 1024;
export const tooLong = { fault: `is longer than ${lineBytesMax / 1024} KiB` };
const newline = 0x0a;

/** One JSON value per line. Empty lines and a byte order mark are skipped. */
export async function* readNdjson(input: AsyncIterable<Buffer>): AsyncGenerator<SourceLine> {
  let number = 0;
  for await (const line of splitLines(input)) {
    number += 1;
    const parsed = parseLine(line, number === 1);
    if (parsed !== null) yield { number, bytes: line.length, ...parsed };
  }
}

async function* splitLines(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  for await (const chunk of input) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      yield Buffer.concat([...rest, chunk.subarray(start, end)]);
      rest = [];
      restBytes = 0;
      start = end + 1;
    }
    // An endless line must not fill the memory, so bytes past the limit are dropped.
    if (restBytes <= lineBytesMax) rest.push(chunk.subarray(start));
    restBytes += chunk.length - start;
  }
  if (restBytes > 0) yield Buffer.concat(rest);
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Returns null for an empty line. `first` says whether a byte order mark may come first. */
function parseLine(line: Buffer, first: boolean): { value: unknown } | { fault: string } | null {
  if (line.length > lineBytesMax) return tooLong;
  let text: string;
  try {
    text = utf8.decode(line);
  } catch {
    return { fault: 'is not valid UTF-8' };
  }
  if (first) text = text.replace(/^\uFEFF/, '');
  if (text.trim() === '') return null;
  const value = parseJson(text);
  if (value === undefined) return { fault: 'is not valid JSON' };
  const repeated = findRepeatedName(text);
  return repeated === null ? { value } : { fault: `names ${JSON.stringify(repeated)} twice` };
}
