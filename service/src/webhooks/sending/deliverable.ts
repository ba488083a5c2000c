import type { Attempt } from '../../contract/webhook.ts';
import type { ChatFormat } from '../../contract/webhook-formats.ts';
import { sql } from '../../database/database.ts';

/** A delivery under a lease, before its event and webhook are read. */
export type LeasedDelivery = {
  id: string;
  leaseToken: string;
  /** By this process's `performance.now()`: other processes may take the delivery from then on. */
  leaseEndsAt: number;
  webhookId: string;
  eventId: string;
  event: string;
  trigger: Attempt['trigger'] | 'probe';
  /** The number of this attempt over all cycles, from 1. */
  number: number;
  /** The number of this attempt within its cycle, from 1. */
  cycleAttempt: number;
  createdAtMs: number;
};

export type Chat = {
  format: ChatFormat;
  sealedUrl: Buffer;
  /** The version of the event's texts. */
  template: number;
  gate: Gate;
};

/** Times of the database, in milliseconds since 1970. */
export type Gate = {
  now: number;
  /** Until then, the platform has to be left alone. */
  openAt: number;
  /** Since when the platform has refused every message of the webhook, because it limits them; null unless it has. */
  closedSince: number | null;
};

/** A leased delivery with everything that an attempt and its record need. */
export type Deliverable = LeasedDelivery & {
  /** The address of an owner of the webhook's app, whose slow attempts count together (`queue/dispatch/room.ts`). */
  owner: string;
  /** How long the last recorded attempt of its webhook took; null if there is none. */
  latencyMs: number | null;
  url: string;
  secret: Buffer;
  previousSecret: Buffer | null;
  /** Headers of the owner, encrypted as the secrets are. */
  ownHeaders: Buffer | null;
  eventCreatedAt: string;
  data: string;
  /** Of a webhook that posts into a chat channel. Fan-out leases none of these, and so leaves it out. */
  chat?: Chat | null;
  /** The trace context of the event. */
  traceparent: string | null;
};

/** The first owner of the app whose id is in this column, in the order of addresses. */
export function firstOwner(column: string) {
  return sql`(
    select email from app_members where app_id = ${sql.ref(column)} and role = 'owner' order by email limit 1
  )`;
}

/** How long the last recorded attempt of the webhook took whose id is in this column. */
export function lastLatency(column: string) {
  // The latest first: the others are gone but may be in somebody's snapshot.
  return sql`(
    select latency_ms from webhook_health where webhook_id = ${sql.ref(column)} order by version desc limit 1
  )`;
}
