/** The deliveries of webhooks: how they begin, wait again and end without an attempt. */
import { mayHave } from './may-have.ts';
import type { Seen } from './rules.ts';
import { Disagreement, type Delivery, type Event, type State, type Webhook } from './state.ts';

/** docs/reference/deliveries.md#replay: 20 per second. */
const replayEveryMs = 50;

/** A delivery that is due at once. */
export function newDelivery(
  state: State,
  event: number,
  { key, app }: { key: string; app: string },
): Delivery {
  const delivery: Delivery = {
    event,
    webhook: key,
    app,
    id: null,
    status: 'pending',
    cancelledBy: null,
    due: { from: state.now, to: state.now },
    cycle: 0,
    count: 0,
    answer: null,
    lease: null,
  };
  state.deliveries.set(`${event}/${key}`, delivery);
  return delivery;
}

export function eventOf(state: State, delivery: Delivery): Event {
  const event = state.events[delivery.event];
  if (!event) throw new Disagreement('a delivery without an event');
  return event;
}

export const isProbe = (state: State, delivery: Delivery) =>
  eventOf(state, delivery).name === 'webhook.probe';

/** Ends what waits; what is in flight ends by itself. A deactivated webhook may be probed. */
export function cancelWaiting(
  state: State,
  webhook: string,
  by: 'deactivation' | 'deletion' | 'suspension',
): void {
  for (const delivery of state.deliveries.values()) {
    if (delivery.webhook !== webhook || delivery.status !== 'pending' || delivery.lease) continue;
    if (by === 'deactivation' && isProbe(state, delivery)) continue;
    delivery.status = 'cancelled';
    delivery.cancelledBy = by;
  }
}

export function requeue(state: State, delivery: Delivery, waitMs = 0): void {
  delivery.status = 'pending';
  delivery.cancelledBy = null;
  delivery.cycle = 0;
  delivery.answer = null;
  const due = state.now + waitMs;
  delivery.due = { from: due, to: due };
}

export function isRecoverable(state: State, delivery: Delivery): boolean {
  const { status, cancelledBy } = delivery;
  const mayReturn = cancelledBy === 'deactivation' || cancelledBy === 'suspension';
  return (status === 'failed' || mayReturn) && !isProbe(state, delivery);
}

/** Queues everything that the webhook missed, and returns how much. */
export function replayAll(state: State, webhook: Webhook, { snapshot }: Seen): number {
  const due = state.fannedOut.flatMap((index): (Delivery | number)[] => {
    const event = state.events[index];
    if (!event || !mayHave(state, event, webhook.app)) return [];
    const delivery = state.deliveries.get(`${index}/${webhook.key}`);
    if (delivery) return isRecoverable(state, delivery) ? [delivery] : [];
    // An event that was announced to nobody was missed by nobody.
    const wasPublic = event.name !== 'org.created' || event.routing?.listed;
    const settings = event.routing?.webhooks.get(webhook.key);
    const subscribed = settings?.subscribed === true && settings.passed !== false;
    // The service may take the settings from after a change that fan-out did not see yet, and then sends too much.
    const isTaken = snapshot?.deliveries.some(
      ({ eventId, webhookId }) => eventId === event.stored?.id && webhookId === webhook.id,
    );
    return wasPublic && (subscribed || (event.routing?.raced && isTaken)) ? [index] : [];
  });
  for (const [place, one] of due.entries()) {
    const delivery = typeof one === 'number' ? newDelivery(state, one, webhook) : one;
    requeue(state, delivery, place * replayEveryMs);
  }
  return due.length;
}
