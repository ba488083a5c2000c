/**
 * Keeps in memory what /status and the maintenance response need, and refreshes it: /status must respond while the
 * database is unavailable, and requests should not ask the database about maintenance. `createReadinessCheck` says whether this
 * process can work.
 */
import type { Announcement, Status } from '../contract/status.ts';
import { withTextTimes } from '../contract/parse-time.ts';
import { arrayLiteral } from '../database/array-literal.ts';
import { sql, type Database } from '../database/database.ts';
import type { Revisions } from '../database/revisions.ts';
import { subscribableEvents } from '../events/catalogue.ts';
import { createFloor } from '../runtime/floor.ts';
import { shownAnnouncements } from './announcements.ts';
import type { MaintenanceState } from './maintenance.ts';
import { listMigrations, listApplied } from '../database/migrate.ts';
import { coalesce } from '../database/coalesce.ts';

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
  oldest_event_ms: number | null;
  /** The queue's time before which no delivery waits. */
  due_floor: string;
  /** The `xid` below which no event waits. */
  event_floor: string;
};

export function createHealth(database: Database, revisions: Revisions): Health {
  let last: Row | null = null;
  let confirmedAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let running = false;
  let refreshing: Promise<void> | null = null;
  const due = createFloor(null);
  const events = createFloor('0');

  async function read(): Promise<void> {
    const startedAt = performance.now();
    try {
      const looks = { due: due.look(), events: events.look() };
      last = (await readRow(database, looks.due.from, looks.events.from)) ?? last;
      if (last) {
        looks.due.reached(last.due_floor);
        looks.events.reached(last.event_floor);
      }
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

async function readRow(
  database: Database,
  dueSince: string | null,
  eventsSince: string,
): Promise<Row | undefined> {
  const { rows } = await sql<Row>`
    with clock as materialized (select queue_now() as now),
    oldest as materialized (
      -- parked deliveries wait for their webhooks, which are slow or have failed
      select due_at from pending_deliveries
      where lease_token is null and not parked
        -- Rows that are gone but in somebody's snapshot stay at the head of the index, and are not stepped over again.
        and due_at >= coalesce(${dueSince}::timestamptz - ${sql.lit(lookBackMs)} * interval '1 millisecond', '-infinity')
      order by due_at limit 1
    ),
    event as materialized (
      select xid, created_at from outbox where xid >= ${eventsSince}::xid8 order by xid limit 1
    ),
    entry as materialized (
      select xid, created_at from published_events
      -- An event that only a newer version knows waits for that version.
      where rejected_at is null and name = any(${arrayLiteral(subscribableEvents)}::text[]) and xid >= ${eventsSince}::xid8
      order by xid limit 1
    )
    select m.message, m.since, m.expected_end as "expectedEnd", ${shownAnnouncements} as announcements, totals.*,
      (select max(finished_at) from sync_runs where kind = 'blueprints' and status = 'succeeded') as blueprints_synced_at,
      (select max(finished_at) from sync_runs where kind = 'chat' and status = 'succeeded') as chat_synced_at,
      (select extract(epoch from now - due_at)::float8 * 1000 from oldest, clock) as oldest_due_ms,
      -- Without a worker, events become no deliveries. With one, they only wait their turn, also those of a long import.
      (select extract(epoch from now - least((select created_at from event), (select created_at from entry)))::float8 * 1000
       from clock
       where not exists (select from workers where seen_at > now - ${sql.lit(delayedAfterMs)} * interval '1 millisecond')
      ) as oldest_event_ms,
      (select least(now, (select due_at from oldest))::text from clock) as due_floor,
      -- All transactions below the snapshot's xmin have ended, so nothing new can appear there.
      least((select xid from event), (select xid from entry), pg_snapshot_xmin(pg_current_snapshot()))::text as event_floor
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
  const oldestMs = Math.max(row?.oldest_due_ms ?? 0, row?.oldest_event_ms ?? 0);
  const deliveries = oldestMs > delayedAfterMs ? 'delayed' : 'ok';
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

export type Readiness =
  | { kind: 'ready' }
  /** `migrations` are the missing ones. */
  | { kind: 'outdated'; migrations: string[] }
  | { kind: 'unreachable' }
  /** `indexes` are those that are not loaded yet. */
  | { kind: 'loading'; indexes: string[] }
  | { kind: 'stopping' };

export type ReadinessCheck = {
  check(): Promise<Readiness>;
  /** From now on the process is not ready, so that load balancers stop sending requests. */
  stop(): void;
};

/** Shorter than the usual probe timeout of a second. One check serves all probes within a moment. */
const bounds = { timeoutMs: 900, reuseMs: 100 };
/** If the indexes cannot be loaded although the database responds, the rest of the API is better than nothing. */
export const failingMaxMs = 60_000;
type Loading = { indexes: string[]; failingSince: number | null };

/**
 * Says whether this process can work: the database responds, has every migration that this version needs, and the first
 * load of the search indexes after the start is over. `readLoading` returns the indexes that this process needs and
 * has not loaded since its start, and since when that fails.
 */
export function createReadinessCheck(
  database: Database,
  readLoading: () => Loading = () => ({ indexes: [], failingSince: null }),
  now = () => performance.now(),
): ReadinessCheck {
  // Additional migrations of a newer version are fine: both versions run while one replaces the other.
  const needed = listMigrations();
  needed.catch(() => {});
  let stopping = false;
  /** Since when the database responds. */
  let respondsSince: number | null = null;
  const findMissing = coalesce(async () => {
    const applied = new Set(await listApplied(database));
    return (await needed).filter((name) => !applied.has(name));
  }, bounds);
  return {
    async check() {
      if (stopping) return { kind: 'stopping' };
      try {
        const migrations = await findMissing();
        if (migrations.length > 0) return { kind: 'outdated', migrations };
        respondsSince ??= now();
        const { indexes, failingSince } = readLoading();
        const failingMs = now() - Math.max(failingSince ?? Infinity, respondsSince);
        return indexes.length > 0 && failingMs < failingMaxMs
          ? { kind: 'loading', indexes }
          : { kind: 'ready' };
      } catch {
        respondsSince = null;
        return { kind: 'unreachable' };
      }
    },
    stop() {
      stopping = true;
    },
  };
}
