/** Webhooks: who may ask for what, and what becomes of their deliveries when they change. */
import { isChat } from './naming.ts';
import { subjectOf, type Name } from './commands.ts';
import { mayHave } from './may-have.ts';
import type { Rules } from './rules.ts';
import { boundKind } from './model-access.ts';
import {
  cancelWaiting,
  eventOf,
  isProbe,
  isRecoverable,
  replayAll,
  requeue,
} from './model-deliveries.ts';
import { endProbes, pauseProbes, startProbes } from './model-healing.ts';
import {
  Disagreement,
  forgetAnswers,
  forgetOutcomes,
  isOfProbe,
  isSuspended,
  newKey,
  requireThat,
  type State,
  type Webhook,
} from './state.ts';

export const webhookRules: Rules<
  | 'create-webhook'
  | 'subscribe'
  | 'move-webhook'
  | 'activate'
  | 'suspend-app'
  | 'suspend-webhook'
  | 'delete-webhook'
  | 'redeliver'
  | 'recover'
  | 'replay'
> = {
  'create-webhook'(state, { webhook, app, events }, { observation }) {
    const owner = state.apps.get(app);
    requireThat(owner && !state.webhooks.has(webhook) && mayAskFor(state, owner.key, events));
    requireThat(!owner.suspended);
    state.webhooks.set(webhook, {
      key: newKey(state, `webhook-${webhook}`),
      id: observation.id ?? '',
      app: owner.key,
      moves: 0,
      events,
      active: true,
      reason: null,
      suspended: false,
      exhausted: 0,
      selfHealing: !isChat(webhook),
      replayAfterHealing: false,
      healing: { failed: null, paused: false, succeeded: false, activations: [], replays: false },
    });
  },
  subscribe(state, { webhook, events }) {
    const found = state.webhooks.get(webhook);
    requireThat(found && mayAskFor(state, found.app, events));
    found.events = events;
    forgetAnswers(state, found.key);
  },
  'move-webhook'(state, { webhook }) {
    const found = state.webhooks.get(webhook);
    requireThat(found && !isSuspended(state, found));
    found.moves += 1;
    // The last probe tested another receiver.
    found.healing.succeeded = false;
    forgetAnswers(state, found.key);
    forgetOutcomes(state, found.key, (outcome) => !isOfProbe(outcome));
  },
  activate(state, { webhook, active }) {
    const found = state.webhooks.get(webhook);
    requireThat(found && !(active && isSuspended(state, found)));
    found.active = active;
    // The owner decides instead of the probes.
    endProbes(state, found);
    const before = found.reason === 'suspended' ? null : found.reason;
    found.reason = active ? null : (before ?? 'owner');
    forgetAnswers(state, found.key);
    if (!active) {
      found.healing.replays = false;
      return cancelWaiting(state, found.key, 'deactivation');
    }
    found.exhausted = 0;
    forgetOutcomes(state, found.key);
  },
  'suspend-app'(state, { app, on }) {
    const found = state.apps.get(app);
    requireThat(found);
    if (!on && !found.suspended) return;
    found.suspended = on;
    for (const webhook of state.webhooks.values())
      if (webhook.app === found.key) stopOrStart(state, webhook);
  },
  'suspend-webhook'(state, { webhook, on }) {
    const found = state.webhooks.get(webhook);
    requireThat(found);
    if (!on && !found.suspended) return;
    found.suspended = on;
    stopOrStart(state, found);
  },
  'delete-webhook'(state, { webhook }) {
    const found = state.webhooks.get(webhook);
    requireThat(found && !isSuspended(state, found));
    state.webhooks.delete(webhook);
    cancelWaiting(state, found.key, 'deletion');
  },
  redeliver(state, { webhook }, { observation }) {
    const delivery = state.deliveries.get(observation.chosen ?? '');
    requireThat(state.webhooks.get(webhook)?.active && delivery && delivery.status !== 'pending');
    requireThat(!isProbe(state, delivery));
    requireThat(mayHave(state, eventOf(state, delivery), delivery.app));
    requeue(state, delivery);
  },
  recover(state, { webhook }, { observation }) {
    const found = state.webhooks.get(webhook);
    requireThat(found?.active);
    const back = [...state.deliveries.values()].filter(
      (delivery) =>
        delivery.webhook === found.key &&
        isRecoverable(state, delivery) &&
        mayHave(state, eventOf(state, delivery), delivery.app),
    );
    if (back.length !== observation.count && !observation.refused)
      throw new Disagreement(`${observation.count} recovered, not ${back.length}`);
    for (const delivery of back) requeue(state, delivery);
  },
  replay(state, { webhook }, seen) {
    const found = state.webhooks.get(webhook);
    requireThat(found?.active);
    const count = replayAll(state, found, seen);
    const { alone, observation } = seen;
    if (alone && count !== observation.count && !observation.refused)
      throw new Disagreement(`${observation.count} replayed, not ${count}`);
  },
};

/** docs/reference/keys.md#suspension: nothing waits, and a restored webhook is active if it was before. */
function stopOrStart(state: State, webhook: Webhook): void {
  if (!isSuspended(state, webhook)) {
    if (webhook.reason === 'suspended') {
      Object.assign(webhook, { active: true, reason: null });
      forgetAnswers(state, webhook.key);
    }
    // An owner may have ended the probes meanwhile.
    if (webhook.healing.paused) startProbes(state, webhook);
    return;
  }
  if (webhook.active) {
    Object.assign(webhook, { active: false, reason: 'suspended' });
    forgetAnswers(state, webhook.key);
  }
  pauseProbes(state, webhook);
  cancelWaiting(state, webhook.key, 'suspension');
}

function mayAskFor(state: State, app: string, events: Name[] | null): boolean {
  return (events ?? []).every(
    (name) =>
      !(name in subjectOf) || subjectOf[name as keyof typeof subjectOf] === boundKind(state, app),
  );
}
