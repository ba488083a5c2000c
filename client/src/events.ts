/** The pull side of webhooks: the same events, by cursor. Needs the scope `read:events`. */
import type { Connection } from './connection.ts';
import { OrgdirError } from './orgdir-error.ts';
import { checkDuration, type RequestOptions } from './options.ts';
import { pageLimitMax, type Loose } from './pages.ts';
import type {
  CursorPagination,
  ListEventsQuery,
  WebhookEvent,
  WebhookTestDelivery,
} from './types.ts';
import { mayRetry, type Failure } from './retry.ts';
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
  /**
   * For how long to go on asking while the service cannot be reached, is in maintenance or asks for patience, in
   * milliseconds. Default: an hour.
   */
  patienceMs?: number | undefined;
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
   * Page after page, for as long as you go on: at the end of what there is it waits and asks again, and while the
   * service is away too. Ends by `break`, by a signal, or with the error that outlasts `patienceMs` or will not pass;
   * go on from the last cursor that you kept.
   */
  follow(query?: FollowQuery, options?: RequestOptions): AsyncGenerator<EventPage, void, undefined>;
};

const defaultPollMs = 5000;
const pollMsMin = 100;
/** As far ahead as the service's `Retry-After` goes. */
const defaultPatienceMs = 3_600_000;

export function events({ send, signals }: Connection): Events {
  const list: Events['list'] = (query, options) => send({ path: ['events'], query, options });

  async function* all(
    query: EventsQuery = {},
    options?: RequestOptions,
  ): AsyncGenerator<DirectoryEvent, void, undefined> {
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
    let { after = null } = query;
    let failingSince: number | null = null;
    for (;;) {
      const page = await list({ limit: pageLimitMax, ...query, after }, options).catch(toFailure);
      if (page instanceof OrgdirError) {
        failingSince ??= Date.now();
        if (Date.now() - failingSince >= patienceMs) throw page;
        await wait(Math.max(pollMs, Math.min(askedMs(page), patienceMs)), signals(options));
        continue;
      }
      failingSince = null;
      const { nextCursor, hasMore } = page.pagination;
      if (nextCursor !== after) yield page;
      after = nextCursor;
      if (!hasMore) await wait(pollMs, signals(options));
    }
  }

  return { list, all, follow };
}

/** What may pass by itself, as a value; throws the rest. */
function toFailure(error: unknown): Failure {
  if (error instanceof OrgdirError && mayRetry('GET', error as Failure)) return error as Failure;
  throw error;
}

function askedMs(failure: Failure): number {
  return 'retryAfter' in failure ? (failure.retryAfter ?? 0) * 1000 : 0;
}
