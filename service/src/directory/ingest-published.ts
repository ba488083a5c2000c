/**
 * Turns what the platform published by SQL into events: adds ids and names and checks each against the catalogue. A bad
 * one is rejected with its reason and does not block the others. It sends nothing. Next: `webhooks/queue/fan-out.ts`.
 */
import { sql, violatedConstraint, type Database, type Transaction } from '../database/database.ts';
import type { Issue } from '../errors.ts';
import { catalogue } from '../events/catalogue.ts';
import { checkInner } from '../events/check-inner.ts';
import { findRepeatedName } from '../events/find-repeated-name.ts';
import {
  acceptPublished,
  claimPublished,
  rejectPublished,
  type AcceptedEvent,
  type PublishedEvent,
  type Rejection,
} from '../events/published-events.ts';
import { traceEvent } from '../tracing.ts';
import { publicAlliances } from './alliances.ts';
import { publicOrgs } from './orgs.ts';

export type Ingested = { accepted: number; rejected: Rejection[] };

type Subject = { id: string; slug: string; name: string };
type Found = {
  /** The subjects of bound events, by id, including unlisted organisations. */
  subjects: Map<string, Subject>;
  /** The public subjects of events that everybody gets, by id. */
  announced: Map<string, object>;
};
type Outcome = { accepted: AcceptedEvent } | { reason: string };
type Rendered = { event: PublishedEvent; outcome: Outcome };

const notStorable = { reason: 'it cannot be stored: the database rejects a value' };

/** Takes the oldest waiting publications, at most a batch. None waits below `floor`, an `xid`. */
export async function ingestPublished(
  database: Database,
  publicUrl: string,
  floor = '0',
): Promise<Ingested> {
  return database.transaction().execute(async (tx) => {
    const published = await claimPublished(tx, floor);
    const found = await readSubjects(tx, published, publicUrl);
    const outcomes = published.map((event) => ({ event, outcome: render(event, found) }));
    return (await tryStore(tx, outcomes)) ?? storeOneByOne(tx, outcomes);
  });
}

/** Stores each event separately and rejects those that cannot be stored, so that they do not block the rest. */
async function storeOneByOne(tx: Transaction, outcomes: Rendered[]): Promise<Ingested> {
  const ingested: Ingested = { accepted: 0, rejected: [] };
  for (const rendered of outcomes) {
    const { event } = rendered;
    const { accepted, rejected } =
      (await tryStore(tx, [rendered])) ?? (await store(tx, [{ event, outcome: notStorable }]));
    ingested.accepted += accepted;
    ingested.rejected.push(...rejected);
  }
  return ingested;
}

/** Returns null if the database refuses one of them; then none is stored. */
async function tryStore(tx: Transaction, outcomes: Rendered[]): Promise<Ingested | null> {
  await sql`savepoint storing`.execute(tx);
  try {
    const ingested = await store(tx, outcomes);
    await sql`release savepoint storing`.execute(tx);
    return ingested;
  } catch (error) {
    if (!isValueError(error)) throw error;
    await sql`rollback to savepoint storing`.execute(tx);
    return null;
  }
}

/**
 * Whether PostgreSQL refuses a value: data exceptions, named constraints, and program limits. A missing partition does
 * not count: it violates no named constraint, and every row would meet it.
 */
function isValueError(error: unknown): boolean {
  const { code = '' } = error as { code?: string };
  return code.startsWith('22') || code.startsWith('54') || Boolean(violatedConstraint(error));
}

async function store(tx: Transaction, outcomes: Rendered[]): Promise<Ingested> {
  const accepted: AcceptedEvent[] = [];
  const rejected: Rejection[] = [];
  for (const { event, outcome } of outcomes) {
    if ('accepted' in outcome) accepted.push(outcome.accepted);
    else rejected.push({ id: event.id, name: event.name, reason: outcome.reason });
  }
  await acceptPublished(tx, accepted);
  await rejectPublished(tx, rejected);
  return { accepted: accepted.length, rejected };
}

async function readSubjects(
  tx: Transaction,
  published: PublishedEvent[],
  publicUrl: string,
): Promise<Found> {
  if (published.length === 0) return { subjects: new Map(), announced: new Map() };
  const ids = published.map(({ orgId, allianceId }) => orgId ?? allianceId ?? '');
  const idsOf = (name: string) =>
    published.flatMap((event, index) => (event.name === name ? [ids[index] ?? ''] : []));
  const { rows } = await sql<Subject>`
    select id, slug, name from orgs where id = any(${ids}::uuid[])
    union all select id, slug, name from alliances where id = any(${ids}::uuid[])
  `.execute(tx);
  const announced = [
    ...(await publicOrgs(tx, idsOf('org.created'), publicUrl)),
    ...(await publicAlliances(tx, idsOf('alliance.created'), publicUrl)),
  ];
  return { subjects: byId(rows), announced: byId(announced) };
}

function byId<T extends { id: string }>(entries: T[]): Map<string, T> {
  return new Map(entries.map((entry) => [entry.id, entry]));
}

/** An unexpected error in one publication must not block the rest. */
function render(event: PublishedEvent, found: Found): Outcome {
  try {
    return catalogue[event.name].inner === null ? announce(event, found) : wrap(event, found);
  } catch {
    return { reason: 'it cannot be read' };
  }
}

function announce({ id, name, orgId, allianceId }: PublishedEvent, { announced }: Found): Outcome {
  const subject = announced.get(orgId ?? allianceId ?? '');
  if (!subject) return { reason: 'the subject was deleted, or is no longer listed' };
  const traceparent = traceEvent({ id, name });
  return { accepted: { id, audience: 'global', data: JSON.stringify(subject), traceparent } };
}

/** Adds ids and names around the given data, which stays as it is, byte for byte. */
function wrap(event: PublishedEvent, { subjects }: Found): Outcome {
  const { id, name, orgId, allianceId, data } = event;
  const { audience, inner } = catalogue[name];
  const subject = subjects.get(orgId ?? allianceId ?? '');
  if (!subject) return { reason: `the ${audience} was deleted` };
  const issues = checkText(event);
  if (issues.length > 0) {
    return { reason: issues.map(({ path, message }) => `${path} ${message}`).join('; ') };
  }
  const idName = orgId === null ? 'allianceId' : 'organizationId';
  const around = JSON.stringify({ [idName]: subject.id, [audience]: subject }).slice(0, -1);
  const text = `${around},${JSON.stringify(inner)}:${data}}`;
  return { accepted: { id, audience, data: text, traceparent: traceEvent({ id, name }) } };
}

function checkText({ name, data }: PublishedEvent): Issue[] {
  const text = data ?? 'null';
  const parsed = parse(text);
  if (parsed === undefined) return [{ path: 'data', message: 'must be JSON' }];
  const result = checkInner(name, parsed);
  if (!result.ok) return result.issues;
  const repeated = findRepeatedName(text);
  return repeated === null
    ? []
    : [{ path: 'data', message: `names ${JSON.stringify(repeated)} twice in one object` }];
}

/** PostgreSQL has parsed this JSON before, but a difference between the two parsers must not block the rest. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
