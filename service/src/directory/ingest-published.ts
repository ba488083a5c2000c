/**
 * Turns what the platform published by SQL into events: adds ids and names and checks each against the catalogue. A bad
 * one is rejected with its reason, or set aside if PostgreSQL refuses it, and does not block the others. It sends nothing. Next: `webhooks/queue/fan-out/fan-out.ts`.
 */
import { findRepeatedName, parseJson } from '../contract/json.ts';
import { type Database, type Transaction, sql } from '../database/database.ts';
import type { Issue } from '../errors.ts';
import { catalogue, checkInner } from '../events/catalogue.ts';
import {
  type AcceptedEvent,
  type PublishedEvent,
  type Rejection,
  acceptPublished,
  claimPublished,
  rejectPublished,
} from '../events/published-events.ts';
import { stepOrSetAside } from '../events/set-aside.ts';
import { traceEvent } from '../runtime/tracing.ts';
import { publicById } from './public-entries.ts';

export type Ingested = { accepted: number; rejected: Rejection[]; more: boolean };

type Subject = { id: string; slug: string; name: string };
type Found = {
  /** The subjects of bound events, by id, including unlisted organisations. */
  subjects: Map<string, Subject>;
  /** The public subjects of events that everybody gets, by id. */
  announced: Map<string, object>;
};
type Outcome = { accepted: AcceptedEvent } | { reason: string };
type Rendered = { event: PublishedEvent; outcome: Outcome };

/** Takes the oldest waiting publications, at most a batch. None waits below `floor`, an `xid`. */
export function ingestPublished(
  database: Database,
  publicUrl: string,
  floor = '0',
): Promise<Ingested> {
  return stepOrSetAside(database, {
    source: 'published_events',
    stage: 'intake',
    step: (only) => ingest(database, publicUrl, floor, only),
    list: async () => {
      const claimed = await database.transaction().execute((tx) => claimPublished(tx, floor));
      return claimed.map(({ id }) => id);
    },
    condition: (id) => sql`id = ${id} and rejected_at is null`,
    merge: (parts) => ({
      accepted: parts.reduce((sum, { accepted }) => sum + accepted, 0),
      rejected: parts.flatMap(({ rejected }) => rejected),
      more: true,
    }),
  });
}

async function ingest(
  database: Database,
  publicUrl: string,
  floor: string,
  only: string[] | null,
): Promise<Ingested> {
  return database.transaction().execute(async (tx) => {
    const published = await claimPublished(tx, floor, only);
    const found = await readSubjects(tx, published, publicUrl);
    return store(
      tx,
      published.map((event) => ({ event, outcome: render(event, found) })),
    );
  });
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
  return { accepted: accepted.length, rejected, more: outcomes.length > 0 };
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
    ...(await publicById<'orgs'>(tx, 'orgs', idsOf('org.created'), publicUrl)),
    ...(await publicById<'alliances'>(tx, 'alliances', idsOf('alliance.created'), publicUrl)),
  ];
  return { subjects: byId(rows), announced: byId(announced) };
}

function byId<T extends { id: string }>(entries: T[]): Map<string, T> {
  return new Map(entries.map((entry) => [entry.id, entry]));
}

function render(event: PublishedEvent, found: Found): Outcome {
  return catalogue[event.name].inner === null ? announce(event, found) : wrap(event, found);
}

function announce(event: PublishedEvent, { announced }: Found): Outcome {
  const subject = announced.get(event.orgId ?? event.allianceId ?? '');
  if (!subject) return { reason: 'the subject was deleted, or is no longer listed' };
  return accept(event, 'global', JSON.stringify(subject));
}

/** Adds ids and names around the given data, which stays as it is, byte for byte. */
function wrap(event: PublishedEvent, { subjects }: Found): Outcome {
  const { name, orgId, allianceId, data } = event;
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
  return accept(event, audience, text);
}

function accept({ id, name }: PublishedEvent, audience: string, data: string): Outcome {
  const span = traceEvent(name);
  span.end(id);
  return { accepted: { id, audience, data, traceparent: span.traceparent } };
}

function checkText({ name, data }: PublishedEvent): Issue[] {
  const text = data ?? 'null';
  // PostgreSQL has parsed this JSON before, but a difference between the two parsers must not block the rest.
  const parsed = parseJson(text);
  if (parsed === undefined) return [{ path: 'data', message: 'must be JSON' }];
  const result = checkInner(name, parsed);
  if (!result.ok) return result.issues;
  const repeated = findRepeatedName(text);
  return repeated === null
    ? []
    : [{ path: 'data', message: `names ${JSON.stringify(repeated)} twice in one object` }];
}
