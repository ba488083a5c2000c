/**
 * Searches deliveries by fields without an index: their last response, the subject of their event, or text. It reads only
 * the newest deliveries that match the other filters, or for an id the first ones after it. Events that the app may no longer receive match neither a
 * subject nor a text.
 */
import { slugReservedDays } from '../../contract/periods.ts';
import { requireTime, toUtc } from '../../contract/parse-time.ts';
import { uuidPattern } from '../../contract/patterns.ts';
import { searchedMax, type Searched } from '../../contract/portal-deliveries.ts';
import type { Attempt } from '../../contract/webhook.ts';
import { sql, type Executor } from '../../database/database.ts';
import { idFloor } from '../history/ended-deliveries.ts';
import { conditions, type DeliveryFilter } from './delivery-filter.ts';
import { countDeliveries } from './find-page.ts';

export type DeliverySearch = DeliveryFilter & {
  /** `500`, `5xx` or `none`. */
  response?: string | undefined;
  error?: Attempt['error'] | undefined;
  /** The slug of an organisation or alliance, or a former one. */
  subject?: string | undefined;
  /** The id of a delivery or of an event, or text in the body. */
  search?: string | undefined;
};

type Found = { total: number; ids: string[]; searched: NonNullable<Searched> };

export function isSearch({ response, error, subject, search }: DeliverySearch): boolean {
  return [response, error, subject, search].some((each) => each !== undefined);
}

/** Whether the text is looked for in bodies. */
export function isText(search: string): boolean {
  return !uuidPattern.test(search);
}

export async function searchDeliveries(
  executor: Executor,
  appId: string,
  webhookIds: string[],
  query: Omit<DeliverySearch, 'before'> & { page: number; limit: number },
): Promise<Found> {
  const { page, limit } = query;
  const firstMs = firstHourMs(query);
  const last = await findLastHour(executor, webhookIds, { query, firstMs });
  const { rows } = await sql<{ searched: number; total: number; ids: string[] }>`
    with candidates as materialized (
      select of_webhook.* from unnest(${webhookIds}::uuid[]) as w(webhook) cross join lateral (
        (select id, event_id from pending_deliveries where webhook_id = webhook and ${among(query, 'pending', { firstMs, last })}
         order by id ${order(query)} limit ${searchedMax + 1})
        union all
        (select id, event_id from deliveries where webhook_id = webhook and ${among(query, 'ended', { firstMs, last })}
         order by id ${order(query)} limit ${searchedMax + 1})
      ) of_webhook
      order by id ${order(query)} limit ${searchedMax + 1}
    ),
    found as materialized (
      select c.id from ((select * from candidates limit ${searchedMax}) ${withId(query, webhookIds)}) c
      ${lastAttempt(query)} ${allowedEvent(query, appId)}
      where ${matches(query)}
    )
    select (select count(*) from candidates) as searched, (select count(*) from found) as total,
      array(select id from found order by id desc limit ${limit} offset ${(page - 1) * limit}) as ids
  `.execute(executor);
  const { searched = 0, total = 0, ids = [] } = rows[0] ?? {};
  const complete = last === null && searched <= searchedMax;
  return { total, ids, searched: { deliveries: Math.min(searched, searchedMax), complete } };
}

const hourMs = 3_600_000;
/** In so many days deliveries are counted until those are found that are searched, and then in all. */
const daysCounted = [1, 16, Infinity];

/**
 * The hour in which the last delivery is that can be among those that are searched; null if all can be. Without it PostgreSQL
 * would sort as many deliveries of each webhook, and read every day.
 */
async function findLastHour(
  executor: Executor,
  webhookIds: string[],
  { query, firstMs }: { query: DeliverySearch; firstMs: number },
): Promise<Date | null> {
  if (isFailure(query) && query.status === 'succeeded') return null;
  // Tests do not succeed either, but are not counted: then an hour too many is searched.
  const filter = isFailure(query) ? { ...query, status: query.status ?? 'undelivered' } : query;
  for (const days of daysCounted) {
    const counted = limitTo(filter, days, firstMs);
    const hours = await countDeliveries(executor, webhookIds, counted);
    if (idOf(query) !== null) hours.reverse();
    let found = 0;
    for (const { hour, count } of hours) {
      if (hour.getTime() >= firstMs) found += count;
      if (found > searchedMax) return hour;
    }
    if (counted.since === filter.since && counted.until === filter.until) return null;
  }
  return null;
}

/** The deliveries of an event are younger than it, but for differences of clocks. */
function firstHourMs(query: DeliverySearch): number {
  const id = idOf(query);
  if (id === null) return -Infinity;
  // An id of another kind has any time in it.
  const ms = Math.min(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16), Date.now());
  return (Math.floor(ms / hourMs) - 1) * hourMs;
}

