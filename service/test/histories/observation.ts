/** The observable results of a history: responses and tables. */
import type { Explanation } from '../../src/contract/explanation.ts';
import type { Deliverable } from '../../src/webhooks/sending/deliverable.ts';
import type { Outcome } from './state.ts';

/** A leased delivery, and the bytes that are sent. */
/** With its body, and the headers of its owner as JSON. */
export type Handed = Deliverable & { body: string; headers: string };
export type PulledPage = {
  ids: string[];
  data: string[];
  nextCursor: string | null;
  hasMore: boolean;
};

export type Observation = {
  /** Left out by the runner, because what it needs is not there. */
  skipped?: true;
  refused: boolean;
  /** The ids of created objects. */
  id?: string;
  claim?: Leasing & { cancelled: number };
  /** `busyElsewhere`: another fan-out was running, so that this one did nothing. */
  fannedOut?: Leasing & { events: number; busyElsewhere: boolean };
  /** The recorded attempts, with the responses. */
  recorded?: RecordedAnswer[];
  page?: PulledPage;
  /** The delivery that was chosen, by event and webhook. */
  chosen?: string;
  body?: string | null;
  explained?: Explained;
  count?: number;
};
/** By event; `missing` is the explanation of an event that does not exist. */
export type Explained = { events: Map<string, Explanation>; missing: Explanation };
/** What a worker leased, with room for how many, and how many it had before by webhook. */
export type Leasing = { handed: Handed[]; room: number; busy: ReadonlyMap<string, number> };
export type RecordedAnswer = {
  id: string;
  leaseToken: string;
  number: number;
  verdict: { kind: 'succeeded' | 'failed' } | { kind: 'retry'; waitMs: number };
  statusCode: number | null;
};

export type StoredEvent = {
  id: string;
  name: string;
  subjectId: string | null;
  position: number | null;
  /** The transaction that published it; null once it is fanned out. */
  xid: number | null;
  createdAt: string;
  data: string;
};
export type StoredDelivery = {
  id: string;
  eventId: string;
  webhookId: string;
  status: string;
  cancelledBy: string | null;
  count: number;
  leaseToken: string | null;
  /** When a probe is due that waits; null for others. */
  probeAt: number | null;
};
export type StoredWebhook = {
  id: string;
  url: string;
  active: boolean;
  reason: string | null;
  exhausted: number;
};
export type StoredOutcome = { webhookId: string } & Pick<Outcome, 'kind' | 'gone'>;
export type Snapshot = {
  events: StoredEvent[];
  deliveries: StoredDelivery[];
  webhooks: StoredWebhook[];
  /** Noted and not added to the webhooks' health yet, oldest first. */
  outcomes: StoredOutcome[];
};
