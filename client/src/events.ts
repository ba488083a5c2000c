/** The pull side of webhooks: the same events, by cursor. Needs the scope `read:events`. */
import type { Connection } from './connection.ts';
import { checkDuration, type RequestOptions } from './options.ts';
import { pageLimitMax, type Loose } from './pages.ts';
import type {
  CursorPagination,
  ListEventsQuery,
  WebhookEvent,
  WebhookTestDelivery,
} from './types.ts';
import { wait } from './wait.ts';

/** As in a delivery, but that `id` is the event's own. New events may appear. */
export type DirectoryEvent = Exclude<WebhookEvent, WebhookTestDelivery>;

/** Events in their order. Keep `pagination.nextCursor` when you are done with them: it is where to go on. */
export type EventPage = { data: DirectoryEvent[]; pagination: CursorPagination };

export type EventsQuery = Loose<Omit<ListEventsQuery, 'after'>> & {
  /** The `nextCursor` of an earlier page. Without it, from the oldest event that is kept. */
  after?: string | null | undefined;
};

export type FollowQuery = EventsQuery & {
  /** How long to wait before asking again when there was nothing more, in milliseconds, at least 100. Default: 5,000. */
  pollMs?: number | undefined;
};

export type Events = {
  /** One page. */
  list(query?: EventsQuery, options?: RequestOptions): Promise<EventPage>;
  /** Every event up to now. */
  all(
    query?: EventsQuery,
    options?: RequestOptions,
  ): AsyncGenerator<DirectoryEvent, void, undefined>;
  /**
   * Page after page, for as long as you go on: at the end of what there is it waits and asks again. Ends by `break`, by
   * a signal, or with the error that `list` gives up with; go on from the last cursor that you kept.
   */
  follow(query?: FollowQuery, options?: RequestOptions): AsyncGenerator<EventPage, void, undefined>;
};

const defaultPollMs = 5000;
const pollMsMin = 100;

export function events({ send, signals }: Connection): Events {
  const list: Events['list'] = (query, options) => send({ path: ['events'], query, options });

  async function* all(query: EventsQuery = {}, options?: RequestOptions) {
    for await (const page of pages(query, options)) {
      yield* page.data;
      if (!page.pagination.hasMore) return;
    }
  }

  async function* follow(
    { pollMs = defaultPollMs, ...query }: FollowQuery = {},
    options?: RequestOptions,
  ) {
    checkDuration('pollMs', pollMs, pollMsMin);
    let { after = null } = query;
    for await (const page of pages(query, options)) {
      const { nextCursor, hasMore } = page.pagination;
      if (nextCursor !== after) yield page;
      after = nextCursor;
      if (!hasMore) await wait(pollMs, signals(options));
    }
  }

  async function* pages(
    query: EventsQuery,
    options?: RequestOptions,
  ): AsyncGenerator<EventPage, void, undefined> {
    let { after } = query;
    for (;;) {
      const page = await list({ limit: pageLimitMax, ...query, after }, options);
      after = page.pagination.nextCursor;
      yield page;
    }
  }

  return { list, all, follow };
}
