/** A Fetch body, or an iterable such as a request of Node.js. */
export type ByteSource = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** Returns all bytes of a source, or null if there are more than `bytesMax`; the rest is not read. */
export async function readBytes(source: ByteSource, bytesMax: number): Promise<Uint8Array | null> {
  const { next, stop } = 'getReader' in source ? fromStream(source) : fromIterable(source);
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await next();
    if (done || value === undefined) return join(chunks, length);
    if (!isBytes(value)) throw new TypeError('a body must consist of bytes');
    length += value.length;
    if (length > bytesMax) {
      stop();
      return null;
    }
    chunks.push(value);
  }
}

/** Also of another realm: test environments have their own `Uint8Array`, and the Buffers of Node.js are not of it. */
export function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && tagOf(value) === '[object Uint8Array]';
}

export function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value);
}

type Reader = {
  next: () => Promise<{ done?: boolean; value?: Uint8Array | undefined }>;
  stop: () => void;
};

/** Not every browser can iterate over a stream. */
function fromStream(stream: ReadableStream<Uint8Array>): Reader {
  const reader = stream.getReader();
  return {
    next: async () => reader.read(),
    // The result of cancelling does not matter.
    stop: () => void reader.cancel().catch(() => {}),
  };
}

/** The iterator is not ended: a request of Node.js would close its connection before the response. */
function fromIterable(iterable: AsyncIterable<Uint8Array>): Reader {
  const iterator = iterable[Symbol.asyncIterator]();
  return { next: async () => iterator.next(), stop: () => {} };
}

function join(chunks: Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
