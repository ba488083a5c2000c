/**
 * Lists the events that an app may have now, in fan-out order, so that a late commit is never skipped. Neither the pages nor
 * the time that they take depend on other events: each name is read by an index (`events_visible`) that leads past them. `listEvents` is for
 * operators, and lists all.
 */
import { sql, type Database, type Executor, type LeftJoined } from '../database/database.ts';
import { invalid } from '../errors.ts';
import type { EventName } from './catalogue.ts';
import type { Cursors } from './cursors.ts';

export type PulledEvent = {
  position: number;
  id: string;
  event: EventName;
  createdAt: string;
  /** The recorded JSON text. */
  data: string;
};
export type EventPage = {
  events: PulledEvent[];
  /** Where the page ends; as it was given if the page is empty. */
  nextCursor: string | null;
  hasMore: boolean;
};
type PullOptions = {
  after: string | null;
  /** The newest ones instead, in the same order. */
  newest?: boolean;
  limit: number;
  event: string | null;
  /** Only what this webhook of the app would be sent now: by its events and filters, also the opt-in ones. */
  webhookId: string | null;
};

type EventRow = {
  id: string;
  name: EventName;
  created_at: Date;
  data: string;
  position: number;
  org_id: string | null;
  alliance_id: string | null;
};

/** Throws `validation_failed` for an invalid cursor. */
export async function pullEvents(
  database: Database,
  cursors: Cursors,
  appId: string,
  { after, ...options }: PullOptions,
): Promise<EventPage> {
  const start = after === null ? 0 : decodeCursor(cursors, appId, after, 'query.after');
  const { events, end, hasMore } = await readEvents(database, appId, { ...options, start });
  return {
    events,
    nextCursor: end > start ? cursors.encode(appId, end) : after,
    hasMore,
  };
}

type ReadOptions = Omit<PullOptions, 'after'> & { start: number };

/** The events after the position `start`, up to `end`. Those that do not pass the webhook's filters make the page shorter. */
export async function readEvents(
  database: Executor,
  appId: string,
  { start, newest = false, limit, event, webhookId }: ReadOptions,
): Promise<{ events: PulledEvent[]; end: number; hasMore: boolean }> {
  const page = {
    isOnPage: sql`e.position > ${start}::bigint`,
    order: newest ? sql`e.position desc` : sql`e.position`,
    limit,
    event,
  };
  const webhook = sql`select * from webhooks where id = ${webhookId} and app_id = ${appId}`;
  const { rows } = await sql<EventRow & { passes: boolean }>`
    ${
      webhookId === null
        ? sql`select *, true as passes from (${eventsOf(appId, { ...page, names: listed })}) e`
        : sql`
          with webhook as materialized (${webhook})
          select e.*, passes_filter(webhook.filter_path, e.name, filterable(e.data)) as passes
          from webhook cross join lateral (
            ${eventsOf(appId, { ...page, names: subscribed(sql`(select events from webhook)`) })}
          ) e order by ${page.order}
        `
    }
  `.execute(database);
  const onPage = rows.slice(0, limit);
  if (newest) onPage.reverse();
  return {
    events: onPage.filter(({ passes }) => passes).map(toEvent),
    end: onPage.at(-1)?.position ?? start,
    hasMore: !newest && rows.length > limit,
  };
}

/**
 * Counts the newest events to which a webhook with these `events` would be subscribed, and those that pass `filterPath`,
 * which is what `webhooks/filters/compile-filters.ts` makes.
 */
export async function countPassing(
  database: Database,
  appId: string,
  {
    events,
    filterPath,
    limit,
  }: { events: string[] | null; filterPath: string | null; limit: number },
): Promise<{ events: number; passing: number }> {
  const newest = {
    isOnPage: sql`true`,
    order: sql`e.position desc`,
    limit: limit - 1,
    event: null,
  };
  const { rows } = await sql<{ events: number; passing: number }>`
    select count(*)::int as events,
      (count(*) filter (where passes_filter(${filterPath}::jsonpath, e.name, filterable(e.data))))::int as passing
    from (${eventsOf(appId, { ...newest, names: subscribed(sql`${events}::text[]`) })}) e
  `.execute(database);
  return rows[0] ?? { events: 0, passing: 0 };
}

type RecentEvent = {
  position: number;
  id: string;
  name: EventName;
  created_at: Date;
} & LeftJoined<{ kind: 'organization' | 'alliance'; slug: string; subject: string }>;

/** The same events, newest first: those before a position. */
export async function recentEvents(
  database: Database,
  appId: string,
  { before, limit }: { before: number | null; limit: number },
): Promise<{ events: RecentEvent[]; hasMore: boolean }> {
  const isOnPage = before === null ? sql`true` : sql`e.position < ${before}::bigint`;
  const newest = { isOnPage, order: sql`e.position desc`, limit, event: null, names: listed };
  const { rows } = await sql<RecentEvent>`
    select e.position, e.id, e.name, e.created_at, s.*
    from (${eventsOf(appId, newest)}) e
    left join lateral (
      select 'organization' as kind, slug, name as subject from orgs where orgs.id = e.org_id
      union all
      select 'alliance', slug, name from alliances where alliances.id = e.alliance_id
    ) s on true
    order by e.position desc
  `.execute(database);
  return { events: rows.slice(0, limit), hasMore: rows.length > limit };
}

