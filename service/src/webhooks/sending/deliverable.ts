/** A delivery under a lease, before its event and webhook are read. */
export type LeasedDelivery = {
  id: string;
  leaseToken: string;
  /** By this process's `performance.now()`: other processes may take the delivery from then on. */
  leaseEndsAt: number;
  webhookId: string;
  eventId: string;
  event: string;
  trigger: 'event' | 'test' | 'redelivery';
  /** The number of this attempt over all cycles, from 1. */
  number: number;
  /** The number of this attempt within its cycle, from 1. */
  cycleAttempt: number;
  createdAtMs: number;
};

/** A leased delivery with everything that an attempt and its record need. */
export type Deliverable = LeasedDelivery & {
  /** The e-mail address of the owner of the webhook's app. */
  owner: string;
  url: string;
  secret: Buffer;
  previousSecret: Buffer | null;
  eventCreatedAt: string;
  data: string;
};