/** The same deliveries, but only of so many days from where the search begins. */
function limitTo(query: DeliverySearch, days: number, firstMs: number): DeliverySearch {
  if (days === Infinity) return query;
  const { since, until } = query;
  const lengthMs = days * 24 * hourMs;
  if (idOf(query) !== null) {
    const [from, to] = [toHour(firstMs), toHour(firstMs + lengthMs)];
    return {
      ...query,
      since: since !== undefined && toUtc(since) > from ? since : from,
      until: until !== undefined && toUtc(until) < to ? until : to,
    };
  }
  const endMs = until === undefined ? Date.now() : requireTime(until).getTime();
  const from = toHour(endMs - lengthMs);
  return { ...query, since: since !== undefined && toUtc(since) > from ? since : from };
}

/** No delivery is from before 1970. */
function toHour(ms: number): string {
  return new Date(Math.floor(Math.max(ms, 0) / hourMs) * hourMs).toISOString();
}

function isFailure({ response, error }: DeliverySearch): boolean {
  return error !== undefined || (response !== undefined && !response.startsWith('2'));
}

function among(
  query: DeliverySearch,
  table: 'pending' | 'ended',
  { firstMs, last }: { firstMs: number; last: Date | null },
) {
  const all = [conditions(query, table)];
  if (idOf(query) !== null) {
    all.push(sql`id >= ${idFloor(firstMs)}`);
    if (last !== null) all.push(sql`id < ${idFloor(last.getTime() + hourMs)}`);
  } else if (last !== null) all.push(sql`id >= ${idFloor(last.getTime())}`);
  // There is an index for these.
  if (isFailure(query) && table === 'ended') all.push(sql`status <> 'succeeded'`);
  return sql.join(all, sql` and `);
}

function order(query: DeliverySearch) {
  return idOf(query) === null ? sql`desc` : sql`asc`;
}

/** A delivery is found by its id, however many there are. */
function withId(query: DeliverySearch, webhookIds: string[]) {
  const id = idOf(query);
  if (id === null) return sql``;
  return sql`
    union select id, event_id from pending_deliveries
    where id = ${id} and webhook_id = any(${webhookIds}::uuid[]) and ${conditions(query, 'pending')}
    union select id, event_id from deliveries
    where id = ${id} and webhook_id = any(${webhookIds}::uuid[]) and ${conditions(query, 'ended')}
  `;
}

function idOf({ search }: DeliverySearch): string | null {
  return search === undefined || isText(search) ? null : search;
}

function textOf({ search }: DeliverySearch): string | null {
  return search !== undefined && isText(search) ? search : null;
}

function lastAttempt({ response, error }: DeliverySearch) {
  if (response === undefined && error === undefined) return sql``;
  return sql`
    cross join lateral (
      select status_code, error from attempts where delivery_id = c.id order by number desc limit 1
    ) last
  `;
}

function allowedEvent(query: DeliverySearch, appId: string) {
  const { subject } = query;
  if (subject === undefined && textOf(query) === null) return sql``;
  // The subject first: whether the app may receive an event takes ten times as long.
  return sql`
    cross join lateral (
      select data from events
      where id = c.event_id and case when ${subject === undefined ? sql`true` : isAbout(subject)}
        then app_may_receive(audience, org_id, alliance_id, created_at, ${appId}) end limit 1
    ) e
  `;
}

/** Looks each slug up once, not for each event. */
function isAbout(slug: string) {
  const [ofGlobal, ofInternal] = ['global', 'organization'].map((audience) =>
    idBySlug('orgs', slug, sql`${sql.lit(audience)}`),
  );
  return sql`(
    org_id = case audience when 'global' then ${ofGlobal} else ${ofInternal} end
    or alliance_id = ${idBySlug('alliances', slug, sql`audience`)}
  )`;
}

function matches(query: DeliverySearch) {
  const { response, error } = query;
  const [id, text] = [idOf(query), textOf(query)];
  const all = [sql`true`];
  if (id !== null) all.push(sql`(c.id = ${id} or c.event_id = ${id})`);
  if (response === 'none') all.push(sql`last.status_code is null`);
  else if (response?.endsWith('xx')) all.push(sql`last.status_code / 100 = ${response[0]}::int`);
  else if (response !== undefined) all.push(sql`last.status_code = ${response}::int`);
  if (error !== undefined) all.push(sql`last.error = ${error}`);
  if (text !== null) all.push(sql`position(lower(${text}) in lower(e.data)) > 0`);
  return sql.join(all, sql` and `);
}

type Statement = ReturnType<typeof sql>;

/**
 * An expression for the id of the organisation or alliance that has this slug, or had it while nobody else can get it. For an
 * event of everybody, a slug from before the organisation was listed does not count: nobody outside may know it.
 */
export function idBySlug(kind: 'orgs' | 'alliances', slug: string, audience: Statement): Statement {
  const mayBeKnown =
    kind === 'orgs' ? sql`(${audience} <> 'global' or f.left_at > t.first_listed_at)` : sql`true`;
  return sql`coalesce(
    (select id from ${sql.table(kind)} where slug = ${slug}),
    (
      select t.id from former_slugs f join ${sql.table(kind)} t on t.id = f.entry_id
      where f.kind = ${kind} and f.slug = ${slug} and ${mayBeKnown}
        and f.left_at > now() - make_interval(days => ${slugReservedDays})
    )
  )`;
}
