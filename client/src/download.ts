/** Reads everything of a list as it arrives, a JSON object per line. */
import type { Connection } from './connection.ts';
import { describedCharsMax, describeResponse } from './describe-response.ts';
import { NetworkError } from './network-error.ts';
import type { RequestOptions } from './options.ts';
import { readChunks } from './read-chunks.ts';
import { UnexpectedResponseError } from './unexpected-response-error.ts';

export type Download<Entry> = {
  /** Where changes go on: the `changedSince` of `list`. */
  nextCursor: string;
  /** All entries, in the order of their ids, as they arrive. If it is interrupted, it rejects. */
  batches: AsyncGenerator<Entry[], void, undefined>;
};

export async function download<Entry>(
  { open, signals, apiKey }: Connection,
  name: string,
  options: RequestOptions = {},
): Promise<Download<Entry>> {
  const { response, timeoutMs } = await open({ path: [`${name}.ndjson`], options });
  const nextCursor = response.headers.get('x-next-cursor');
  const limits = { timeoutMs, signals: signals(options) };
  if (response.body === null || nextCursor === null)
    throw new UnexpectedResponseError({
      message: describeResponse(
        `GET ${name}.ndjson`,
        response,
        await readStart(response, limits),
        apiKey,
      ),
      status: response.status,
      requestId: response.headers.get('x-request-id'),
      retryAfter: null,
    });
  const chunks = readChunks(response, 'the download', limits);
  return { nextCursor, batches: parseLines<Entry>(chunks) };
}

/** The beginning of what is no download. */
async function readStart(
  response: Response,
  limits: Parameters<typeof readChunks>[2],
): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of readChunks(response, 'the response', limits)) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length >= describedCharsMax) break;
  }
  return text;
}

async function* parseLines<Entry>(
  chunks: AsyncGenerator<Uint8Array, void, undefined>,
): AsyncGenerator<Entry[], void, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (lines.length > 0) yield lines.map((line) => parseLine<Entry>(line));
  }
  if (rest !== '') throw new NetworkError('the download ended within an entry');
}

function parseLine<Entry>(line: string): Entry {
  try {
    return JSON.parse(line) as Entry;
  } catch (cause) {
    throw new NetworkError('the download has a line that is no JSON', { cause });
  }
}
