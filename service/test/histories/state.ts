/** The state of the model: plain data, so that it can be copied for concurrent steps. */
import type { AppRole } from '../../src/contract/app-roles.ts';
import type { Name } from './commands.ts';

type Org = {
  key: string;
  id: string;
  version: number;
  listed: boolean;
  everListed: boolean;
  alliance: string | null;
};
type Alliance = { key: string; id: string; version: number; disbanded: boolean };
export type App = { key: string; id: string; members: Map<number, AppRole>; suspended: boolean };
export type Webhook = {
  key: string;
  id: string;
  app: string;
  /** How often its URL changed. */
  moves: number;
  events: Name[] | null;
  active: boolean;
  /** Why it is deactivated. */
  reason: 'failing' | 'gone' | 'owner' | 'suspended' | null;
  /** By itself. */
  suspended: boolean;
  /** Deliveries exhausted in a row. */
  exhausted: number;
  selfHealing: boolean;
  replayAfterHealing: boolean;
  healing: Healing;
};
type Healing = {
  /** Probes that failed since the deactivation; null while it is not probed. */
  failed: number | null;
  /** Whether a suspension has stopped the probes, and nobody has ended them since. */
  paused: boolean;
  /** Whether the last probe succeeded. */
  succeeded: boolean;
  /** When probes activated it. */
  activations: number[];
  /** Whether a replay follows the last activation. */
  replays: boolean;
};
export type Event = {
  /** When it was recorded, in the order of all that happened. */
  at: number;
  name: Name;
  /** The organisation or alliance, by key; null: the installation, or a webhook. */
  subject: string | null;
  /** What its data must say, or what of it must be found in it. */
  expected: Expected;
  /** As the outbox has it; null until it was seen there. */
  stored: { id: string; createdAt: string; data: string; xid: number | null } | null;
  /** Its place in the order of fan-out; null while it waits. */
  position: number | null;
  /** The settings at fan-out. */
  routing: Routing | null;
};
export type Routing = {
  listed: boolean;
  /** By webhook. */
  webhooks: Map<string, { active: boolean; subscribed: boolean; passed: boolean | null }>;
  /** Whether something else happened at the same time, so that the service may not know what came first. */
  raced: boolean;
};
export type Expected = { exactly: string } | { fields: Record<string, unknown> };
export type Status = 'pending' | 'succeeded' | 'failed' | 'cancelled';
export type Delivery = {
  event: number;
  webhook: string;
  app: string;
  id: string | null;
  status: Status;
  cancelledBy: 'deactivation' | 'permission' | 'deletion' | 'suspension' | null;
  /** Earliest and latest time at which it may be due: chance has a say. */
  due: { from: number; to: number };
  /** Attempts of this cycle and of all. */
  cycle: number;
  count: number;
  /** The last response of this cycle. */
  answer: number | null;
  /** `moves`: those of its webhook when it was leased. */
  lease: { token: string; until: number; moves: number | undefined } | null;
};

type ProbeKind = 'probe_succeeded' | 'probe_failed' | 'probe_interrupted';
/** `gone`: the delivery failed, and its last response was 410. */
export type Outcome = {
  webhook: string;
  kind: 'succeeded' | 'failed' | 'interrupted' | ProbeKind;
  gone: boolean;
};

export type State = {
  /** Of the queue's clock. */
  now: number;
  /** Counts what happened. */
  tick: number;
  /** How many of each thing there have been: one that comes back under the same number is another. */
  generations: Map<string, number>;
  orgs: Map<number, Org>;
  alliances: Map<number, Alliance>;
  apps: Map<number, App>;
  webhooks: Map<number, Webhook>;
  /** `subject/person`. */
  roles: Set<string>;
  /** By app: the subject, since when, and the person who made it. */
  bindings: Map<string, { subject: string; at: number; by: number }>;
  maintenance: boolean;
  events: Event[];
  /** Events in the order of fan-out. */
  fannedOut: number[];
  /** By event and webhook. */
  deliveries: Map<string, Delivery>;
  /** Recorded responses that have not changed the health of their webhooks yet, oldest first. */
  outcomes: Outcome[];
  /** The position of each app in the event stream, and its cursor. */
  readers: Map<string, { upTo: number; cursor: string | null }>;
};

/** By itself or with its app. */
export function isSuspended(state: State, { suspended, app }: Webhook): boolean {
  return suspended || [...state.apps.values()].some((one) => one.key === app && one.suspended);
}

/** The model and the service disagree. */
export class Disagreement extends Error {
  override readonly name = 'Disagreement';
}

/** What the service must refuse. */
class Refusal extends Error {}

/** Ends a rule where the service must refuse. */
export function requireThat(condition: unknown): asserts condition {
  if (!condition) throw new Refusal();
}

/** Whether what a rule threw says that the service must refuse. */
export function isRefusal(error: unknown): boolean {
  return error instanceof Refusal;
}

export function emptyState(now: number): State {
  return {
    now,
    tick: 0,
    generations: new Map(),
    orgs: new Map(),
    alliances: new Map(),
    apps: new Map(),
    webhooks: new Map(),
    roles: new Set(),
    bindings: new Map(),
    maintenance: false,
    events: [],
    fannedOut: [],
    deliveries: new Map(),
    outcomes: [],
    readers: new Map(),
  };
}

/** A new id for the object that a number refers to. */
export function newKey(state: State, name: string): string {
  const generation = (state.generations.get(name) ?? 0) + 1;
  state.generations.set(name, generation);
  return `${name}.${generation}`;
}

export function webhookByKey(state: State, key: string): Webhook | undefined {
  return [...state.webhooks.values()].find((webhook) => webhook.key === key);
}

/** What happened before does not count against a webhook that was activated or moved. */
export function forgetOutcomes(
  state: State,
  key: string,
  which: (outcome: Outcome) => boolean = () => true,
): void {
  state.outcomes = state.outcomes.filter((one) => one.webhook !== key || !which(one));
}

/** What a receiver has answered says nothing once its webhook was changed. */
export function forgetAnswers(state: State, key: string): void {
  for (const delivery of state.deliveries.values())
    if (delivery.webhook === key) delivery.answer = null;
}

/** Probes affect nothing but the next probe. */
export const isOfProbe = ({ kind }: Outcome) => kind.startsWith('probe_');
