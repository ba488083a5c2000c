import { Text } from '@mantine/core';
import { useNow } from './use-now.ts';

const exactly = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
/** Numeric, because “yesterday” would be wrong for some times that are 24 hours ago. */
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'always' });
const seconds = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];
/** Older times show as a date. */
const relativeMaxMs = 14 * 86_400_000;

type Shown = {
  at: string;
  /** Always shows date and time: for comparing with logs, or in live regions that would announce every change. */
  exact?: boolean;
  /** The text for times in the past. */
  past?: string;
};

/** Shows a time relative to now and keeps it up to date. The tooltip has the exact time. */
export function Time({ at, exact = false, past }: Shown) {
  const text = useNow((nowMs) => {
    const ms = new Date(at).getTime() - nowMs;
    if (past !== undefined && ms <= 0) return past;
    return exact || Math.abs(ms) > relativeMaxMs ? formatExact(at) : formatRelative(ms);
  });
  return (
    <Text component="time" span inherit dateTime={at} title={formatExact(at)}>
      {text}
    </Text>
  );
}

export function formatExact(at: string): string {
  return exactly.format(new Date(at));
}

function formatRelative(ms: number): string {
  const found = units.find(([, each]) => Math.abs(ms) >= each);
  if (!found) return seconds.format(Math.trunc(ms / 1_000), 'second');
  return relative.format(Math.trunc(ms / found[1]), found[0]);
}
