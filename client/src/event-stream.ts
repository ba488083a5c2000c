/** Reads events as they come, from server-sent events. */
import type { Connection } from './connection.ts';
import { NetworkError } from './network-error.ts';
import type { RequestOptions } from './options.ts';
import { readChunks } from './read-chunks.ts';

export type Streamed = {
  /** The events as they were sent, in JSON. None with the first cursor. */
  texts: string[];
  /** Where the stream goes on after them. */
  cursor: string;
};

/** The service begins a stream at once, and then sends something every 15 seconds. */
export const beginMsMax = 5_000;
export const silenceMsMax = 45_000;
/** A blueprint with the longest texts, all escaped, has 650 KiB; the rest is room. */
const blockCharsMax = 1024 * 1024;

/**
 * Yields the events after the cursor, those that came together at once; without one, those from now on. Ends when the service
 * ends the stream, and throws if it cannot be opened, breaks off or falls silent.
 */
export async function* streamEvents(
  { open, signals }: Connection,
  query: { after?: string | undefined; event?: string | undefined; webhook?: string | undefined },
  options: RequestOptions = {},
): AsyncGenerator<Streamed, void, undefined> {
  const { response } = await open({
    path: ['events', 'stream'],
    query,
    accept: 'text/event-stream',
    options: { ...options, retries: 0, timeoutMs: beginMsMax, totalTimeoutMs: beginMsMax },
  });
  const type = response.headers.get('content-type') ?? '';
  if (response.body === null || !type.startsWith('text/event-stream')) {
    await response.body?.cancel();
    throw new NetworkError('GET events/stream: the response is no stream of events');
  }
  const limits = { timeoutMs: beginMsMax, signals: signals(options) };
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of readChunks(response, 'the stream', limits)) {
    limits.timeoutMs = silenceMsMax;
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? '';
    if (rest.length > blockCharsMax) throw new NetworkError('the stream has no end of an event');
    const messages = blocks.map(parse);
    const sent = messages.filter(({ id }) => id !== '');
    const cursor = sent.at(-1)?.id;
    const texts = sent.map(({ data }) => data).filter((data) => data !== '');
    if (cursor !== undefined) yield { texts, cursor };
    // Only the last message, which says why the stream ends, has no id.
    if (messages.some(({ id, data }) => id === '' && data !== '')) return;
  }
}

type Message = { id: string; data: string };

/** https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation */
function parse(block: string): Message {
  const message: Message = { id: '', data: '' };
  for (const line of block.split(/\r?\n/)) {
    const [, name = '', value = ''] = /^([^:]*): ?(.*)$/s.exec(line) ?? [];
    if (name === 'data') message.data += message.data === '' ? value : `\n${value}`;
    else if (name === 'id') message.id = value;
  }
  return message;
}
