/** Lists recorded events, newest first, for operators. */
import { sql, type Executor } from '../database/database.ts';

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
