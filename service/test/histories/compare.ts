/** Compares the tables with the model, row by row. */
import type {
  Snapshot,
  StoredDelivery,
  StoredEvent,
  StoredOutcome,
  StoredWebhook,
} from './observation.ts';
import { privateWord, shownAddressOf } from './naming.ts';
import {
  Disagreement,
  webhookByKey,
  type Delivery,
  type Event,
  type Outcome,
  type State,
} from './state.ts';

/** Throws `Disagreement`. */
export function compare(state: State, snapshot: Snapshot): void {
  compareEvents(state, snapshot.events);
  compareWebhooks(state, snapshot.webhooks);
  compareDeliveries(state, snapshot.deliveries);
  compareOutcomes(state, snapshot.outcomes);
}

/** The ids of events and deliveries that the model knows of and has not seen yet. */
export function learn(state: State, { events, deliveries }: Snapshot): void {
  learnProbes(state, events, deliveries);
  const known = new Set(state.events.map(({ stored }) => stored?.id));
  // Of two equal rows, the earlier one has the smaller id.
  const fresh = byId(events.filter(({ id }) => !known.has(id)));
  for (const event of state.events.filter(({ stored }) => stored === null)) {
    const index = fresh.findIndex((row) => fits(event, row));
    const [row] = index === -1 ? [] : fresh.splice(index, 1);
    event.stored = row ? toStored(row) : null;
  }
  learnDeliveries(state, deliveries);
}

const toStored = ({ id, createdAt, data, xid }: StoredEvent) => ({ id, createdAt, data, xid });

/** All events of probes are equal, so their deliveries say whose they are. */
function learnProbes(state: State, events: StoredEvent[], rows: StoredDelivery[]): void {
  const known = new Set(state.events.map(({ stored }) => stored?.id));
  const fresh = new Map(
    events
      .filter(({ id, name }) => name === 'webhook.probe' && !known.has(id))
      .map((row) => [row.id, row]),
  );
  if (fresh.size === 0) return;
  for (const delivery of state.deliveries.values()) {
    const event = state.events[delivery.event];
    if (event?.name !== 'webhook.probe' || event.stored !== null) continue;
    const id = webhookByKey(state, delivery.webhook)?.id;
    const found = rows.find(({ eventId, webhookId }) => webhookId === id && fresh.has(eventId));
    const row = fresh.get(found?.eventId ?? '');
    if (!row) continue;
    event.stored = toStored(row);
    fresh.delete(row.id);
  }
}

function compareEvents(state: State, rows: StoredEvent[]): void {
  const expected = state.events.map(({ name, stored }) => ({ id: stored?.id, name }));
  same('the outbox', byId(rows.map(({ id, name }) => ({ id, name }))), byId(expected));
  const order = rows
    .filter(({ position }) => position !== null)
    .toSorted((one, other) => (one.position ?? 0) - (other.position ?? 0));
  const fannedOut = state.fannedOut.map((index) => state.events[index]?.stored?.id);
  same(
    'the order of fan-out',
    order.map(({ id }) => id),
    fannedOut,
  );
}

function fits(event: Event, row: StoredEvent): boolean {
  if (row.name !== event.name || row.subjectId !== subjectId(event)) return false;
  if ('exactly' in event.expected) return row.data === event.expected.exactly;
  if (row.data.includes(privateWord)) return false;
  const data = JSON.parse(row.data) as Record<string, unknown>;
  return Object.entries(event.expected.fields).every(
    ([field, value]) => JSON.stringify(data[field]) === JSON.stringify(value),
  );
}

function subjectId({ expected, subject }: Event): string | null {
  if (subject === null) return null;
  if ('fields' in expected) return expected.fields['id'] as string;
  const data = JSON.parse(expected.exactly) as { organizationId?: string; allianceId?: string };
  return data.organizationId ?? data.allianceId ?? null;
}

function compareWebhooks(state: State, rows: StoredWebhook[]): void {
  const expected = [...state.webhooks].map(([slot, { id, moves, active, reason, exhausted }]) => ({
    id,
    url: shownAddressOf(slot, moves),
    active,
    reason,
    exhausted,
  }));
  same('webhooks', byId(rows), byId(expected));
}

