/** Chunks as they come: a Fetch body, or what can be iterated, such as a request of Node.js. */
export type ByteSource = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** All bytes of a source; null where there are more than `bytesMax`, and no more of them is read. */
export async function readBytes(source: ByteSource, bytesMax: number): Promise<Uint8Array | null> {
  const { next, stop } = 'getReader' in source ? fromStream(source) : fromIterable(source);
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await next();
    if (done || value === undefined) return join(chunks, length);
    if (!(value instanceof Uint8Array)) throw new TypeError('a body must come as bytes');
    length += value.length;
    if (length > bytesMax) {
      stop();
      return null;
    }
    chunks.push(value);
  }
}

type Reader = {
  next: () => Promise<{ done?: boolean; value?: Uint8Array | undefined }>;
  stop: () => void;
};

/** Not every browser can iterate a stream. */
function fromStream(stream: ReadableStream<Uint8Array>): Reader {
  const reader = stream.getReader();
  return {
    next: async () => reader.read(),
    // Nobody hears of how it ended what is not wanted.
    stop: () => void reader.cancel().catch(() => {}),
  };
}

/** It is not told to end: a request of Node.js would close its connection, and take no answer any more. */
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
