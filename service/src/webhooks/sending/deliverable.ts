import type { Attempt } from '../../contract/webhook.ts';
import type { ChatFormat } from '../../contract/delivery-rules.ts';
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
  /** Of a webhook that posts into a chat channel; fan-out leases none of these. */
  chat: Chat | null;
  /** The trace context of the event. */
  traceparent: string | null;
};

type OfWebhook = Pick<
  Deliverable,
  'url' | 'secret' | 'previousSecret' | 'ownHeaders' | 'owner' | 'latencyMs'
>;
export type OfEvent = Pick<Deliverable, 'data' | 'eventCreatedAt' | 'traceparent'>;

/**
 * Names each property, and so has one form for all: an object that gets as many one after the other may become a dictionary,
 * which costs a delivery a tenth of its time.
 */
export function deliverableOf(
  leased: LeasedDelivery,
  webhook: OfWebhook,
  event: OfEvent,
  chat: Chat | null,
): Deliverable {
  return {
    id: leased.id,
    leaseToken: leased.leaseToken,
    leaseEndsAt: leased.leaseEndsAt,
    webhookId: leased.webhookId,
    eventId: leased.eventId,
    event: leased.event,
    trigger: leased.trigger,
    number: leased.number,
    cycleAttempt: leased.cycleAttempt,
    createdAtMs: leased.createdAtMs,
    owner: webhook.owner,
    latencyMs: webhook.latencyMs,
    url: webhook.url,
    secret: webhook.secret,
    previousSecret: webhook.previousSecret,
    ownHeaders: webhook.ownHeaders,
    eventCreatedAt: event.eventCreatedAt,
    data: event.data,
    chat,
    traceparent: event.traceparent,
  };
}

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
