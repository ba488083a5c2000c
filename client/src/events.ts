/** The same events that webhooks push, by cursor and as they come. Requires the scope `read:events`. */
import type { Connection } from './connection.ts';
import { streamEvents } from './event-stream.ts';
import { NetworkError } from './network-error.ts';
import { OrgdirError } from './orgdir-error.ts';
import { checkDuration, type RequestOptions } from './options.ts';
import { pageLimitMax, refuseParameter, type Loose } from './pages.ts';
import type {
  CursorPagination,
  ListEventsQuery,
  WebhookEvent,
  WebhookTestDelivery,
} from './types.ts';
import { isTemporary, type Failure } from './retry.ts';
import { TimeoutError } from './timeout-error.ts';
import { wait } from './wait.ts';

/** Like a delivery, except that `id` is the id of the event. New events may be added. */
export type DirectoryEvent = Exclude<WebhookEvent, WebhookTestDelivery>;

/** Events in order. Store `pagination.nextCursor` after you have handled them, to continue from there. */
export type EventPage = { data: DirectoryEvent[]; pagination: CursorPagination };

export type EventsQuery = Loose<Omit<ListEventsQuery, 'after'>> & {
  /** The `nextCursor` of an earlier page. Default: start at the oldest stored event. */
  after?: string | null | undefined;
  /** The id of a webhook of the app: only the events that it subscribes to, also those that are opt-in. */
  webhook?: string | undefined;
};

export type FollowQuery = Omit<EventsQuery, 'newest'> & {
  /**
   * How long to wait between polls when there are no more events and no stream can be had, in milliseconds, at least 100.
   * Default: 5,000.
   */
  pollMs?: number | undefined;
  /**
   * How long to keep trying while the service is unavailable, in maintenance or rate-limiting, fails with 500, or a proxy
   * responds in its place, in milliseconds. Default: an hour.
   */
  patienceMs?: number | undefined;
};

export type Events = {
  /** Returns one page. */
  list(query?: EventsQuery, options?: RequestOptions): Promise<EventPage>;
  /** Iterates over all events up to now. */
  all(
    query?: Omit<EventsQuery, 'newest'>,
    options?: RequestOptions,
  ): AsyncGenerator<DirectoryEvent, void, undefined>;
  /**
   * Iterates over pages without end: after the newest event it reads the stream of events, and polls where there is none or
   * while the service is unavailable. It ends by `break`, by a signal, or with an error that is permanent or lasts longer than
   * `patienceMs`. Continue from the last cursor that you stored.
   */
  follow(query?: FollowQuery, options?: RequestOptions): AsyncGenerator<EventPage, void, undefined>;
};

const defaultPollMs = 5000;
const pollMsMin = 100;
/** The longest `Retry-After` of the service. */
export const defaultPatienceMs = 3_600_000;
/** A stream that lasts for less is no better than polling. */
const shortStreamMs = 10_000;
/** How long it polls before it asks for a stream again: a proxy may not let streams through, and an app can have five. */
const streamAgainMs = 60_000;
/** The same after one that fell silent: each time, events wait until that is noticed. */
const silentStreamAgainMs = 600_000;
/** Spreads clients whose streams ended at the same time. */
const spreadMs = 1_000;

export function events(connection: Connection): Events {
  const { send, signals } = connection;
  const list: Events['list'] = (query, options) => send({ path: ['events'], query, options });

  async function* all(
    query: EventsQuery = {},
    options?: RequestOptions,
  ): AsyncGenerator<DirectoryEvent, void, undefined> {
    refuseNewest(query);
    let { after } = query;
    for (;;) {
      const page = await list({ limit: pageLimitMax, ...query, after }, options);
      yield* page.data;
      if (!page.pagination.hasMore) return;
      after = page.pagination.nextCursor;
    }
  }

  async function* follow(
    { pollMs = defaultPollMs, patienceMs = defaultPatienceMs, ...query }: FollowQuery = {},
    options?: RequestOptions,
  ): AsyncGenerator<EventPage, void, undefined> {
    checkDuration('pollMs', pollMs, pollMsMin);
    checkDuration('patienceMs', patienceMs, 0);
    refuseNewest(query);
    let { after = null } = query;
    let hasRead = false;
    let failingSince: number | null = null;
    let streamAt = 0;
    for (;;) {
      const page = await list({ limit: pageLimitMax, ...query, after }, options).catch(
        (error: unknown) => toFailure(error, hasRead),
      );
      if (page instanceof OrgdirError) {
        failingSince ??= performance.now();
        if (performance.now() - failingSince >= patienceMs) throw page;
        await wait(Math.max(pollMs, Math.min(retryAfterMs(page), patienceMs)), signals(options));
        continue;
      }
      failingSince = null;
      hasRead = true;
      const { nextCursor, hasMore } = page.pagination;
      if (nextCursor !== after) yield page;
      after = nextCursor;
      if (hasMore) continue;
      let pauseMs = pollMs;
      // Without a cursor, what comes before the stream begins would be missed.
      if (after !== null && performance.now() >= streamAt) {
        const ended = yield* streamPages(connection, { ...query, after }, options);
        after = ended.after;
        streamAt = performance.now() + ended.pollForMs;
        if (ended.pollForMs === 0) pauseMs = Math.min(pollMs, Math.random() * spreadMs);
      }
      await wait(pauseMs, signals(options));
    }
  }

  return { list, all, follow };
}

function refuseNewest(query: object): void {
  refuseParameter(query, 'newest', 'pass the nextCursor of list({ newest: true }) as after');
}

/** The pages of one stream. Returns the last cursor, and for how long to poll before the next stream. */
async function* streamPages(
  connection: Connection,
  { after: start, event, webhook, limit = pageLimitMax }: FollowQuery & { after: string },
  options?: RequestOptions,
): AsyncGenerator<EventPage, { after: string; pollForMs: number }, undefined> {
  const startedAt = performance.now();
  let after = start;
  try {
    const stream = streamEvents(connection, { after, event, webhook }, options);
    for await (const { texts, cursor } of stream) {
      const data = texts.map(parseEvent);
      after = cursor;
      if (data.length === 0) continue;
      yield { data, pagination: { limit, nextCursor: cursor, hasMore: false } };
    }
  } catch (error) {
    // The next page has the same error if it is permanent.
    if (!(error instanceof OrgdirError)) throw error;
    if (error instanceof TimeoutError) return { after, pollForMs: silentStreamAgainMs };
  }
  return { after, pollForMs: performance.now() - startedAt < shortStreamMs ? streamAgainMs : 0 };
}

/** Throws `NetworkError`: something between has changed the stream. */
export function parseEvent(text: string): DirectoryEvent {
  try {
    return JSON.parse(text) as DirectoryEvent;
  } catch (cause) {
    throw new NetworkError('the stream has an event that is no JSON', { cause });
  }
}

/** Returns failures that a loop waits out; throws all other errors. */
export function toFailure(error: unknown, hasRead: boolean): Failure {
  if (isTemporary(error, hasRead)) return error;
  throw error;
}

export function retryAfterMs(failure: Failure): number {
  return 'retryAfter' in failure ? (failure.retryAfter ?? 0) * 1000 : 0;
}
