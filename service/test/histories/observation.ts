/** The observable results of a history: responses and tables. */

export type Handed = {
  id: string;
  leaseToken: string;
  number: number;
  cycleAttempt: number;
  url: string;
  /** The bytes that are sent. */
  body: string;
};
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
  claim?: { handed: Handed[]; cancelled: number; room: number; busy: ReadonlyMap<string, number> };
  /** The recorded attempts, with the responses. */
  recorded?: RecordedAnswer[];
  page?: PulledPage;
  /** The delivery that was chosen, by event and webhook. */
  chosen?: string;
  body?: string | null;
  count?: number;
};
export type RecordedAnswer = {
  id: string;
  leaseToken: string;
  verdict: { kind: 'succeeded' | 'failed' } | { kind: 'retry'; waitMs: number };
  statusCode: number | null;
};

export type StoredEvent = {
  id: string;
  name: string;
  subjectId: string | null;
  position: number | null;
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
};
export type StoredWebhook = { id: string; url: string; active: boolean; exhausted: number };
export type Snapshot = {
  events: StoredEvent[];
  deliveries: StoredDelivery[];
  webhooks: StoredWebhook[];
};
