/** Probes, the activations that they cause and the replays that follow, written from docs/reference/deliveries.md#self-healing alone. */
import { isChat } from './naming.ts';
import type { Rules } from './rules.ts';
import { newDelivery, isProbe, replayAll } from './model-deliveries.ts';
import {
  Disagreement,
  forgetAnswers,
  forgetOutcomes,
  isSuspended,
  requireThat,
  webhookByKey,
  type Outcome,
  type State,
  type Webhook,
} from './state.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const weekMs = 7 * 24 * hourMs;
/** The hours before the first probe, and before those that follow a failed one. */
const probeHours = [1, 4, 12, ...Array.from({ length: 15 }, () => 24)];
const firstProbeJitterMs = 6 * minuteMs;
/** After a success, and after a probe that was interrupted: within five minutes. */
const confirmMs = 4 * minuteMs;
const healsPerWeekMax = 3;

export const healingRules: Rules<'set-healing' | 'replay-healed'> = {
  'set-healing'(state, { webhook, selfHealing, replayAfterHealing }) {
    const found = state.webhooks.get(webhook);
    requireThat(found && !(isChat(webhook) && (selfHealing || replayAfterHealing)));
    found.replayAfterHealing = replayAfterHealing ?? found.replayAfterHealing;
    found.selfHealing = selfHealing ?? found.selfHealing;
    forgetAnswers(state, found.key);
    if (selfHealing === false) endProbes(state, found);
    if (selfHealing === true) startProbes(state, found);
  },
  'replay-healed'(state, _, seen) {
    for (const webhook of state.webhooks.values()) {
      // It is owed once the webhook is restored.
      if (webhook.reason === 'suspended') continue;
      if (webhook.healing.replays && webhook.active) replayAll(state, webhook, seen);
      webhook.healing.replays = false;
    }
  },
};

/** Nothing changes for a webhook that is probed and whose next probe waits. */
export function startProbes(state: State, webhook: Webhook): void {
  const { active, reason, selfHealing, healing } = webhook;
  const waits =
    healing.failed !== null && probesOf(state, webhook).some(({ lease }) => lease === null);
  if (active || reason !== 'failing' || !selfHealing || waits) return;
  // The restoration starts them.
  healing.paused = isSuspended(state, webhook);
  if (healing.paused) return;
  const first = healing.activations.at(-healsPerWeekMax) ?? -Infinity;
  Object.assign(healing, { failed: 0, succeeded: false, replays: false });
  const from = Math.max(state.now + hourMs, first + weekMs);
  probe(state, webhook, from, Math.max(from, state.now + hourMs + firstProbeJitterMs));
}

/** A probe in flight ends by itself. */
export function endProbes(state: State, webhook: Webhook): void {
  Object.assign(webhook.healing, { failed: null, paused: false });
  for (const delivery of probesOf(state, webhook))
    if (delivery.lease === null) state.deliveries.delete(`${delivery.event}/${webhook.key}`);
}

export function pauseProbes(state: State, webhook: Webhook): void {
  const { failed, paused } = webhook.healing;
  endProbes(state, webhook);
  webhook.healing.paused = failed !== null || paused;
}

/** Has no effect on a webhook that is not probed any more, or whose next probe is on its way. */
export function addProbe(state: State, { webhook: key, kind }: Outcome): void {
  const webhook = webhookByKey(state, key);
  if (!webhook || webhook.active || probesOf(state, webhook).length > 0) return;
  const { healing } = webhook;
  if (healing.failed === null) return;
  if (kind === 'probe_interrupted') return probe(state, webhook, state.now + confirmMs);
  const wasSuccess = healing.succeeded;
  healing.succeeded = kind === 'probe_succeeded';
  if (healing.succeeded)
    return wasSuccess ? heal(state, webhook) : probe(state, webhook, state.now + confirmMs);
  healing.failed += 1;
  const hours = probeHours[healing.failed];
  if (hours === undefined) endProbes(state, webhook);
  else probe(state, webhook, state.now + hours * hourMs);
}

function heal(state: State, webhook: Webhook): void {
  const { activations } = webhook.healing;
  const before = activations.at(-healsPerWeekMax) ?? -Infinity;
  if (state.now - before < weekMs) throw new Disagreement(`${webhook.key} flaps`);
  webhook.active = true;

  webhook.reason = null;
  webhook.exhausted = 0;
  webhook.healing = {
    failed: null,
    paused: false,
    succeeded: false,
    activations: [...activations, state.now],
    replays: webhook.replayAfterHealing,
  };
  forgetAnswers(state, webhook.key);
  forgetOutcomes(state, webhook.key);
}

function probe(state: State, webhook: Webhook, dueAt: number, atLast = dueAt): void {
  const event = state.events.push({
    at: state.tick,
    name: 'webhook.probe',
    subject: null,
    expected: { exactly: '{}' },
    stored: null,
    position: null,
    routing: null,
  });
  const delivery = newDelivery(state, event - 1, webhook);
  delivery.due = { from: dueAt, to: atLast };
}

function probesOf(state: State, { key }: Webhook) {
  return [...state.deliveries.values()].filter(
    (one) => one.webhook === key && one.status === 'pending' && isProbe(state, one),
  );
}
