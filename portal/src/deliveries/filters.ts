/** Keeps the filters in the address, so that a view can be shared and the Back button restores it. */
import { useSearchParams } from 'react-router';
import type { ListDeliveriesQuery } from '../api/types.ts';
import { statusLabels } from './delivery-status.tsx';

export type Span = 'hour' | 'day' | 'week' | 'own';
export type Filters = {
  status: NonNullable<ListDeliveriesQuery['status']> | null;
  event: string | null;
  span: Span | null;
  /** RFC 3339; only with the span `own`. */
  since: string | null;
  until: string | null;
  page: number;
};

export const noFilters: Filters = {
  status: null,
  event: null,
  span: null,
  since: null,
  until: null,
  page: 1,
};

export const spanLabels: Record<Span, string> = {
  hour: 'Last hour',
  day: 'Last 24 hours',
  week: 'Last 7 days',
  own: 'Custom range',
};

const spanMs: Record<Exclude<Span, 'own'>, number> = {
  hour: 3_600_000,
  day: 86_400_000,
  week: 7 * 86_400_000,
};
const minuteMs = 60_000;
/** The limit of the service. */
const pageMax = 2 ** 31;

/** `change` goes to the first page unless it names another one. */
export function useFilters(): [filters: Filters, change: (some: Partial<Filters>) => void] {
  const [query, setQuery] = useSearchParams();
  // The rendered filters may be one choice behind the address.
  const change = (some: Partial<Filters>) =>
    setQuery(
      writeFilters({ ...readFilters(new URLSearchParams(location.search)), page: 1, ...some }),
    );
  return [readFilters(query), change];
}

/** Ignores invalid values in the address. */
function readFilters(query: URLSearchParams): Filters {
  const span = oneOf(spanLabels, query.get('time'));
  const page = Number(query.get('page') ?? 1);
  return {
    status: oneOf(statusLabels, query.get('status')),
    event: query.get('event'),
    span,
    since: span === 'own' ? readTime(query.get('since')) : null,
    until: span === 'own' ? readTime(query.get('until')) : null,
    page: Number.isInteger(page) && page >= 1 && page <= pageMax ? page : 1,
  };
}

export function writeFilters({ span, page, ...rest }: Filters): URLSearchParams {
  const entries = Object.entries({ ...rest, time: span, page: page > 1 ? String(page) : null });
  return new URLSearchParams(
    entries.filter((entry): entry is [string, string] => entry[1] !== null),
  );
}

export function isFiltered({ status, event, span }: Filters): boolean {
  return status !== null || event !== null || span !== null;
}

/** Rounds the start down to the minute, so that the query and its cached response stay the same for a minute. */
export function toQuery(
  { status, event, span, since, until, page }: Filters,
  nowMs: number,
): Omit<ListDeliveriesQuery, 'limit'> {
  const start =
    span === null || span === 'own'
      ? since
      : new Date(Math.floor(nowMs / minuteMs) * minuteMs - spanMs[span]).toISOString();
  return {
    page,
    ...(status && { status }),
    // The name comes from the address. The service refuses unknown events.
    ...(event && { event: event as NonNullable<ListDeliveriesQuery['event']> }),
    ...(start && { since: start }),
    ...(until && { until }),
  };
}

function oneOf<Key extends string>(words: Record<Key, string>, text: string | null): Key | null {
  return text !== null && Object.hasOwn(words, text) ? (text as Key) : null;
}

/** Accepts only years with four digits, like browser inputs and the service. */
function readTime(text: string | null): string | null {
  const time = new Date(/^\d{4}-/.test(text ?? '') ? (text ?? '') : '');
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}
