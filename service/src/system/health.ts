/**
 * Keeps in memory what /status and the maintenance response need, and refreshes it: /status must respond while the
 * database is unavailable, and requests should not ask the database about maintenance.
 */
import type { Announcement, Status } from '../contract/status.ts';
import { withTextTimes } from '../contract/text-times.ts';
import { sql, type Database } from '../database/database.ts';
import type { Revisions } from '../database/revisions.ts';
import { createFloor } from '../runtime/floor.ts';
import { shownAnnouncements } from './announcements.ts';
import type { MaintenanceState } from './maintenance.ts';

export type Health = {
  /** The last known state; `database` becomes `unavailable` when a refresh could not confirm it in time. */
  snapshot(): Pick<Status, 'components' | 'counts' | 'maintenance' | 'announcements'>;
  start(): Promise<void>;
  stop(): Promise<void>;
};

const refreshMs = 1_000;
/** Two and a half refreshes. */
const staleAfterMs = 2_500;
const delayedAfterMs = 60_000;
/** Longer than a transaction can take that makes a delivery due. */
const lookBackMs = 20_000;
type Row = {
  message: string | null;
  since: Date | null;
  expectedEnd: Date | null;
  announcements: Announcement[];
  orgs: number;
  alliances: number;
  blueprints: number;
  blueprints_synced_at: Date | null;
  chat_synced_at: Date | null;
  oldest_due_ms: number | null;
  /** The queue's time before which no delivery waits. */
  due_floor: string;
};

export function createHealth(database: Database, revisions: Revisions): Health {
  let last: Row | null = null;
  let confirmedAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let running = false;
  let refreshing: Promise<void> | null = null;
  const due = createFloor(null);

  async function read(): Promise<void> {
    const startedAt = performance.now();
    try {
      const { from, reached } = due.look();
      last = (await readRow(database, from)) ?? last;
      if (last) reached(last.due_floor);
      confirmedAt = startedAt;
    } catch {
      // The snapshot shows it once it is stale.
    }
  }

  function refresh(): void {
    refreshing ??= read().finally(() => (refreshing = null));
  }

  revisions.onMove(() => {
    if (running) refresh();
  });

  return {
    snapshot: () => toSnapshot(last, performance.now() - confirmedAt < staleAfterMs),
    async start() {
      if (running) return;
      running = true;
      timer = setInterval(refresh, refreshMs);
      await read();
    },
    async stop() {
      running = false;
      clearInterval(timer);
      await refreshing;
    },
  };
}

async function readRow(database: Database, dueSince: string | null): Promise<Row | undefined> {
  const { rows } = await sql<Row>`
    with clock as materialized (select queue_now() as now),
    oldest as materialized (
      -- parked deliveries wait for their webhooks, which are slow or have failed
      select due_at from pending_deliveries
      where lease_token is null and not parked
        -- Rows that are gone but in somebody's snapshot stay at the head of the index, and are not stepped over again.
        and due_at >= coalesce(${dueSince}::timestamptz - ${sql.lit(lookBackMs)} * interval '1 millisecond', '-infinity')
      order by due_at limit 1
    )
    select m.message, m.since, m.expected_end as "expectedEnd", ${shownAnnouncements} as announcements, totals.*,
      (select max(finished_at) from sync_runs where kind = 'blueprints' and status = 'succeeded') as blueprints_synced_at,
      (select max(finished_at) from sync_runs where kind = 'chat' and status = 'succeeded') as chat_synced_at,
      (select extract(epoch from now - due_at)::float8 * 1000 from oldest, clock) as oldest_due_ms,
      (select least(now, (select due_at from oldest))::text from clock) as due_floor
    from (
      select coalesce(sum(entries) filter (where kind = 'orgs'), 0)::int8 as orgs,
        coalesce(sum(entries) filter (where kind = 'alliances'), 0)::int8 as alliances,
        coalesce(sum(entries) filter (where kind = 'blueprints'), 0)::int8 as blueprints
      from list_totals
    ) totals left join maintenance m on true
  `.execute(database);
  return rows[0];
}

function toSnapshot(row: Row | null, reachable: boolean): ReturnType<Health['snapshot']> {
  const deliveries = (row?.oldest_due_ms ?? 0) > delayedAfterMs ? 'delayed' : 'ok';
  return {
    maintenance: maintenanceOf(row),
    announcements: row?.announcements ?? [],
    components: {
      database: reachable ? 'ok' : 'unavailable',
      deliveries: reachable ? deliveries : 'unavailable',
      blueprintSync: { lastCompletedAt: row?.blueprints_synced_at?.toISOString() ?? null },
      chatSync: { lastCompletedAt: row?.chat_synced_at?.toISOString() ?? null },
    },
    counts: {
      orgs: row?.orgs ?? 0,
      alliances: row?.alliances ?? 0,
      blueprints: row?.blueprints ?? 0,
    },
  };
}

function maintenanceOf(row: Row | null): MaintenanceState | null {
  if (!row?.since) return null;
  const { message, since, expectedEnd } = row;
  return withTextTimes({ message, since, expectedEnd });
}
