import type { DeliveryHour } from '../api/types.ts';

export type Totals = { succeeded: number; failed: number; pending: number; successRate: string };

/** Over all hours; the rate is of those that ended. */
export function totalsOf(hours: DeliveryHour[]): Totals {
  const sum = (of: (hour: DeliveryHour) => number) =>
    hours.reduce((total, hour) => total + of(hour), 0);
  const succeeded = sum((hour) => hour.succeeded);
  const failed = sum((hour) => hour.failed);
  const ended = succeeded + failed;
  // Rounded down: one failure among many never reads as none.
  const successRate =
    ended === 0 ? '–' : `${(Math.floor((succeeded / ended) * 1000) / 10).toLocaleString()} %`;
  return { succeeded, failed, pending: sum((hour) => hour.pending), successRate };
}
