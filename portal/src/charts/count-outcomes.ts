import type { DeliveryPeriod } from '../api/types.ts';

export type Outcome = 'succeeded' | 'pending' | 'cancelled' | 'cancelledByFailure' | 'failed';

/** In the order of the bars, from bottom to top. `cancelled` leaves out those cancelled because their webhook failed. */
export const outcomeLabels: Record<Outcome, string> = {
  succeeded: 'Succeeded',
  pending: 'Pending',
  cancelled: 'Cancelled (other)',
  cancelledByFailure: 'Cancelled (webhook failed)',
  failed: 'Failed',
};

type Counts = Omit<DeliveryPeriod, 'start'>;

export function countOutcomes(period: Counts): Record<Outcome, number> {
  const { succeeded, pending, cancelled, cancelledByFailure = 0, failed } = period;
  return {
    succeeded,
    pending,
    cancelled: cancelled - cancelledByFailure,
    cancelledByFailure,
    failed,
  };
}

/** Rounded down, so that one failure among many never shows as 100 %. */
export function formatRate(total: Counts): string {
  const counted = countForRate(total);
  if (counted === 0) return '–';
  return `${(Math.floor((total.succeeded / counted) * 1000) / 10).toLocaleString()} %`;
}

/** A webhook that fails cancels its deliveries, so these count as failures. What somebody stopped says nothing about it. */
export function countForRate(total: Counts): number {
  const { succeeded, failed, cancelledByFailure } = countOutcomes(total);
  return succeeded + failed + cancelledByFailure;
}
