/** A client of `GET /events/stream`, which reads it as a browser's EventSource does. */
import { after } from 'node:test';

export type StreamEvent = { id: string; event: string; data: any };

export type OpenStream = {
  status: number;
  headers: Headers;
  /** The next event; null after the end of the stream. */
  next(): Promise<StreamEvent | null>;
  /** The id that a client would reconnect with. */
  lastId(): string;
  /** Comments so far. */
  comments(): number;
  close(): void;
};

/** Resolves when the stream has begun: from then on nothing is missed. */
export async function openStream(
  base: string,
  key: string,
  {
    query = '',
    headers = {},
    signal,
  }: { query?: string; headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<OpenStream> {
  const abort = new AbortController();
  if (signal) signal.addEventListener('abort', () => abort.abort());
  else after(() => abort.abort());
  const response = await fetch(`${base}/api/v1/events/stream${query}`, {
    headers: { authorization: `Bearer ${key}`, ...headers },
    signal: abort.signal,
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const events: StreamEvent[] = [];
  let text = '';
  let lastId = '';
  let comments = 0;

  function take(block: string): void {
    const fields = block.split('\n').map((line) => /^([^:]*):? ?(.*)$/s.exec(line) ?? []);
    const all = (name: string) =>
      fields.filter((field) => field[1] === name).map((field) => field[2]);
    comments += all('').length;
    lastId = all('id').at(-1) ?? lastId;
    const data = all('data');
    if (data.length === 0) return;
    const event = all('event')[0] ?? 'message';
    events.push({ id: lastId, event, data: JSON.parse(data.join('\n')) });
  }

  /** Returns false at the end. */
  async function read(): Promise<boolean> {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) return false;
    const blocks = (text + value).split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) take(block);
    return true;
  }

  while (response.ok && lastId === '') await read();
  return {
    status: response.status,
    headers: response.headers,
    async next() {
      while (events.length === 0) if (!(await read())) return null;
      return events.shift() ?? null;
    },
    lastId: () => lastId,
    comments: () => comments,
    close: () => abort.abort(),
  };
}
