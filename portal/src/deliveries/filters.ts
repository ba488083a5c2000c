/** Keeps the filters in the address, so that a view can be shared and the Back button restores it. */
import { useSearchParams } from 'react-router';
import { errorLabels } from '../../../service/src/contract/webhook-in-words.ts';
import type { ListAppDeliveriesQuery } from '../api/types.ts';
import type { Times } from '../ui/times.tsx';
import { statusFilterLabels } from './delivery-status.tsx';
import { toSubject } from './subject.ts';

export type Span = 'hour' | 'day' | 'yesterday' | 'week' | 'own';
type Response = NonNullable<ListAppDeliveriesQuery['response']>;
type Fault = NonNullable<ListAppDeliveriesQuery['error']>;
export type Filters = {
  status: NonNullable<ListAppDeliveriesQuery['status']> | null;
  /** `500`, `5xx` or `none`. */
  response: Response | null;
  error: Fault | null;
  event: string | null;
  /** Only in the list of an app. */
  webhook: string | null;
  /** The slug of an organisation or alliance. */
  subject: string | null;
  search: string | null;
  span: Span | null;
  /** RFC 3339; only with the span `own`. */
  since: string | null;
  until: string | null;
  page: number;
};

export const noFilters: Filters = {
  status: null,
  response: null,
  error: null,
  event: null,
  webhook: null,
  subject: null,
  search: null,
  span: null,
  since: null,
  until: null,
  page: 1,
};

export const spanLabels: Record<Span, string> = {
  hour: 'Last hour',
  day: 'Last 24 hours',
  yesterday: 'Yesterday',
  week: 'Last 7 days',
  own: 'Custom range',
};

const hourMs = 3_600_000;
const spanMs = { hour: hourMs, day: 24 * hourMs, week: 7 * 24 * hourMs };
const minuteMs = 60_000;
/** The limit of the service. */
const pageMax = 2 ** 31;

export type ChangeFilters = (some: Partial<Filters>) => void;

/** `change` goes to the first page unless it names another one. */
export function useFilters(): [filters: Filters, change: ChangeFilters] {
  const [query, setQuery] = useSearchParams();
  const change = (some: Partial<Filters>) => {
    // The rendered filters may be one choice behind the address.
    const before = new URLSearchParams(location.search);
    setQuery(keepRange(before, writeFilters({ ...readFilters(before), page: 1, ...some })));
  };
  return [readFilters(query), change];
}

/** The time range of the charts is not a filter, and stays when filters change. */
export function keepRange(before: URLSearchParams, after: URLSearchParams): URLSearchParams {
  const range = before.get('range');
  if (range !== null) after.set('range', range);
  return after;
}

/** Ignores invalid values in the address. */
function readFilters(query: URLSearchParams): Filters {
  const span = oneOf(spanLabels, query.get('time'));
  const page = Number(query.get('page') ?? 1);
  const response = query.get('response');
  return {
    status: oneOf(statusFilterLabels, query.get('status')),
    response: response !== null && /^([1-9]\d\d|[1-9]xx|none)$/.test(response) ? response : null,
    error: oneOf(errorLabels, query.get('error')),
    event: query.get('event'),
    webhook: query.get('webhook'),
    subject: toSubject(query.get('subject') ?? ''),
    search: query.get('search'),
    span,
    since: span === 'own' ? readTime(query.get('since')) : null,
    until: span === 'own' ? readTime(query.get('until')) : null,
    page: Number.isInteger(page) && page >= 1 && page <= pageMax ? page : 1,
  };
}

export function writeFilters({ span, page, ...rest }: Partial<Filters>): URLSearchParams {
  const entries = Object.entries({
    ...rest,
    time: span,
    page: page !== undefined && page > 1 ? String(page) : null,
  });
  return new URLSearchParams(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** The number of filters in use. */
export function countFilters(filters: Filters): number {
  const { status, response, error, event, webhook, subject, search, span } = filters;
  const values = [status, response, error, event, webhook, subject, search, span];
  return values.filter((value) => value !== null).length;
}

/** Rounds the start down to the minute, so that the query and its cached response stay the same for a minute. */
export function toQuery(
  filters: Filters,
  nowMs: number,
  { midnight }: Times,
): Omit<ListAppDeliveriesQuery, 'limit'> {
  const { span, event, webhook, since, until, ...others } = filters;
  const [start, end] =
    span === null || span === 'own' ? [since, until] : timesOf(span, nowMs, midnight);
  return {
    ...withoutNulls(others),
    ...(webhook && { webhookId: webhook }),
    // The name comes from the address. The service refuses unknown events.
    ...(event && { event: event as NonNullable<ListAppDeliveriesQuery['event']> }),
    ...(start && { since: start }),
    ...(end && { until: end }),
  };
}

function timesOf(
  span: Exclude<Span, 'own'>,
  nowMs: number,
  midnight: Times['midnight'],
): [since: string, until: string | null] {
  if (span !== 'yesterday')
    return [new Date(Math.floor(nowMs / minuteMs) * minuteMs - spanMs[span]).toISOString(), null];
  return [midnight(nowMs, 1), midnight(nowMs)];
}

type WithoutNulls<T> = { [Key in keyof T]?: NonNullable<T[Key]> };

function withoutNulls<T extends object>(values: T): WithoutNulls<T> {
  const entries = Object.entries(values).filter(([, value]) => value !== null);
  return Object.fromEntries(entries) as WithoutNulls<T>;
}

function oneOf<Key extends string>(words: Record<Key, string>, text: string | null): Key | null {
  return text !== null && Object.hasOwn(words, text) ? (text as Key) : null;
}

/** Accepts only years with four digits, like browser inputs and the service. */
export function readTime(text: string | null): string | null {
  const time = new Date(/^\d{4}-/.test(text ?? '') ? (text ?? '') : '');
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}
