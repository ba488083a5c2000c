import type { DeliveryPeriod } from '../api/types.ts';

/** Adds up all hours. The success rate counts only deliveries that ended. */
export function addUp(hours: DeliveryPeriod[]) {
  const sum = (kind: 'succeeded' | 'failed' | 'pending') =>
    hours.reduce((total, hour) => total + hour[kind], 0);
  const [succeeded, failed, pending] = [sum('succeeded'), sum('failed'), sum('pending')];
  const ended = succeeded + failed;
  // Rounded down, so that one failure among many never shows as 100 %.
  const successRate =
    ended === 0 ? '–' : `${(Math.floor((succeeded / ended) * 1000) / 10).toLocaleString()} %`;
  return { succeeded, failed, pending, successRate };
}
