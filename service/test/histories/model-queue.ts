/** Fan-out, claims, what is recorded, leases that run out, and time. */
import { attemptsMax } from '../../src/contract/delivery-rules.ts';
import { mayHave } from './may-have.ts';
import { claimRule } from './model-claim.ts';
import type { Rules } from './rules.ts';
import { cancelWaiting } from './model-webhooks.ts';
import type { RecordedAnswer } from './observation.ts';
import { webhookByKey, type Delivery, type State } from './state.ts';

/** The values of WEBHOOK_DEACTIVATE_AFTER and WEBHOOK_RETRY_* in the runner. */
export const deactivateAfter = 2;
export const backoff = { baseMs: 10_000, factor: 6 };
const jitter = 0.2;

export const queueRules: Rules<'fan-out' | 'claim' | 'record' | 'recover-leases' | 'pass'> = {
  'fan-out'(state) {
    const waiting = [...state.events.keys()].filter(
      (index) => state.events[index]?.position === null,
    );
    // In the order in which they were recorded: the order of their ids.
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
      if (countFor(state, delivery, answer)) deactivated.add(delivery.webhook);
    }
    for (const webhook of deactivated) cancelWaiting(state, webhook, 'deactivation');
  },
  'recover-leases'(state) {
    const expired = [...state.deliveries.values()].filter(
      ({ lease }) => lease && lease.until < state.now,
    );
    expired.sort((one, other) => (one.lease?.until ?? 0) - (other.lease?.until ?? 0));
    // A lease at a time: what is under way at a deactivation ends by itself.
    for (const token of new Set(expired.map(({ lease }) => lease?.token)))
      interrupt(
        state,
        expired.filter(({ lease }) => lease?.token === token),
      );
  },
  pass(state, { ms }) {
    state.now += ms;
  },
};

/** Retried after the normal backoff, without affecting health; the last response stays. */
function interrupt(state: State, deliveries: Delivery[]): void {
  const gone = new Set<string>();
  for (const delivery of deliveries) {
    delivery.lease = null;
    const waitMs = backoff.baseMs * backoff.factor ** (delivery.cycle - 1);
    delivery.due = {
      from: state.now + waitMs * (1 - jitter),
      to: state.now + waitMs * (1 + jitter),
    };
    if (delivery.cycle < attemptsMax) continue;
    delivery.status = 'failed';
    if (delivery.answer === 410) gone.add(delivery.webhook);
  }
  for (const key of gone) if (deactivate(state, key)) cancelWaiting(state, key, 'deactivation');
}

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
      answer: null,
      lease: null,
    });
  }
}

function settle(state: State, delivery: Delivery, { verdict, statusCode }: RecordedAnswer): void {
  delivery.lease = null;
  delivery.answer = statusCode ?? delivery.answer;
  if (verdict.kind !== 'retry') {
    delivery.status = verdict.kind;
    return;
  }
  const due = state.now + verdict.waitMs;
  delivery.due = { from: due, to: due };
}

/** Applies a response to its webhook; true if it deactivates it. */
function countFor(state: State, delivery: Delivery, { verdict }: RecordedAnswer): boolean {
  const webhook = webhookByKey(state, delivery.webhook);
  if (!webhook || verdict.kind === 'retry') return false;
  webhook.exhausted = verdict.kind === 'succeeded' ? 0 : webhook.exhausted + 1;
  const ends =
    verdict.kind === 'failed' && (delivery.answer === 410 || webhook.exhausted >= deactivateAfter);
  return ends && deactivate(state, delivery.webhook);
}

/** False if it was inactive or deleted. */
function deactivate(state: State, key: string): boolean {
  const webhook = webhookByKey(state, key);
  if (!webhook?.active) return false;
  webhook.active = false;
  return true;
}
