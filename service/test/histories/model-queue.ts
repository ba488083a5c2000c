/** Fan-out, claims, what is recorded and its effect on health, leases that run out, and time. */
import { attemptsMax } from '../../src/contract/delivery-rules.ts';
import { mayHave, passes } from './may-have.ts';
import { claimRule, handBorn, requireLeases } from './model-claim.ts';
import { routingOf } from './model-explain.ts';
import type { Rules } from './rules.ts';
import { cancelWaiting, isProbe, newDelivery } from './model-deliveries.ts';
import { addProbe, startProbes } from './model-healing.ts';
import type { RecordedAnswer } from './observation.ts';
import {
  Disagreement,
  forgetAnswers,
  isOfProbe,
  webhookByKey,
  type Delivery,
  type Outcome,
  type State,
} from './state.ts';

/** The values of WEBHOOK_DEACTIVATE_AFTER and WEBHOOK_RETRY_* in the runner. */
export const deactivateAfter = 2;
export const backoff = { baseMs: 10_000, factor: 6 };
const jitter = 0.2;
/** With room for this many, a fan-out takes everything. */
const manyMin = 1_000;

export const queueRules: Rules<
  'fan-out' | 'claim' | 'record' | 'recover-leases' | 'update-health' | 'pass'
> = {
  'fan-out'(state, _, { observation, alone }) {
    const { fannedOut } = observation;
    if (!fannedOut) throw new Disagreement('nothing is known of the fan-out');
    const waiting = [...state.events.keys()].filter(
      (index) =>
        state.events[index]?.position === null && state.events[index]?.name !== 'webhook.probe',
    );
    waiting.sort((one, other) => compareAge(state, one, other));
    const { events, room } = fannedOut;
    // A small room leaves events waiting, but never all of them.
    const expected = room < manyMin ? Math.min(waiting.length, 1) : waiting.length;
    if (events > waiting.length || (alone && events < expected))
      throw new Disagreement(`${events} of ${waiting.length} events were fanned out`);
    const made = waiting.slice(0, events).flatMap((index) => fanOut(state, index, alone));
    requireLeases(state, made, fannedOut, alone);
    for (const handed of fannedOut.handed) handBorn(state, handed);
  },
  claim: claimRule,
  record(state, _, { observation }) {
    for (const answer of observation.recorded ?? []) {
      const delivery = [...state.deliveries.values()].find(({ id }) => id === answer.id);
      // A worker that lost its lease records nothing.
      const isHeld =
        delivery?.lease?.token === answer.leaseToken && delivery.count === answer.number;
      if (!isHeld) continue;
      const hasMoved = delivery.lease?.moves !== webhookByKey(state, delivery.webhook)?.moves;
      settle(state, delivery, answer);
      const { kind } = answer.verdict;
      if (isProbe(state, delivery)) {
        if (kind === 'retry') throw new Disagreement('a probe is sent once');
        state.outcomes.push({ webhook: delivery.webhook, kind: `probe_${kind}`, gone: false });
        continue;
      }
      const gone = kind === 'failed' && delivery.answer === 410;
      // A receiver that the webhook has left says nothing of the new one.
      if (kind === 'failed' && answer.statusCode === 410 && hasMoved) continue;
      if (kind === 'retry' || (kind === 'succeeded' && !endsRun(state, delivery.webhook))) continue;
      state.outcomes.push({ webhook: delivery.webhook, kind, gone });
    }
  },
  'recover-leases'(state) {
    for (const delivery of state.deliveries.values())
      if (delivery.lease && delivery.lease.until < state.now) interrupt(state, delivery);
  },
  'update-health'(state) {
    const { outcomes } = state;
    state.outcomes = [];
    const others = outcomes.filter((outcome) => !isOfProbe(outcome));
    const deactivated = new Set(
      others.flatMap((outcome) => (addOutcome(state, outcome) ? outcome.webhook : [])),
    );
    for (const key of deactivated) {
      const webhook = webhookByKey(state, key);
      if (!webhook) continue;
      webhook.reason = others.some((one) => one.webhook === key && one.gone) ? 'gone' : 'failing';
      cancelWaiting(state, key, 'deactivation');
      startProbes(state, webhook);
    }
    for (const outcome of outcomes.filter(isOfProbe)) addProbe(state, outcome);
  },
  pass(state, { ms }) {
    state.now += ms;
  },
};

/** Retried after the normal backoff, without affecting health; the last response stays. */
function interrupt(state: State, delivery: Delivery): void {
  delivery.lease = null;
  if (isProbe(state, delivery)) {
    delivery.status = 'failed';
    state.outcomes.push({ webhook: delivery.webhook, kind: 'probe_interrupted', gone: false });
    return;
  }
  const waitMs = backoff.baseMs * backoff.factor ** (delivery.cycle - 1);
  delivery.due = { from: state.now + waitMs * (1 - jitter), to: state.now + waitMs * (1 + jitter) };
  if (delivery.cycle < attemptsMax) return;
  delivery.status = 'failed';
  if (delivery.answer === 410)
    state.outcomes.push({ webhook: delivery.webhook, kind: 'interrupted', gone: true });
}

/** In the order of transactions, and within one in the order of ids. Later steps have later ids. */
function compareAge(state: State, one: number, other: number): number {
  const [a, b] = [state.events[one]?.stored, state.events[other]?.stored];
  const byTransaction = a?.xid && b?.xid ? a.xid - b.xid : 0;
  return byTransaction || ((a?.id ?? '') < (b?.id ?? '') ? -1 : 1);
}

/** Returns the deliveries. */
function fanOut(state: State, index: number, alone: boolean): Delivery[] {
  const event = state.events[index];
  if (!event) return [];
  const made: Delivery[] = [];
  event.position = state.fannedOut.push(index);
  event.routing = routingOf(state, event, alone);
  for (const webhook of state.webhooks.values()) {
    const asked = webhook.events === null || webhook.events.includes(event.name);
    if (!webhook.active || !asked || passes(webhook, event) === false) continue;
    if (!mayHave(state, event, webhook.app)) continue;
    made.push(newDelivery(state, index, webhook));
  }
  return made;
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

/** Whether a success changes how many deliveries in a row are exhausted. Others may be noted or not. */
function endsRun(state: State, key: string): boolean {
  const last = state.outcomes.findLast(({ webhook }) => webhook === key);
  return last ? last.kind !== 'succeeded' : (webhookByKey(state, key)?.exhausted ?? 0) > 0;
}

/** Returns true if it deactivates the webhook. */
function addOutcome(state: State, { webhook: key, kind, gone }: Outcome): boolean {
  const webhook = webhookByKey(state, key);
  if (!webhook) return false;
  if (kind === 'succeeded') webhook.exhausted = 0;
  if (kind === 'failed') webhook.exhausted += 1;
  const isFailing = kind === 'failed' && webhook.exhausted >= deactivateAfter;
  return (gone || isFailing) && deactivate(state, key);
}

/** False if it was inactive or deleted. */
function deactivate(state: State, key: string): boolean {
  const webhook = webhookByKey(state, key);
  if (!webhook?.active) return false;
  webhook.active = false;
  forgetAnswers(state, key);
  return true;
}
