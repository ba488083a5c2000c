import type { DeliveryHour } from '../api/types.ts';

export type Totals = { succeeded: number; failed: number; pending: number; successRate: string };

/** Sums all hours. The success rate counts only deliveries that ended. */
export function totalsOf(hours: DeliveryHour[]): Totals {
  const sum = (of: (hour: DeliveryHour) => number) =>
    hours.reduce((total, hour) => total + of(hour), 0);
  const succeeded = sum((hour) => hour.succeeded);
  const failed = sum((hour) => hour.failed);
  const ended = succeeded + failed;
  // Rounded down, so that one failure among many never shows as 100 %.
  const successRate =
    ended === 0 ? '–' : `${(Math.floor((succeeded / ended) * 1000) / 10).toLocaleString()} %`;
  return { succeeded, failed, pending: sum((hour) => hour.pending), successRate };
}
