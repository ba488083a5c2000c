type Body = { body: ReadableStream<Uint8Array> | null };

/** The bytes of a request or an answer; null where there are more than `bytesMax`, and no more of them is read. */
export async function readBytes({ body }: Body, bytesMax: number): Promise<Uint8Array | null> {
  if (body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return join(chunks, length);
    length += value.length;
    if (length > bytesMax) {
      // Nobody waits for the end of what is not wanted, nor hears of how it ended.
      reader.cancel().catch(() => {});
      return null;
    }
    chunks.push(value);
  }
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
