/**
 * Compares the service's records with what was published and what the receivers saw. Pure. Reports errors delivery by
 * delivery, and counts.
 */
import { createHash } from 'node:crypto';
import { attemptsMax, isSuccess } from '../service/src/contract/delivery-rules.ts';
import type { Fault, Ledger, LedgerAttempt, LedgerDelivery, LedgerWebhook } from './ledger.ts';
import type { Received } from './receivers.ts';

type Counts = {
  faults: number;
  deliveries: number;
  succeeded: number;
  failed: number;
  attempts: number;
  /** Requests that the receivers got. */
  requests: number;
  interrupted: number;
  /** Requests beyond the attempts whose outcome is recorded. */
  doubles: number;
  /** The number of those that were in flight at a fault. */
  inFlight: number;
};
export type Verdict = { counts: Counts; wrong: string[] };

/** A delivery with all records of it. */
type Case = {
  delivery: LedgerDelivery;
  attempts: LedgerAttempt[];
  /** Each replay begins a new cycle. */
  attemptsAllowed: number;
  received: Received[];
  /** The expected body. */
  body: string;
  /** Undefined if it was deleted, or its app is not bound any more. */
  webhook: LedgerWebhook | undefined;
  faults: Fault[];
};

export function checkLedger(given: Ledger): Verdict {
  const ledger = { ...given, received: nameMessages(given) };
  const cases = casesOf(ledger);
  const wrong = [
    ...checkEvents(ledger),
    ...checkUnknown(ledger),
    ...cases.flatMap((one) => checkCase(one).map((what) => `${one.delivery.id}: ${what}`)),
  ];
  const withStatus = (status: string) =>
    ledger.deliveries.filter((delivery) => delivery.status === status).length;
  const sum = (count: (one: Case) => number) => cases.reduce((total, one) => total + count(one), 0);
  return {
    wrong,
    counts: {
      faults: ledger.faults.length,
      deliveries: ledger.deliveries.length,
      succeeded: withStatus('succeeded'),
      failed: withStatus('failed'),
      attempts: ledger.attempts.length,
      requests: ledger.received.length,
      interrupted: ledger.attempts.filter(isInterrupted).length,
      doubles: sum(doubles),
      inFlight: sum((one) => Math.min(doubles(one), inFlightAtFault(one))),
    },
  };
}