type Part = {
  /** Conditions on `e.position`. */
  isOnPage: ReturnType<typeof sql>;
  order: ReturnType<typeof sql>;
  limit: number;
  event: string | null;
  /** Rows of `event_kinds`. */
  names: ReturnType<typeof sql>;
};

/** All names of the database: while a newer version is rolled out, it has events that this one does not know. */
const listed = sql`select k from event_kinds k`;

/** Those to which a webhook with these events is subscribed. Opt-in events are for everybody, and not in `event_kinds`. */
function subscribed(events: ReturnType<typeof sql>) {
  return sql`
    select k from event_kinds k where takes_event(true, ${events}, k.name)
    union all
    select row(o.name, null, false)::event_kinds from unnest(${events}) o(name)
    where o.name not in (select name from event_kinds)
  `;
}

/** One more than the limit. */
function eventsOf(appId: string, { isOnPage, order, limit, event, names }: Part) {
  return sql`
    select e.*
    -- As an array, because PostgreSQL has no statistics of so small a table: it would expect a thousand names, and compile
    -- the statement for seconds.
    from unnest(array(${names})) k
    left join bindings b on b.app_id = ${appId}
    cross join lateral (values
      (${everybody}, 0),
      (case k.subject when 'organization' then b.org_id when 'alliance' then b.alliance_id end, b.after_position)
    ) s(subject, after_position)
    cross join lateral (
      select e.id, e.name, e.created_at, e.data, e.position, e.org_id, e.alliance_id
      from events e
      -- The names of event_kinds have another collation, with which the index would be of no use.
      where e.name = k.name collate "default" and ${subjectOf} = s.subject and not e.hidden
        and ${isOnPage} and e.position > s.after_position
        and may_receive(e.audience, e.org_id, e.alliance_id, e.created_at,
          (select listed from orgs o where o.id = e.org_id), b.org_id, b.alliance_id, b.created_at)
      -- Not a number: PostgreSQL, which expects one event of each day, would read and sort those of all days to get more.
      order by ${order} limit (select ${limit + 1}::int)
    ) e
    where s.subject is not null and ${event === null ? sql`true` : sql`k.name = ${event}`}
    order by ${order} limit ${limit + 1}
  `;
}

/** As in the index `events_visible`. */
const everybody = sql`'00000000-0000-0000-0000-000000000000'::uuid`;
const subjectOf = sql`(case e.audience when 'global' then ${everybody} else coalesce(e.org_id, e.alliance_id) end)`;

/** `path`: where the request has it. Throws `validation_failed`. */
export function decodeCursor(
  cursors: Cursors,
  appId: string,
  cursor: string,
  path: string,
): number {
  const position = cursors.decode(appId, cursor);
  if (position !== null) return position;
  const name = path.slice(path.indexOf('.') + 1);
  throw invalid({
    path,
    message: `must be the nextCursor of an earlier response to this app; start again without ${name}, and skip the events whose ids you know`,
  });
}

function toEvent(row: EventRow): PulledEvent {
  return {
    position: row.position,
    id: row.id,
    event: row.name,
    createdAt: row.created_at.toISOString(),
    data: row.data,
  };
}

export type ListedEvent = {
  id: string;
  event: string;
  audience: string;
  /** The slug of its organisation or alliance; null too if that is gone. */
  org: string | null;
  alliance: string | null;
  /** `waiting`: not fanned out to webhooks yet. */
  state: 'waiting' | 'distributed';
  createdAt: Date;
  /** The recorded JSON text. */
  data: string;
};

export type EventFilter = { event: string | null; since: Date; limit: number };

/** For operators: recorded events, newest first. */
export async function listEvents(executor: Executor, filter: EventFilter): Promise<ListedEvent[]> {
  const since = filter.since.toISOString();
  const { rows } = await sql<ListedEvent>`
    select e.id, e.name as event, e.audience, o.slug as org, a.slug as alliance, e.created_at as "createdAt", e.data, e.state
    from (
      select id, name, audience, org_id, alliance_id, created_at, data, 'distributed' as state from events
      union all
      select id, name, audience, org_id, alliance_id, created_at, data, 'waiting' from outbox
    ) e left join orgs o on o.id = e.org_id left join alliances a on a.id = e.alliance_id
    where e.created_at >= ${since}::timestamptz
      -- The id contains the time, so only the partitions of those days are read. A day's slack allows for clock
      -- differences.
      and e.id >= uuid_v7_floor(greatest(${since}::timestamptz, '1970-01-02') - interval '1 day')
      and (${filter.event}::text is null or e.name = ${filter.event})
    order by e.id desc limit ${filter.limit}
  `.execute(executor);
  return rows;
}
