/** Checks, renders and stores what is published over HTTP. Next: `webhooks/queue/fan-out/fan-out.ts`. */
import { createHash } from 'node:crypto';
import { type Executor, sql } from '../database/database.ts';
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
import { arrayLiteral, packBytes } from '../database/array-literal.ts';
import { idempotencyKeyDays } from '../events/idempotency-keys.ts';

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

/**
 * Checks a publication and renders all of it that needs no look-up of its subject. `key` is the idempotency key. Throws
 * `validation_failed`.
 */
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

export type Published =
  | { kind: 'published'; id: string }
  /** The same publication was stored before under this idempotency key. */
  | { kind: 'repeated'; id: string }
  | { kind: 'failed'; error: unknown };

/** What is not simply a new event. It has the place of a publication without a subject, or a key. */
type Exception = {
  place: number | null;
  key: string | null;
  eventId: string | null;
  content: string | null;
};

/**
 * Stores publications in one statement, so one round trip and one commit: looks up their subjects, takes their idempotency keys,
 * and puts the events into the outbox. Returns a result for each, in their order. A publication without a subject leaves its key
 * free. No two may have the same key. Throws only if nothing was stored.
 */
export async function storePublications(
  executor: Executor,
  items: readonly PreparedPublication[],
): Promise<Published[]> {
  const { ids, exceptions } = await insert(executor, items);
  const byPlace = new Map(exceptions.map((row) => [row.place, row]));
  const byKey = new Map(exceptions.map((row) => [row.key, row]));
  return items.map((item, place) => {
    const row = byPlace.get(place) ?? (item.key === null ? undefined : byKey.get(item.key));
    if (row) return toResult(item, row);
    const id = ids[place] as string;
    item.span.end(id);
    return { kind: 'published', id };
  });
}

function toResult(item: PreparedPublication, { eventId, content }: Exception): Published {
  if (eventId === null) return { kind: 'failed', error: item.refuse() };
  if (content === item.content) return { kind: 'repeated', id: eventId };
  return { kind: 'failed', error: keyConflict() };
}

function keyConflict(): ServiceError {
  return new ServiceError(
    'conflict',
    'The id was already used with different content. Use a new one for each publication.',
  );
}

async function insert(
  executor: Executor,
  items: readonly PreparedPublication[],
): Promise<{ ids: string[]; exceptions: Exception[] }> {
  const texts = packBytes(items.map(({ text }) => text));
  const { rows } = await sql<{ ids: string[]; exceptions: Exception[] | null }>`
    -- prepared: publish
    with clock as materialized (select clock_timestamp() as now, gen_random_uuid() as random),
    given as materialized (
      -- One random number for all: making one takes as long as all the rest of an id.
      select uuid_v7(now + place * interval '1 microsecond', random) as id, g.*
      from clock, ${unnest(items, texts)} with ordinality
        as g(name, audience, subject, slug, subject_id, key, content, traceparent, text_start, text_length, place)
    ),
    -- A look-up by slug for each: a prepared join could keep the plan that it got while the tables were empty.
    found as materialized (
      select g.place, g.id, g.name, g.audience, g.subject, g.key, g.content, g.traceparent, g.text_start, g.text_length,
        coalesce(o.id, a.id, g.subject_id) as subject_id, coalesce(o.slug, a.slug) as slug,
        coalesce(o.name, a.name) as subject_name
      from given g
      left join lateral (select id, slug, name from orgs where g.subject = 'org' and slug = g.slug limit 1) o on true
      left join lateral (
        select id, slug, name from alliances where g.subject = 'alliance' and slug = g.slug limit 1
      ) a on true
    ),
    claimed as (
      insert into idempotency_keys as k (key, content, event_id, expires_at)
      select key, decode(content, 'hex'), id, now() + ${idempotencyKeyDays} * interval '1 day' from found
      where key is not null and subject_id is not null
      -- All statements take keys in this order, so that no two wait for each other.
      order by key
      -- A used key is updated to itself, which returns the row even if this snapshot is too old to see it. An expired
      -- key counts as unused even before it is deleted.
      on conflict (key) do update set
        content = case when k.expires_at > now() then k.content else excluded.content end,
        event_id = case when k.expires_at > now() then k.event_id else excluded.event_id end,
        created_at = case when k.expires_at > now() then k.created_at else now() end,
        expires_at = case when k.expires_at > now() then k.expires_at else excluded.expires_at end
      returning key, event_id, content
    ),
    published as (
      insert into outbox (id, name, audience, traceparent, org_id, alliance_id, data)
      select id, name, audience, traceparent, case subject when 'org' then subject_id end,
        case subject when 'alliance' then subject_id end,
        -- The same bytes as those of JSON.stringify: to_json escapes a text in the same way.
        case when slug is null then '' else
          '{"' || audience || 'Id":"' || subject_id || '","' || audience || '":{"id":"' || subject_id || '","slug":"'
            || slug || '","name":' || to_json(subject_name)::text || '},'
        end || convert_from(substring(${texts.bytes}::bytea from text_start for text_length), 'UTF8')
      from found
      where subject_id is not null and (key is null or id in (select event_id from claimed))
    )
    -- One row, because reading rows costs this process more than PostgreSQL.
    select (select json_agg(id order by place) from given) as ids, (select json_agg(e) from (${exceptions}) e) as exceptions
  `.execute(executor);
  const [row] = rows;
  if (!row) throw new Error('the publications returned nothing');
  return { ids: row.ids, exceptions: row.exceptions ?? [] };
}

/** A row for each publication. */
function unnest(items: readonly PreparedPublication[], texts: ReturnType<typeof packBytes>) {
  return sql`unnest(
    ${arrayLiteral(items.map(({ name }) => name))}::text[],
    ${arrayLiteral(items.map(({ name }) => catalogue[name].audience))}::text[],
    ${arrayLiteral(items.map(({ subject }) => subject))}::text[],
    ${items.map(({ slug }) => slug)}::text[],
    ${arrayLiteral(items.map(({ subjectId }) => subjectId))}::uuid[],
    ${items.map(({ key }) => key)}::text[],
    ${arrayLiteral(items.map(({ key, content }) => (key === null ? null : content)))}::text[],
    ${arrayLiteral(items.map(({ span }) => span.traceparent))}::text[],
    ${texts.starts}::int[], ${texts.lengths}::int[]
  )`;
}

const exceptions = sql`
  select null::int as place, key, event_id as "eventId", encode(content, 'hex') as content
  from claimed where event_id not in (select id from given)
  union all
  select (f.place - 1)::int, null, k.event_id, encode(k.content, 'hex')
  from found f
  left join lateral (
    select event_id, content from idempotency_keys where key = f.key and expires_at > now() limit 1
  ) k on true
  where f.subject_id is null
`;