/** Every committed event has one delivery for each subscribed webhook; events that were not committed have none. */
function checkEvents({ committed, uncertain, events, webhooks, deliveries }: Ledger): string[] {
  const wrong: string[] = [];
  const stored = new Set(events.map(({ id }) => id));
  for (const id of committed) if (!stored.has(id)) wrong.push(`the event ${id} is lost`);
  for (const id of stored)
    if (!committed.has(id) && !uncertain.has(id)) wrong.push(`nobody published the event ${id}`);
  const pairs = new Map<string, number>();
  for (const { eventId, webhookId } of deliveries) {
    const pair = `${eventId} to ${webhookId}`;
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  for (const { id, name, allianceId, requestId } of events) {
    for (const webhook of webhooks) {
      const count = pairs.get(`${id} to ${webhook.id}`) ?? 0;
      const passes = webhook.idPrefix === null || requestId?.startsWith(webhook.idPrefix);
      const expected =
        webhook.event === name && webhook.allianceId === allianceId && passes ? 1 : 0;
      if (count !== expected)
        wrong.push(`the event ${id} has ${count} deliveries to ${webhook.path}, not ${expected}`);
    }
  }
  return wrong;
}

function checkUnknown({ deliveries, attempts, received }: Ledger): string[] {
  const known = new Set(deliveries.map(({ id }) => id));
  return [
    ...received
      .filter(({ deliveryId }) => !known.has(deliveryId))
      .map(
        ({ deliveryId, webhookPath, body }) =>
          `a receiver saw ${deliveryId || `${body} at ${webhookPath}`}, which is no delivery`,
      ),
    ...attempts
      .filter(({ deliveryId }) => !known.has(deliveryId))
      .map(({ deliveryId }) => `an attempt belongs to ${deliveryId}, which is no delivery`),
  ];
}

function checkCase(one: Case): string[] {
  return [
    checkEnd(one),
    checkNumbers(one),
    checkOutcomes(one),
    checkBytes(one),
    checkRequests(one),
    checkInterruptions(one),
  ].filter((what) => what !== null);
}

function checkEnd({ delivery, webhook }: Case): string | null {
  if (delivery.status === 'succeeded' || delivery.status === 'failed') return null;
  if (delivery.status === 'cancelled' && webhook === undefined) return null;
  return `it is ${delivery.status} at the end`;
}

function checkNumbers({ delivery, attempts, attemptsAllowed }: Case): string | null {
  const numbers = attempts.map(({ number }) => number);
  if (numbers.some((number, index) => number !== index + 1))
    return `its attempts are numbered ${numbers.join(', ')}`;
  if (attempts.length !== delivery.attemptCount)
    return `${attempts.length} attempts are recorded, and ${delivery.attemptCount} counted`;
  return attempts.length > attemptsAllowed ? `it has ${attempts.length} attempts` : null;
}

/** A success is the last attempt, and only a success ends a delivery before the sixth. */
function checkOutcomes({ delivery, attempts }: Case): string | null {
  const firstSuccess = attempts.findIndex(isSuccess);
  if (delivery.status === 'succeeded' && firstSuccess !== attempts.length - 1)
    return `it succeeded, with a success as attempt ${firstSuccess + 1} of ${attempts.length}`;
  if (delivery.status === 'failed' && firstSuccess !== -1) return 'it failed with a success';
  if (delivery.status === 'failed' && attempts.length !== attemptsMax)
    return `it failed after ${attempts.length} attempts`;
  return null;
}

function checkBytes({ received, body, webhook }: Case): string | null {
  const digest = createHash('sha256').update(body).digest('hex');
  const other = received.find((request) => request.digest !== digest);
  if (other) return `its bytes differ: ${other.body} was sent for ${body}`;
  const isSigned = webhook?.isChat !== true;
  if (received.some(({ signed }) => signed !== isSigned))
    return isSigned ? 'a signature does not verify' : 'a chat message is signed';
  if (webhook === undefined) return null;
  const { path, hasOwnHeader } = webhook;
  if (received.some((request) => request.hasOwnHeader !== hasOwnHeader))
    return hasOwnHeader ? 'a request lacks the own header' : 'a request has an own header';
  return received.some(({ webhookPath }) => webhookPath !== path) ? 'another webhook got it' : null;
}

/**
 * Every recorded status was sent by the receiver; every request has its attempt, and every additional one an
 * interruption.
 */
function checkRequests({ attempts, received }: Case): string | null {
  for (const status of new Set(attempts.map(({ statusCode }) => statusCode))) {
    if (status === null) continue;
    const recorded = attempts.filter(({ statusCode }) => statusCode === status).length;
    const answered = received.filter((request) => request.status === status).length;
    if (recorded > answered)
      return `${status} is recorded ${recorded} times, answered ${answered} times`;
  }
  if (received.length <= attempts.length) return null;
  return `${received.length} requests were seen, and ${attempts.length} attempts recorded`;
}

/** Besides attempts with a recorded outcome, only attempts in flight at a fault may have arrived. */
function checkInterruptions(one: Case): string | null {
  const unexplained = doubles(one) - inFlightAtFault(one);
  if (unexplained <= 0) return null;
  const times = one.attempts
    .filter(isInterrupted)
    .map(({ startedAt, durationMs }) => `from ${startedAt} for ${durationMs} ms`);
  return `${unexplained} doubles were not in flight at a fault: ${times.join(', ')}; faults ${JSON.stringify(one.faults)}`;
}

/** Requests beyond the attempts whose outcome is recorded. */
function doubles({ attempts, received }: Case): number {
  return Math.max(0, received.length - attempts.filter((one) => !isInterrupted(one)).length);
}

function inFlightAtFault({ attempts, faults }: Case): number {
  return attempts.filter(
    (attempt) =>
      isInterrupted(attempt) &&
      faults.some(
        ({ from, until }) =>
          attempt.startedAt <= until && attempt.startedAt + attempt.durationMs >= from,
      ),
  ).length;
}

function isInterrupted({ error }: LedgerAttempt): boolean {
  return error === 'interrupted';
}

function casesOf(ledger: Ledger): Case[] {
  const { deliveries, attempts, received, webhooks, bodies, faults } = ledger;
  const attemptsOf = Map.groupBy(attempts, ({ deliveryId }) => deliveryId);
  const receivedOf = Map.groupBy(received, ({ deliveryId }) => deliveryId);
  const webhookOf = new Map(webhooks.map((webhook) => [webhook.id, webhook]));
  return deliveries.map((delivery) => ({
    delivery,
    attempts: attemptsOf.get(delivery.id) ?? [],
    attemptsAllowed: attemptsMax * (1 + ledger.replays),
    received: receivedOf.get(delivery.id) ?? [],
    body: bodies.get(delivery.id) ?? '',
    webhook: webhookOf.get(delivery.webhookId),
    faults,
  }));
}

/** A message to a chat channel names no delivery, so it is that of its channel with the same bytes. */
function nameMessages({ webhooks, deliveries, bodies, received }: Ledger): Received[] {
  const channels = new Map(
    webhooks.filter(({ isChat }) => isChat).map(({ id, path }) => [id, path]),
  );
  const named = new Map(
    deliveries
      .filter(({ webhookId }) => channels.has(webhookId))
      .map(({ id, webhookId }) => [`${channels.get(webhookId)} ${bodies.get(id)}`, id]),
  );
  return received.map((one) =>
    one.deliveryId === ''
      ? { ...one, deliveryId: named.get(`${one.webhookPath} ${one.body}`) ?? '' }
      : one,
  );
}
