/** Which deliveries may, must and must not be leased, by a claim or by fan-out. */
import { attemptsMax } from '../../src/contract/delivery-rules.ts';
import type { Command } from './commands.ts';
import { mayHave } from './may-have.ts';
import type { Rule, Seen } from './rules.ts';
import { eventOf, isProbe } from './model-deliveries.ts';
import { addressOf, headersOf, isChat } from './naming.ts';
import type { Handed, Leasing } from './observation.ts';
import { Disagreement, webhookByKey, type Delivery, type State } from './state.ts';

/** A webhook's share in one process: small, so that deliveries are parked. The lease is the deadline and 20 s. */
export const perWebhookMax = 2;
export const leaseMs = 30_000;

export const claimRule: Rule<Extract<Command, { do: 'claim' }>> = (state, _, seen) => {
  const { claim } = seen.observation;
  if (!claim) throw new Disagreement('nothing is known of the claim');
  const due = [...state.deliveries.values()].filter(
    ({ status, lease, due: { from } }) => status === 'pending' && !lease && from <= state.now,
  );
  const handed = claim.handed.map((one) => hand(state, due, one));
  const refused = due.filter(
    (delivery) =>
      !handed.includes(delivery) &&
      !isStanding(state, delivery) &&
      wasCancelled(state, delivery, seen),
  );
  if (seen.alone) requireComplete(state, due, [...handed, ...refused], seen);
  for (const delivery of refused) {
    delivery.cancelledBy = reasonFor(state, delivery);
    delivery.status = 'cancelled';
  }
};

/** A delivery that is leased when it is created. */
export function handBorn(state: State, handed: Handed): void {
  const index = state.events.findIndex(({ stored }) => stored?.id === handed.eventId);
  const webhook = [...state.webhooks.values()].find(({ id }) => id === handed.webhookId);
  const delivery = state.deliveries.get(`${index}/${webhook?.key}`);
  if (!delivery || delivery.id !== null)
    throw new Disagreement(`${handed.id} was handed out by a fan-out that did not create it`);
  delivery.id = handed.id;
  hand(state, [delivery], handed);
}

/** A fan-out leases as much as there is room for, and no more. */
export function requireLeases(
  state: State,
  made: Delivery[],
  { handed, room, busy }: Leasing,
  alone: boolean,
): void {
  let most = 0;
  for (const [key, deliveries] of Map.groupBy(made, ({ webhook }) => webhook)) {
    const id = webhookByKey(state, key)?.id ?? '';
    // Chat channels may have to wait, which only a claim looks for.
    const [slot] = [...state.webhooks].find(([, webhook]) => webhook.key === key) ?? [];
    const share = busy.has(id) || isChat(slot ?? -1) ? 0 : perWebhookMax;
    const got = handed.filter(({ webhookId }) => webhookId === id).length;
    if (got > share) throw new Disagreement(`${key} has ${got} more in flight than its share`);
    most += Math.min(share, deliveries.length);
  }
  const expected = Math.min(most, room);
  if (handed.length > expected || (alone && handed.length < expected))
    throw new Disagreement(`${handed.length} were leased at fan-out, not ${expected}`);
}

function hand(state: State, due: Delivery[], handed: Handed): Delivery {
  const delivery = due.find(({ id }) => id === handed.id);
  if (!delivery) throw new Disagreement(`${handed.id} was handed out and is not due`);
  const event = eventOf(state, delivery);
  const what = `${event.name} #${delivery.event} for ${delivery.webhook}`;
  if (!isStanding(state, delivery)) throw new Disagreement(`leak: ${what} was handed out`);
  const [slot, webhook] = [...state.webhooks].find(([, { key }]) => key === delivery.webhook) ?? [];
  requireSame(`the address of ${what}`, handed.url, addressOf(slot ?? -1, webhook?.moves ?? -1));
  const headers = headersOf(slot ?? -1, webhook?.moves) ?? {};
  requireSame(`the headers of ${what}`, handed.headers, JSON.stringify(headers));
  requireSame(`the body of ${what}`, handed.body, bodyOf(state, delivery));
  delivery.count += 1;
  delivery.cycle += 1;
  requireSame(
    `the attempt of ${what}`,
    [handed.number, handed.cycleAttempt].join(),
    [delivery.count, delivery.cycle].join(),
  );
  if (delivery.cycle > (isProbe(state, delivery) ? 1 : attemptsMax))
    throw new Disagreement(`attempt ${delivery.cycle} of ${what}`);
  delivery.lease = {
    token: handed.leaseToken,
    until: state.now + leaseMs,
    moves: webhook?.moves,
  };
  return delivery;
}

/** The bytes that a delivery has, at every attempt. */
export function bodyOf(state: State, delivery: Delivery): string {
  const event = eventOf(state, delivery);
  return `{"id":"${delivery.id}","event":"${event.name}","createdAt":"${event.stored?.createdAt}","data":${event.stored?.data}}`;
}

function isStanding(state: State, delivery: Delivery): boolean {
  const webhook = webhookByKey(state, delivery.webhook);
  const isOn = webhook && (webhook.active || isProbe(state, delivery));
  return Boolean(isOn) && mayHave(state, eventOf(state, delivery), delivery.app);
}

function reasonFor(state: State, delivery: Delivery): NonNullable<Delivery['cancelledBy']> {
  const webhook = webhookByKey(state, delivery.webhook);
  if (!webhook) return 'deletion';
  if (webhook.reason === 'suspended') return 'suspension';
  return webhook.active || isProbe(state, delivery) ? 'permission' : 'deactivation';
}

/** Which of those that had to be cancelled had their turn, only the tables tell. */
function wasCancelled(state: State, delivery: Delivery, { snapshot }: Seen): boolean {
  const row = snapshot?.deliveries.find(({ id }) => id === delivery.id);
  return row?.status === 'cancelled' && row.cancelledBy === reasonFor(state, delivery);
}

/** Nothing that is due stays behind but for a webhook's share and the worker's room. */
function requireComplete(
  state: State,
  due: Delivery[],
  taken: Delivery[],
  { observation }: Seen,
): void {
  const {
    cancelled = 0,
    handed = [],
    room = 0,
    busy = new Map<string, number>(),
  } = observation.claim ?? {};
  requireSame('how many were cancelled', cancelled, taken.length - handed.length);
  if (taken.length > room) throw new Disagreement(`${taken.length} taken with room for ${room}`);
  for (const key of new Set(due.map(({ webhook }) => webhook))) {
    const mine = due.filter(({ webhook }) => webhook === key);
    const webhook = webhookByKey(state, key);
    const share = Math.max(0, perWebhookMax - (busy.get(webhook?.id ?? '') ?? 0));
    const surely = mine.filter(({ due: { to } }) => to <= state.now).length;
    const got = mine.filter((delivery) => taken.includes(delivery)).length;
    // A deleted webhook has no id to look up its share.
    if (webhook && got > share)
      throw new Disagreement(`${key} has ${got} more in flight than its share`);
    if (webhook && taken.length < room && got < Math.min(share, surely))
      throw new Disagreement(`${surely} due for ${key}, ${got} taken`);
  }
}

function requireSame(what: string, actual: string | number, expected: string | number): void {
  if (actual !== expected) throw new Disagreement(`${what} is ${actual}, not ${expected}`);
}
