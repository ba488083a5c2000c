/**
 * Checks a publication and renders all of it that needs no look-up of its subject. Stores nothing. Next:
 * `store-publications.ts`.
 */
import { createHash } from 'node:crypto';
import type { Executor } from '../database/database.ts';
import { invalid, ServiceError } from '../errors.ts';
import {
  type EventName,
  catalogue,
  catalogueEntry,
  checkInner,
  publishableEvents,
} from '../events/catalogue.ts';
import type { EventSpan } from '../runtime/tracing-types.ts';
import { traceEvent } from '../runtime/tracing.ts';
import { findAlliance } from './alliances.ts';
import { findOrg } from './orgs.ts';
import { publicById } from './public-entries.ts';

export type Publication = {
  name: string;
  /** Slugs; each event needs the slug of its subject. */
  org: string | null;
  alliance: string | null;
  /** The inner object of a bound event. The service itself builds the data of a global one. */
  data: unknown;
  publicUrl: string;
  /** The publisher's trace context. */
  traceparent?: string | null;
};

export type PreparedPublication = {
  name: EventName;
  key: string | null;
  /** The SHA-256 of the request in hexadecimal, to compare with earlier uses of the key. */
  content: string;
  subject: Subject;
  /** The subject of a bound event, which is looked up when the event is stored. */
  slug: string | null;
  /** The subject of a global event. Null for a bound one, and if the event is refused. */
  subjectId: string | null;
  /** JSON: all of a global event's data, or what follows the subject in the data of a bound one. */
  text: Buffer;
  span: EventSpan;
  /** Why there is no event if the subject is not found. */
  refuse: () => ServiceError;
};

type Subject = 'org' | 'alliance';
type Rendered = Pick<PreparedPublication, 'slug' | 'subjectId' | 'text' | 'refuse'>;

const nouns = { org: 'organisation', alliance: 'alliance' };

/** `key` is the idempotency key. Throws `validation_failed`. */
export async function preparePublication(
  executor: Executor,
  publication: Publication,
  key: string | null,
): Promise<PreparedPublication> {
  const name = requireName(publication.name);
  const subject = subjectOf(name);
  const slug = requireSlug(subject, publication);
  const rendered =
    catalogue[name].inner === null
      ? await renderGlobal(executor, subject, slug, publication)
      : renderBound(name, subject, slug, publication.data);
  const content = key === null ? '' : hash(publication);
  const span = traceEvent(name, publication.traceparent);
  return { name, key, content, subject, span, ...rendered };
}

function requireName(name: string): EventName {
  if ((catalogueEntry(name)?.audience ?? 'webhook') === 'webhook') {
    throw invalid({
      path: 'name',
      message: `must be one of ${publishableEvents.join(', ')}, not ${name}`,
    });
  }
  const publishable = publishableEvents.find((each) => each === name);
  if (publishable) return publishable;
  throw invalid({ path: 'name', message: `${name} is published by the service itself` });
}

function subjectOf(name: EventName): Subject {
  return name === 'org.created' || catalogue[name].audience === 'organization' ? 'org' : 'alliance';
}

function requireSlug(subject: Subject, publication: Publication): string {
  const { name } = publication;
  const other = subject === 'org' ? 'alliance' : 'org';
  if (publication[other] !== null)
    throw invalid({ path: other, message: `cannot be used with ${name}` });
  const slug = publication[subject];
  if (slug !== null) return slug;
  throw invalid({
    path: subject,
    message: `is required: the slug of the ${nouns[subject]} that the event is about`,
  });
}

function renderBound(name: EventName, subject: Subject, slug: string, data: unknown): Rendered {
  const result = checkInner(name, data);
  if (!result.ok) throw invalid(...result.issues);
  return {
    slug,
    subjectId: null,
    text: Buffer.from(`${JSON.stringify(catalogue[name].inner)}:${JSON.stringify(result.value)}}`),
    refuse: () => noSubject(subject, slug),
  };
}

async function renderGlobal(
  executor: Executor,
  subject: Subject,
  slug: string,
  { name, data, publicUrl }: Publication,
): Promise<Rendered> {
  if (data !== null)
    throw invalid({ path: 'data', message: `of ${name} is created by the service` });
  const find = subject === 'org' ? findOrg : findAlliance;
  const kind = subject === 'org' ? 'orgs' : 'alliances';
  const found = await find(executor, slug);
  const [shown] = found ? await publicById<typeof kind>(executor, kind, [found.id], publicUrl) : [];
  return {
    slug: null,
    subjectId: shown?.id ?? null,
    text: Buffer.from(JSON.stringify(shown ?? null)),
    refuse: () => (found ? notListed(slug) : noSubject(subject, slug)),
  };
}

function noSubject(subject: Subject, slug: string): ServiceError {
  return new ServiceError('not_found', `There is no ${nouns[subject]} ${slug}.`);
}

function notListed(slug: string): ServiceError {
  return new ServiceError('conflict', `${slug} is not listed, so it cannot be announced.`);
}

/** Hashes the request. The order of fields does not count, because some languages change it each time. */
function hash({ name, org, alliance, data }: Publication): string {
  return createHash('sha256')
    .update(JSON.stringify([name, org, alliance, sorted(data)]))
    .digest('hex');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  // Tagged, so that an object never hashes like a list of pairs.
  return { object: fields.map(([name, field]) => [name, sorted(field)]) };
}
