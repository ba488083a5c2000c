/**
 * Writes and reads times in the zone of the browser, or in UTC for somebody who compares them with logs. The choice is kept in
 * the browser. Every text with a time of day names its zone.
 */
import { useLocalStorage } from '@mantine/hooks';
import { createContext, use, useMemo, type ReactNode } from 'react';

export type Times = ReturnType<typeof timesIn>;

const dayMs = 86_400_000;

function timesIn(zone: 'UTC' | undefined) {
  const formatter = (options: Intl.DateTimeFormatOptions) => {
    const format = new Intl.DateTimeFormat(undefined, { ...options, timeZone: zone });
    return (at: string) => format.format(new Date(at));
  };
  const minute = { hour: '2-digit', minute: '2-digit' } as const;
  const clock = formatter(minute);
  const zonedClock = formatter({ ...minute, timeZoneName: 'short' });
  const day = formatter({ weekday: 'short', day: 'numeric' });
  const named = new Intl.DateTimeFormat(undefined, { timeZone: zone, timeZoneName: 'short' });
  const zoneAt = (at: string): string =>
    named.formatToParts(new Date(at)).find(({ type }) => type === 'timeZoneName')?.value ?? '';
  return {
    isUtc: zone === 'UTC',
    /** `Nov 20, 2026, 1:00:05 PM UTC` for an RFC 3339 time. */
    exact: formatter({ dateStyle: 'medium', timeStyle: 'long' }),
    /** `1:00:05 PM UTC`. */
    clock: formatter({ timeStyle: 'long' }),
    /** `14:00–15:00 UTC`; with the day if the period is longer than an hour. */
    period: (start: string, hours: number): string => {
      const end = endOf(start, hours);
      // When clocks are put back, an hour ends at the time at which it began.
      const from = zoneAt(start) === zoneAt(end) ? clock : zonedClock;
      const times = `${from(start)}–${zonedClock(end)}`;
      return hours > 1 ? `${day(start)}, ${times}` : times;
    },
    /** The start of a period, for the axis of a chart, which names the zone elsewhere. */
    tick: (start: string, hours: number) => (hours > 1 ? day : clock)(start),
    /** `UTC`, or `GMT+9` in Tokyo. */
    zoneAt,
    /** Both, if clocks are changed in between. */
    zonesOf: (first: string, last: string): string =>
      [...new Set([zoneAt(first), zoneAt(last)])].join(', then '),
    /** The value of a `datetime-local` field, to the minute: `2026-11-20T13:00`; empty for null. */
    toInput: (at: string | null): string => {
      if (at === null) return '';
      const time = new Date(at);
      const shiftMs = zone ? 0 : time.getTimezoneOffset() * 60_000;
      return new Date(time.getTime() - shiftMs).toISOString().slice(0, 16);
    },
    /** The reverse, for any date and time without a zone. Null if it is none. */
    fromInput: (text: string): string | null => {
      const time = new Date(zone ? `${text}Z` : text);
      return Number.isNaN(time.getTime()) ? null : time.toISOString();
    },
    /** When the day of a time began, or one of the days before. */
    midnight: (ms: number, daysBefore = 0): string => {
      if (zone) return new Date(Math.floor(ms / dayMs - daysBefore) * dayMs).toISOString();
      const time = new Date(ms);
      time.setDate(time.getDate() - daysBefore);
      // Last: where summer begins at midnight, the first hour of that day is 1.
      time.setHours(0, 0, 0, 0);
      return time.toISOString();
    },
  };
}

export function endOf(start: string, hours: number): string {
  return new Date(Date.parse(start) + Math.round(hours * 3_600_000)).toISOString();
}

const Current = createContext<Times>(timesIn(undefined));

export function useTimes(): Times {
  return use(Current);
}

/** Whether times are in UTC, and how to change that. Other tabs of the browser follow. */
export function useUtc(): [isUtc: boolean, setUtc: (isUtc: boolean) => void] {
  const [isUtc, setUtc] = useLocalStorage({
    key: 'times-in-utc',
    defaultValue: false,
    getInitialValueInEffect: false,
  });
  return [isUtc, setUtc];
}

/** For days that begin at midnight UTC for everybody. */
export function TimesInUtc({ children }: { children: ReactNode }) {
  const times = useMemo(() => timesIn('UTC'), []);
  return <Current value={times}>{children}</Current>;
}

export function TimesProvider({ children }: { children: ReactNode }) {
  const [isUtc] = useUtc();
  const times = useMemo(() => timesIn(isUtc ? 'UTC' : undefined), [isUtc]);
  return <Current value={times}>{children}</Current>;
}
