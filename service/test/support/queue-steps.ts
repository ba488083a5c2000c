/** The steps of the delivery queue, for tests that call them one by one: no worker runs. */
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import { sql, type Database } from '../../src/database/database.ts';
import {
  claimParked,
  parkDue,
  type Lease,
  type ParkedDue,
} from '../../src/webhooks/queue/dispatch/claim.ts';
import {
  fanOut,
  type FanOut,
  type FanOutOptions,
} from '../../src/webhooks/queue/fan-out/fan-out.ts';
import type { LeaseRoom } from '../../src/webhooks/queue/dispatch/room.ts';
import { recordAttempts } from '../../src/webhooks/queue/record/record.ts';
import type { RecordedAttempt } from '../../src/webhooks/sending/deliver.ts';
import type { LeasedDelivery } from '../../src/webhooks/sending/deliverable.ts';

/** Room for everything, in an only process. */
export const room: LeaseRoom = {
  total: 1_000,
  unknown: 1_000,
  perWebhook: 8,
  atFirst: 8,
  place: 0,
  workers: 1,
  full: [],
};

export function newLease(ms = 60_000): Lease {
  return { token: randomUUID(), ms };
}

export function fanOutWith(
  database: Database,
  options: Partial<FanOutOptions> = {},
): Promise<FanOut> {
  return fanOut(database, {
    lease: newLease(),
    room,
    floor: '0',
    minAgeMs: 0,
    deliveriesPerEvent: 1,
    ...options,
  });
}

/** Fans everything out. All deliveries are due and none is leased. */
export async function fanOutToQueue(database: Database): Promise<void> {
  while ((await fanOutWith(database, { room: { ...room, perWebhook: 0, atFirst: 0 } })).events > 0);
  await sql`update pending_deliveries set parked = false where parked`.execute(database);
}

export type Claim = ParkedDue & { leased: LeasedDelivery[] };
type ClaimOptions = {
  lease?: Lease;
  since?: string | null;
  lookBackMs?: number;
  perWebhook?: number;
};

/** As if their processes had died long ago. A lease of no time may end a moment later: its column has whole milliseconds. */
export async function endLeases(database: Database): Promise<void> {
  await sql`
    update pending_deliveries set leased_at = leased_at - interval '1 hour', due_at = due_at - interval '1 hour'
    where lease_token is not null
  `.execute(database);
}

/** Parks what is due, and leases up to `perWebhook` parked deliveries of each of these webhooks. */
export async function claimWith(
  database: Database,
  { lease = newLease(), since, lookBackMs, perWebhook = 8 }: ClaimOptions = {},
): Promise<Claim> {
  // What was made due a moment ago may be due half a millisecond later, because the column has whole milliseconds.
  await setTimeout(1);
  const due = await parkDue(database, since, lookBackMs);
  const rooms = new Map(due.webhookIds.map((id) => [id, perWebhook]));
  const { leased } = await claimParked(database, lease, rooms);
  return { ...due, leased };
}

type Delivery = RecordedAttempt['delivery'];

/** An attempt with the response 500 and a retry, except as `more` says. */
export function attemptOf(
  delivery: Delivery,
  more: Partial<Omit<RecordedAttempt, 'delivery'>> = {},
): RecordedAttempt {
  return {
    delivery,
    startedAt: new Date(),
    durationMs: 1,
    statusCode: 500,
    error: null,
    errorCause: null,
    responseHeaders: null,
    responseBody: null,
    verdict: { kind: 'retry', waitMs: 1 },
    ...more,
  };
}

export const succeeded = { statusCode: 200, verdict: { kind: 'succeeded' } } as const;
export const failed = { verdict: { kind: 'failed' } } as const;

/** A leased delivery of a webhook, without its event. */
export async function insertLeased(
  database: Database,
  webhookId: string,
  more: Partial<Delivery> = {},
): Promise<Delivery> {
  const delivery: Delivery = {
    id: uuidv7(),
    leaseToken: randomUUID(),
    webhookId,
    eventId: uuidv7(),
    event: 'org.created',
    trigger: 'event',
    number: 1,
    cycleAttempt: 1,
    createdAtMs: Date.now(),
    ...more,
  };
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, attempt_count, cycle_attempts, due_at,
      lease_token, leased_at)
    values (${delivery.id}, ${delivery.eventId}, ${delivery.event}, ${webhookId}, ${delivery.trigger}, ${delivery.number},
      ${delivery.cycleAttempt}, queue_now() + interval '1 minute', ${delivery.leaseToken}, queue_now())
  `.execute(database);
  return delivery;
}

type Outcome = Partial<RecordedAttempt> & { webhookId: string };

/** Records attempts of new deliveries, in this order. */
export async function recordNew(database: Database, ...outcomes: Outcome[]): Promise<void> {
  const leaseToken = randomUUID();
  const attempts: RecordedAttempt[] = [];
  for (const { webhookId, delivery, ...more } of outcomes)
    attempts.push(
      attemptOf(await insertLeased(database, webhookId, { ...delivery, leaseToken }), more),
    );
  if (attempts.length > 0) await recordAttempts(database, attempts);
}

export async function attemptsMade(
  database: Database,
  deliveryId: string,
): Promise<{ number: number; error: string | null }[]> {
  const { rows } = await sql<{ number: number; error: string | null }>`
    select number, error from attempts where delivery_id = ${deliveryId} order by number
  `.execute(database);
  return rows;
}
