/** A claimed delivery with everything that an attempt needs. */
export type Deliverable = {
  id: string;
  leaseToken: string;
  webhookId: string;
  event: string;
  trigger: 'event' | 'test' | 'redelivery';
  /** The number of this attempt over all cycles, from 1. */
  number: number;
  /** The number of this attempt within its cycle, from 1. */
  cycleAttempt: number;
  url: string;
  secret: Buffer;
  previousSecret: Buffer | null;
  /** Whether it was in the failing lane, which holds deliveries of webhooks whose last attempt failed. */
  failing: boolean;
  eventCreatedAt: string;
  data: string;
};
