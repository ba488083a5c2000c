/** Fan-out, claims, what is recorded, leases that run out, and time. */
import { mayHave } from './may-have.ts';
import { claimRule } from './model-claim.ts';
import type { Rules } from './model.ts';
import { cancelWaiting } from './model-webhooks.ts';
import type { RecordedAnswer } from './observation.ts';
import { webhookByKey, type Delivery, type State } from './state.ts';

/** As the runner has it: what SPEC 1 calls WEBHOOK_DEACTIVATE_AFTER and WEBHOOK_RETRY_*. */
export const deactivateAfter = 2;
export const backoff = { baseMs: 10_000, factor: 6 };
const jitter = 0.2;
const attemptsMax = 6;

export const queueRules: Rules<'fan-out' | 'claim' | 'record' | 'recover-leases' | 'pass'> = {
  'fan-out'(state) {
    const waiting = [...state.events.keys()].filter(
      (index) => state.events[index]?.position === null,
    );
    // In the order in which they were recorded, which is that of their ids.
    waiting.sort((one, other) => (idOf(state, one) < idOf(state, other) ? -1 : 1));
    for (const index of waiting) fanOut(state, index);
  },
  claim: claimRule,
  record(state, _, { observation }) {
    const deactivated = new Set<string>();
    for (const answer of observation.recorded ?? []) {
      const delivery = [...state.deliveries.values()].find(({ id }) => id === answer.id);
      // A worker that lost its lease records nothing.
      if (delivery?.lease?.token !== answer.leaseToken) continue;
      settle(state, delivery, answer);
      if (countFor(state, delivery.webhook, answer)) deactivated.add(delivery.webhook);
    }
    for (const webhook of deactivated) cancelWaiting(state, webhook, 'deactivation');
  },
  'recover-leases'(state) {
    for (const delivery of state.deliveries.values()) {
      if (!delivery.lease || delivery.lease.until >= state.now) continue;
      delivery.lease = null;
      // Interrupted: tried again after the normal wait, and no sign of a failing receiver.
      const waitMs = backoff.baseMs * backoff.factor ** (delivery.cycle - 1);
      if (delivery.cycle >= attemptsMax) delivery.status = 'failed';
      delivery.due = {
        from: state.now + waitMs * (1 - jitter),
        to: state.now + waitMs * (1 + jitter),
      };
    }
  },
  pass(state, { ms }) {
    state.now += ms;
  },
};

const idOf = (state: State, index: number) => state.events[index]?.stored?.id ?? '';

function fanOut(state: State, index: number): void {
  const event = state.events[index];
  if (!event) return;
  event.position = state.fannedOut.push(index);
  for (const webhook of state.webhooks.values()) {
    const asked = webhook.events === null || webhook.events.includes(event.name);
    if (!webhook.active || !asked || !mayHave(state, event, webhook.app)) continue;
    state.deliveries.set(`${index}/${webhook.key}`, {
      event: index,
      webhook: webhook.key,
      app: webhook.app,
      id: null,
      status: 'pending',
      cancelledBy: null,
      due: { from: state.now, to: state.now },
      cycle: 0,
      count: 0,
      lease: null,
    });
  }
}

function settle(state: State, delivery: Delivery, { verdict }: RecordedAnswer): void {
  delivery.lease = null;
  if (verdict.kind !== 'retry') {
    delivery.status = verdict.kind;
    return;
  }
  const due = state.now + verdict.waitMs;
  delivery.due = { from: due, to: due };
}

/** What an answer means for its webhook; true where it deactivates it. */
function countFor(state: State, key: string, { verdict, gone }: RecordedAnswer): boolean {
  const webhook = webhookByKey(state, key);
  if (!webhook || verdict.kind === 'retry') return false;
  webhook.exhausted = verdict.kind === 'succeeded' ? 0 : webhook.exhausted + 1;
  const ends = verdict.kind === 'failed' && (gone || webhook.exhausted >= deactivateAfter);
  if (!ends || !webhook.active) return false;
  webhook.active = false;
  return true;
}
