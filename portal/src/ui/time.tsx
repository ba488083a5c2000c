import { Text } from '@mantine/core';
import { useNow } from './use-now.ts';

const exactly = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
/** Days are counted, not named: what is 24 hours old may be from the day before yesterday. */
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'always' });
const seconds = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];
/** Beyond it a date says more than a number of days. */
const relativeMaxMs = 14 * 86_400_000;

type Shown = {
  at: string;
  /** Always the date and the time: for what is held against a log, and for what would be read out anew at each change. */
  exact?: boolean;
  /** What is said once it is over. */
  past?: string;
};

/** A time, relative to now where it is near, and that goes on; with the exact one to read by pointing. */
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