function compareDeliveries(state: State, rows: StoredDelivery[]): void {
  const keys = new Map([...state.deliveries].map(([key, { id }]) => [id, key]));
  const dueTimes = new Map<string | null, number | null>(
    rows.map(({ id, probeAt }) => [id, probeAt]),
  );
  const expected = [...state.deliveries].map(([key, delivery]) => ({
    key,
    status: delivery.status,
    cancelledBy: delivery.cancelledBy,
    count: delivery.count,
    lease: delivery.lease?.token ?? null,
    // Null if the probe is parked, which the model does not follow.
    probeAt: expectedProbeAt(delivery.due, dueTimes.get(delivery.id)),
  }));
  const actual = rows.map(
    ({ id, eventId, webhookId, status, cancelledBy, count, leaseToken, probeAt }) => ({
      key: keys.get(id) ?? `event ${eventId} for webhook ${webhookId}, unexpected`,
      status,
      cancelledBy,
      count,
      lease: leaseToken,
      probeAt,
    }),
  );
  same('deliveries', byKey(actual), byKey(expected));
}

/** The first probe may be due within a few minutes. */
function expectedProbeAt({ from, to }: Delivery['due'], stored: number | null = from) {
  return stored === null || (stored >= from && stored <= to) ? stored : from;
}

/** Two workers that record at once may do so in any order, which is then the order that counts. */
function compareOutcomes(state: State, rows: StoredOutcome[]): void {
  const keys = new Map([...state.webhooks.values()].map(({ id, key }) => [id, key]));
  const stored = rows.flatMap(({ webhookId, kind, gone }) => {
    const webhook = keys.get(webhookId);
    return webhook === undefined ? [] : { webhook, kind, gone };
  });
  const known = new Set(keys.values());
  const expected = state.outcomes.filter(({ webhook }) => known.has(webhook));
  const failures = (outcomes: Outcome[]) =>
    outcomes
      .filter(({ kind }) => kind !== 'succeeded')
      .map(toText)
      .sort();
  same('failures noted about health', failures(stored), failures(expected));
  const missing = expected.filter((one) => !stored.some((other) => toText(one) === toText(other)));
  same('successes noted about health', missing.map(toText), []);
  state.outcomes = stored;
}

const toText = ({ webhook, kind, gone }: Outcome) => [webhook, kind, gone].join();

function learnDeliveries(state: State, rows: StoredDelivery[]): void {
  const known = new Set([...state.deliveries.values()].map(({ id }) => id));
  const fresh = new Map(
    rows
      .filter(({ id }) => !known.has(id))
      .map((row) => [`${row.eventId}/${row.webhookId}`, row.id]),
  );
  for (const [key, delivery] of state.deliveries) {
    if (delivery.id !== null) continue;
    const webhook = [...state.webhooks.values()].find((one) => key.endsWith(`/${one.key}`));
    delivery.id = fresh.get(`${state.events[delivery.event]?.stored?.id}/${webhook?.id}`) ?? null;
  }
}

const byId = <T extends { id: string | undefined }>(rows: T[]) =>
  rows.toSorted((one, other) => ((one.id ?? '') < (other.id ?? '') ? -1 : 1));
const byKey = <T extends { key: string }>(rows: T[]) =>
  rows.toSorted((one, other) => (one.key < other.key ? -1 : 1));

function same(what: string, actual: unknown[], expected: unknown[]): void {
  const texts = (list: unknown[]) => list.map((one) => JSON.stringify(one));
  const [found, wanted] = [texts(actual), texts(expected)];
  if (found.join('\n') === wanted.join('\n')) return;
  const extra = found.filter((text) => !wanted.includes(text));
  const missing = wanted.filter((text) => !found.includes(text));
  throw new Disagreement(
    `${what}: the service has ${extra.join(' ') || 'another order'}, the model has ${missing.join(' ')}`,
  );
}
