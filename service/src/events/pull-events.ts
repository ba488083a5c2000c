/** Lists the events that an app may have now, in fan-out order, so that a late commit is never skipped. */
import { sql, type Database, type LeftJoined } from '../database/database.ts';
import { invalid } from '../errors.ts';
import type { EventName } from './catalogue.ts';

type PulledEvent = {
  id: string;
  event: EventName;
  createdAt: string;
  /** The recorded JSON text. */
  data: string;
};
export type EventPage = {
  events: PulledEvent[];
  /** The next cursor, even if there are no more events yet; null if no event ever happened. */
  nextCursor: string | null;
  hasMore: boolean;
};
export type PullOptions = { after: string | null; limit: number; event: string | null };

/** Events read per page. An app that may have only a few of them continues from its cursor. */
const positionsPerPage = 10_000;

type EventRow = { id: string; name: EventName; created_at: Date; data: string; position: number };
type Row = { newest: number | null; start: number } & LeftJoined<EventRow>;

/** Throws `validation_failed` for an invalid cursor. */
export async function pullEvents(
  database: Database,
  appId: string,
  options: PullOptions,
): Promise<EventPage> {
  const after = options.after === null ? null : decodeCursor(options.after);
  const { rows } = await sql<Row>`
    select bounds.newest, bounds.start, page.*
    from (
      select (select max(position) from events) as newest,
        coalesce(${after}::bigint, (select min(position) - 1 from events), 0) as start
    ) bounds
    -- Read once, because a look-up per event would cost more than its row.
    left join bindings b on b.app_id = ${appId}
    left join lateral (
      select e.id, e.name, e.created_at, e.data, e.position
      from events e
      where e.position > bounds.start and e.position <= bounds.start + ${positionsPerPage}
        and ${options.event === null ? sql`true` : sql`e.name = ${options.event}`}
        and may_receive(e.audience, e.org_id, e.alliance_id, e.created_at,
          (select listed from orgs o where o.id = e.org_id), b.org_id, b.alliance_id, b.created_at)
      order by e.position limit ${options.limit + 1}
    ) page on true
    order by page.position
  `.execute(database);
  return toPage(rows, options.limit, options.after);
}

function toPage(rows: Row[], limit: number, after: string | null): EventPage {
  const found = rows.filter((row) => row.id !== null);
  const { newest = null, start = 0 } = rows[0] ?? {};
  if (newest === null) return { events: [], nextCursor: after, hasMore: false };
  const shown = found.slice(0, limit);
  const lastPosition =
    found.length > limit
      ? (shown.at(-1)?.position ?? start)
      : Math.max(start, Math.min(start + positionsPerPage, newest));
  return {
    events: shown.map(toEvent),
    nextCursor: encodeCursor(lastPosition),
    hasMore: lastPosition < newest,
  };
}

function toEvent(row: EventRow): PulledEvent {
  return {
    id: row.id,
    event: row.name,
    createdAt: row.created_at.toISOString(),
    data: row.data,
  };
}

function encodeCursor(position: number): string {
  return Buffer.from(`1:${position}`).toString('base64url');
}

function decodeCursor(cursor: string): number {
  const position = /^1:(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1];
  if (position !== undefined && encodeCursor(Number(position)) === cursor) return Number(position);
  throw invalid({
    path: 'query.after',
    message: 'must be the nextCursor of an earlier response',
  });
}
