/**
 * Lists the events that an app may have now, in fan-out order, so that a late commit is never skipped. Neither the pages nor
 * the time that they take depend on other events: each name is read by an index (`events_visible`) that leads past them.
 */
import { sql, type Database, type LeftJoined } from '../database/database.ts';
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
export type PullOptions = { after: string | null; limit: number; event: string | null };

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
  { after, limit, event }: PullOptions,
): Promise<EventPage> {
  const start = after === null ? 0 : decodeCursor(cursors, appId, after, 'query.after');
  const { events, hasMore } = await readEvents(database, appId, { start, limit, event });
  const last = events.at(-1);
  return {
    events,
    nextCursor: last ? cursors.encode(appId, last.position) : after,
    hasMore,
  };
}

/** The events after the position `start`. */
export async function readEvents(
  database: Database,
  appId: string,
  { start, limit, event }: { start: number; limit: number; event: string | null },
): Promise<{ events: PulledEvent[]; hasMore: boolean }> {
  const { rows } = await sql<EventRow>`
    ${eventsOf(appId, { isOnPage: sql`e.position > ${start}::bigint`, order: sql`e.position`, limit, event })}
  `.execute(database);
  return { events: rows.slice(0, limit).map(toEvent), hasMore: rows.length > limit };
}

export type RecentEvent = {
  id: string;
  name: EventName;
  created_at: Date;
} & LeftJoined<{ kind: 'organization' | 'alliance'; slug: string; subject: string }>;

/** The same events, newest first: those before an event, which is one of them. */
export async function recentEvents(
  database: Database,
  appId: string,
  { before, limit }: { before: string | null; limit: number },
): Promise<{ events: RecentEvent[]; hasMore: boolean }> {
  // Of an event that the app may not have, nobody learns whether it exists.
  const position = sql`
    select position from events f
    where id = ${before} and app_may_receive(f.audience, f.org_id, f.alliance_id, f.created_at, ${appId})
  `;
  const isOnPage = before === null ? sql`true` : sql`e.position < (${position})`;
  const newest = { isOnPage, order: sql`e.position desc`, limit, event: null };
  const { rows } = await sql<RecentEvent>`
    select e.id, e.name, e.created_at, s.*
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
};

/** One more than the limit. */
function eventsOf(appId: string, { isOnPage, order, limit, event }: Part) {
  return sql`
    select e.*
    -- All names of the database: while a newer version is rolled out, it has events that this one does not know.
    -- As an array, because PostgreSQL has no statistics of so small a table: it would expect a thousand names, and compile
    -- the statement for seconds.
    from unnest(array(select k from event_kinds k)) k
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
      order by ${order} limit ${limit + 1}
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
