/** A delivery that was claimed, with everything that an attempt needs to know of it. */
export type Deliverable = {
  id: string;
  leaseToken: string;
  webhookId: string;
  event: string;
  trigger: 'event' | 'test' | 'redelivery';
  /** Of this attempt, over all cycles. */
  number: number;
  /** Of this attempt within its cycle, from 1. */
  cycleAttempt: number;
  url: string;
  secret: Buffer;
  previousSecret: Buffer | null;
  /** Whether it waited in the line of webhooks whose last attempt failed. */
  failing: boolean;
  eventCreatedAt: Date;
  data: string;
};
