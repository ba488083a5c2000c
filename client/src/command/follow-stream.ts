/**
 * Reads the stream of events, over lost connections, each event once. The events are text, because a number that was parsed
 * may have lost digits.
 */
import type { Connection } from '../connection.ts';
import { describeResponse } from '../describe-response.ts';
import { streamEvents } from '../event-stream.ts';
import { parseEvent, retryAfterMs, toFailure } from '../events.ts';
import { pageLimitMax } from '../pages.ts';
import { readChunks } from '../read-chunks.ts';
import type { Failure } from '../retry.ts';
import { UnexpectedResponseError } from '../unexpected-response-error.ts';
import { wait } from '../wait.ts';
import { splitEntries } from './split-entries.ts';

export type StreamQuery = { event?: string | undefined; webhook?: string | undefined };
type Options = {
  /** How many of the newest events come first. */
  replay: number;
  signal: AbortSignal;
  /** Called when events begin to come, and after each outage. */
  onOpen: () => void;
  /** Called once per outage. */
  onOutage: (failure: Failure) => void;
  /** Whether an event counts for `replay`. */
  matches: (event: string) => boolean;
};
export type EventText = { id: string; event: string; text: string };

const pageTimeoutMs = 30_000;
const reconnectMs = 2_000;
/** A longer `Retry-After` is not waited for: somebody looks at the terminal. */
const reconnectMsMax = 30_000;
/** Spreads clients whose streams ended at the same time. */
const spreadMs = 1_000;

/** Throws errors that are permanent, and the signal's reason. */
export async function* followStream(
  connection: Connection,
  query: StreamQuery,
  { replay, signal, onOpen, onOutage, matches }: Options,
): AsyncGenerator<EventText, void, undefined> {
  let isReplayed = replay === 0;
  let isOpen = false;
  let hasRead = false;
  let after: string | undefined;
  let isListed = true;
  const listed = new Set<string>();
  let isOut = false;
  for (;;) {
    let failure: Failure | null = null;
    try {
      if (!isReplayed) {
        const newest = await readNewest(connection, query, { replay, signal, matches });
        isReplayed = true;
        hasRead = true;
        isOpen = true;
        isOut = false;
        onOpen();
        yield* newest.events;
        after = newest.cursor ?? undefined;
        // Without a cursor there was no event yet: one that came before the stream began is in the list alone.
        isListed = after !== undefined;
      }
      for await (const { texts, cursor } of streamEvents(
        connection,
        { after, ...query },
        { signal },
      )) {
        hasRead = true;
        if (!isOpen) onOpen();
        isOpen = true;
        isOut = false;
        if (!isListed) {
          const all = { replay: pageLimitMax, signal, matches };
          const { events } = await readNewest(connection, query, all);
          isListed = true;
          for (const event of events) listed.add(event.id);
          yield* events;
        }
        for (const event of texts.map(toEvent)) if (!listed.has(event.id)) yield event;
        after = cursor;
      }
    } catch (error) {
      signal.throwIfAborted();
      failure = toFailure(error, hasRead);
    }
    if (failure && !isOut) onOutage(failure);
    if (failure) {
      isOut = true;
      isOpen = false;
    }
    const pauseMs = failure ? Math.max(reconnectMs, retryAfterMs(failure)) : 0;
    await wait(Math.min(pauseMs, reconnectMsMax) + Math.random() * spreadMs, [signal]);
  }
}

/** One page: of events that are rare among others, there may be fewer. */
async function readNewest(
  { open, signals, apiKey }: Connection,
  query: StreamQuery,
  { replay, signal, matches }: Pick<Options, 'replay' | 'signal' | 'matches'>,
): Promise<{ events: EventText[]; cursor: string | null }> {
  const { response } = await open({
    path: ['events'],
    query: { newest: 'true', limit: pageLimitMax, ...query },
    options: { signal, retries: 5 },
  });
  const limits = { timeoutMs: pageTimeoutMs, signals: signals({ signal }) };
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of readChunks(response, 'the list of events', limits))
    text += decoder.decode(chunk, { stream: true });
  const { pagination } = parseList(text) ?? refuse(response, text, apiKey);
  const events = splitEntries(text).map(toEvent);
  return {
    events: events.filter(({ event }) => matches(event)).slice(-replay),
    cursor: pagination.nextCursor,
  };
}

function parseList(text: string): { pagination: { nextCursor: string | null } } | null {
  try {
    const list = JSON.parse(text) as { pagination?: { nextCursor: string | null } } | null;
    return list?.pagination ? { pagination: list.pagination } : null;
  } catch {
    return null;
  }
}

function refuse(response: Response, text: string, apiKey: string | null): never {
  throw new UnexpectedResponseError({
    message: describeResponse('GET events', response, text, apiKey),
    status: response.status,
    requestId: response.headers.get('x-request-id'),
    retryAfter: null,
  });
}

function toEvent(text: string): EventText {
  const { id, event } = parseEvent(text);
  return { id, event, text };
}
