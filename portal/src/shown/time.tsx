/** A time, relative to now where it is near, with the exact one to read by pointing and by screen reader. */
import { Text } from '@mantine/core';

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
];
/** Beyond it a date says more than a number of days. */
const relativeMaxMs = 14 * 86_400_000;

export function Time({ at }: { at: string }) {
  const date = new Date(at);
  return (
    <Text component="time" span inherit dateTime={at} title={formatExact(at)}>
      {formatRelative(date.getTime() - Date.now()) ?? formatExact(at)}
    </Text>
  );
}

export function formatExact(at: string): string {
  return exact.format(new Date(at));
}

function formatRelative(ms: number): string | null {
  if (Math.abs(ms) > relativeMaxMs) return null;
  const [unit, size] = units.find(([, each]) => Math.abs(ms) >= each) ?? ['second', 1_000];
  return relative.format(Math.trunc(ms / size), unit);
}
