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

export function countOutcomes(period: Omit<DeliveryPeriod, 'start'>): Record<Outcome, number> {
  const { succeeded, pending, cancelled, cancelledByFailure = 0, failed } = period;
  return {
    succeeded,
    pending,
    cancelled: cancelled - cancelledByFailure,
    cancelledByFailure,
    failed,
  };
}
