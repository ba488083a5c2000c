import { Text } from '@mantine/core';
import { formatRelative } from './format-relative.ts';
import { useTimes } from './times.tsx';
import { useNow } from './use-now.ts';

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
  const exactly = useTimes().exact(at);
  const text = useNow((nowMs) => {
    const ms = new Date(at).getTime() - nowMs;
    if (past !== undefined && ms <= 0) return past;
    return exact || Math.abs(ms) > relativeMaxMs ? exactly : formatRelative(ms);
  });
  return (
    <Text
      component="time"
      span
      inherit
      dateTime={at}
      title={exactly}
      // "3 minutes ago" on three lines would make each row of a table as high.
      {...(text !== exactly && { style: { whiteSpace: 'nowrap' } })}
    >
      {text}
    </Text>
  );
}
