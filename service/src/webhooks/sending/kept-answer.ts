/** What is kept of an answer: headers and body up to their bounds, as bytes. */

/** Reads at most this much and keeps the first 4 KiB: docs/reference/deliveries.md#delivery-records */
const readBytesMax = 64 * 1024;
const keptBytesMax = 4 * 1024;
const keptHeaderBytesMax = 8 * 1024;

export type AnswerHeaders = Record<string, string | string[] | undefined>;

/** Collects a body's start. */
export class KeptBody {
  #chunks: Buffer[] = [];
  #keptBytes = 0;
  #readBytes = 0;

  /** Whether more is wanted. The chunk is copied: it is part of a larger one that would be held with it. */
  add(chunk: Buffer): boolean {
    this.#readBytes += chunk.length;
    if (this.#keptBytes < keptBytesMax) {
      const kept = Buffer.from(chunk.subarray(0, keptBytesMax - this.#keptBytes));
      this.#chunks.push(kept);
      this.#keptBytes += kept.length;
    }
    return this.#readBytes < readBytesMax;
  }

  bytes(): Buffer {
    const [first, second] = this.#chunks;
    return first && !second ? first : Buffer.concat(this.#chunks);
  }
}

/** As JSON text in bytes: an object of strings, as many as the bound allows. */
export function keepHeaders(headers: AnswerHeaders): Buffer {
  const kept: Record<string, string> = {};
  let bytes = 0;
  for (const name of Object.keys(headers)) {
    const text = headerText(headers[name]) ?? '';
    bytes += name.length + text.length;
    if (bytes > keptHeaderBytesMax) break;
    kept[name] = text;
  }
  return Buffer.from(JSON.stringify(kept));
}

export function headerText(value: string | string[] | undefined): string | null {
  return Array.isArray(value) ? value.join(', ') : (value ?? null);
}
