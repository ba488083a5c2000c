import type { Deliverable } from '../sending/deliverable.ts';

/** A delivery under a lease, before its event and webhook are read. */
export type LeasedDelivery = Pick<
  Deliverable,
  | 'id'
  | 'leaseToken'
  | 'leaseEndsAt'
  | 'webhookId'
  | 'eventId'
  | 'event'
  | 'trigger'
  | 'number'
  | 'cycleAttempt'
  | 'createdAtMs'
>;
