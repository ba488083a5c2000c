/** Webhooks: who may ask for what, and what becomes of their deliveries when they change. */
import { subjectOf, type Name } from './commands.ts';
import { mayHave } from './may-have.ts';
import type { Rules } from './rules.ts';
import { boundKind } from './model-access.ts';
import { Disagreement, newKey, requireThat, type Delivery, type State } from './state.ts';

export const webhookRules: Rules<
  | 'create-webhook'
  | 'subscribe'
  | 'move-webhook'
  | 'activate'
  | 'delete-webhook'
  | 'redeliver'
  | 'recover'
  | 'replay'
> = {
  'create-webhook'(state, { webhook, app, events }, { observation }) {
    const owner = state.apps.get(app);
    requireThat(owner && !state.webhooks.has(webhook) && mayAskFor(state, owner.key, events));
    state.webhooks.set(webhook, {
      key: newKey(state, `webhook-${webhook}`),
      id: observation.id ?? '',
      app: owner.key,
      moves: 0,
      events,
      active: true,
      exhausted: 0,
    });
  },
  subscribe(state, { webhook, events }) {
    const found = state.webhooks.get(webhook);
    requireThat(found && mayAskFor(state, found.app, events));
    found.events = events;
  },
  'move-webhook'(state, { webhook }) {
    const found = state.webhooks.get(webhook);
    requireThat(found);
    found.moves += 1;
    forgetOutcomes(state, found.key);
  },
  activate(state, { webhook, active }) {
    const found = state.webhooks.get(webhook);
    requireThat(found);
    found.active = active;
    if (!active) return cancelWaiting(state, found.key, 'deactivation');
    found.exhausted = 0;
    forgetOutcomes(state, found.key);
  },
  'delete-webhook'(state, { webhook }) {
    const found = state.webhooks.get(webhook);
    requireThat(found);
    state.webhooks.delete(webhook);
    cancelWaiting(state, found.key, 'deletion');
  },
  redeliver(state, { webhook }, { observation }) {
    const delivery = state.deliveries.get(observation.chosen ?? '');
    requireThat(state.webhooks.get(webhook)?.active && delivery && delivery.status !== 'pending');
    requireThat(mayHave(state, eventOf(state, delivery), delivery.app));
    requeue(state, delivery);
  },
  recover(state, { webhook }, { observation }) {
    const found = state.webhooks.get(webhook);
    requireThat(found?.active);
    const back = [...state.deliveries.values()].filter(
      (delivery) =>
        delivery.webhook === found.key &&
        isRecoverable(delivery) &&
        mayHave(state, eventOf(state, delivery), delivery.app),
    );
    if (back.length !== observation.count && !observation.refused)
      throw new Disagreement(`${observation.count} recovered, not ${back.length}`);
    for (const delivery of back) requeue(state, delivery);
  },
  replay(state, { webhook }, { observation, alone, snapshot }) {
    const found = state.webhooks.get(webhook);
    requireThat(found?.active);
    const due = state.fannedOut.flatMap((index): (Delivery | number)[] => {
      const event = state.events[index];
      if (!event || !mayHave(state, event, found.app)) return [];
      const delivery = state.deliveries.get(`${index}/${found.key}`);
      if (delivery) return isRecoverable(delivery) ? [delivery] : [];
      // An event that was announced to nobody was missed by nobody.
      const wasPublic = event.name !== 'org.created' || event.routing?.listed;
      const subscribed = event.routing?.webhooks.get(found.key)?.subscribed ?? false;
      // The service may take the settings from after a change that fan-out did not see yet, and then sends too much.
      const isTaken = snapshot?.deliveries.some(
        ({ eventId, webhookId }) => eventId === event.stored?.id && webhookId === found.id,
      );
      return wasPublic && (subscribed || (event.routing?.raced && isTaken)) ? [index] : [];
    });
    if (alone && due.length !== observation.count && !observation.refused)
      throw new Disagreement(`${observation.count} replayed, not ${due.length}`);
    for (const [place, one] of due.entries()) {
      const delivery = typeof one === 'number' ? newDelivery(state, one, found) : one;
      requeue(state, delivery, place * replayEveryMs);
    }
  },
};

/** docs/reference/deliveries.md#replay: 20 per second. */
const replayEveryMs = 50;

const isRecoverable = ({ status, cancelledBy }: Delivery) =>
  status === 'failed' || cancelledBy === 'deactivation';

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

/** Ends what waits; what is under way ends by itself. */
export function cancelWaiting(
  state: State,
  webhook: string,
  by: 'deactivation' | 'deletion',
): void {
  for (const delivery of state.deliveries.values()) {
    if (delivery.webhook !== webhook || delivery.status !== 'pending' || delivery.lease) continue;
    delivery.status = 'cancelled';
    delivery.cancelledBy = by;
  }
}

export function eventOf(state: State, delivery: Delivery) {
  const event = state.events[delivery.event];
  if (!event) throw new Disagreement('a delivery without an event');
  return event;
}

function requeue(state: State, delivery: Delivery, waitMs = 0): void {
  delivery.status = 'pending';
  delivery.cancelledBy = null;
  delivery.cycle = 0;
  delivery.answer = null;
  const due = state.now + waitMs;
  delivery.due = { from: due, to: due };
}

function mayAskFor(state: State, app: string, events: Name[] | null): boolean {
  return (events ?? []).every(
    (name) =>
      !(name in subjectOf) || subjectOf[name as keyof typeof subjectOf] === boundKind(state, app),
  );
}

/** What happened before does not count against a webhook that was activated or moved. */
function forgetOutcomes(state: State, key: string): void {
  state.outcomes = state.outcomes.filter(({ webhook }) => webhook !== key);
}
