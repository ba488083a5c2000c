import { arrayLiteral } from './array-literal.ts';

/**
 * Packs many byte strings into one binary parameter: an array of `bytea` would be sent in hexadecimal. Item n is
 * `substring(bytes from starts[n] for lengths[n])`, or null if it was null.
 */
export function packBytes(pieces: readonly (Buffer | null)[]): {
  bytes: Buffer;
  /** Array literals of `int[]`; from 1, as PostgreSQL counts. */
  starts: string;
  lengths: string;
} {
  const starts: number[] = [];
  let next = 1;
  for (const piece of pieces) {
    starts.push(next);
    next += piece?.length ?? 0;
  }
  return {
    bytes: Buffer.concat(pieces.filter((piece) => piece !== null)),
    starts: arrayLiteral(starts),
    lengths: arrayLiteral(pieces.map((piece) => piece?.length ?? null)),
  };
}
