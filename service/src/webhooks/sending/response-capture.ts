/** Captures the start of a response: headers and body up to their limits, as bytes. */
import { keptBytesMax } from '../../contract/delivery-rules.ts';

/** docs/reference/deliveries.md#delivery-records */
export const readBytesMax = 64 * 1024;
export const keptHeaderBytesMax = 8 * 1024;

export type ResponseHeaders = Record<string, string | string[] | undefined>;

/** Collects the start of a body. */
export class BodyCapture {
  #chunks: Buffer[] = [];
  #keptBytes = 0;
  #readBytes = 0;

  /** Returns whether to read on. Copies the chunk, because a slice would keep its whole buffer in memory. */
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

/** Returns bytes of JSON text: an object of strings, as many as fit the limit. */
export function captureHeaders(headers: ResponseHeaders): Buffer {
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
