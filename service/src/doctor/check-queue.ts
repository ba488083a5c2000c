import { setTimeout as wait } from 'node:timers/promises';
import type { Config } from '../settings/config.ts';
import { sql, type Database } from '../database/database.ts';
import { listMissingPartitions } from '../database/migrate.ts';
import { subscribableEvents } from '../events/catalogue.ts';
import type { QueueState } from '../runtime/metrics.ts';
import { countWorkers } from '../webhooks/queue/workers.ts';
import { findOverdueDay, listHolders } from '../webhooks/history/retention.ts';
import { createQueueReader } from '../system/queue-state.ts';
import { failed, ok, warning, type Finding } from './finding.ts';

/** The threshold of /status for delayed deliveries. */
const lagWarningSeconds = 60;
/** With a running worker, a delivery that is due for so long and is still not sent is a fault. */
const lagFailedSeconds = 600;
/** Days are dropped within an hour. */
const overdueWarningSeconds = 7_200;
/** That of the alert. */
const overdueFailedSeconds = 86_400;
/** A worker recovers an expired lease within seconds. */
const leaseOverdueSeconds = 60;

/** Counts stop here. */
const rejectedMax = 10_000;
/** Longer than a look of any worker for new events. */
const watchMs = 2_000;

/** Checks the partitions, whether deliveries are sent in time, and whether rows were set aside. */
export async function checkQueue(
  database: Database,
  { roles, retentionDays }: Pick<Config, 'roles' | 'retentionDays'>,
): Promise<Finding[]> {
  const workers = await countWorkers(database);
  const read = createQueueReader(database, retentionDays);
  const state = await read();
  const isLate = Math.max(state.oldestDueSeconds, state.oldestEventSeconds) > lagWarningSeconds;
  const stuck = workers > 0 && isLate ? await findStuck(database, read) : null;
  return [
    await checkPartitions(database),
    await checkRetention(database, retentionDays),
    checkWorkers(workers, state.due + state.eventsWaiting, roles),
    stuck ?? checkLag(state, workers),
    await checkLeases(database),
    checkSetAside(state, await countRejected(database)),
  ];
}

/** Fails if the first event or delivery stays although others could go. A backlog that shrinks has another first one. */
async function findStuck(
  database: Database,
  read: () => Promise<QueueState>,
): Promise<Finding | null> {
  const [before, due] = [await readWaiting(database), await read()];
  await wait(watchMs);
  const [after, stillDue] = [await readWaiting(database), await read()];
  // If events were distributed a moment ago, it waits for room, unless others overtake it.
  const waitsForRoom = after.isMoving && after.position === before.position && !after.isEntry;
  if (after.id !== null && after.id === before.id && !waitsForRoom)
    return failed(
      'queue',
      `the first waiting event, ${after.id}, has not moved for a minute, although others could`,
      'check the log of the worker for worker.failed, and whether a session has locked the event',
    );
  const grownSeconds = stillDue.oldestDueSeconds - due.oldestDueSeconds;
  if (due.oldestDueSeconds <= lagFailedSeconds || grownSeconds < watchMs / 2_000) return null;
  return failed(
    'queue',
    `${due.due} deliveries are due, and the oldest is not sent, ${formatSeconds(due)} after it was due`,
    'check the log of the worker; if it has no errors, increase WORKERS, or add another process with ROLES=worker',
  );
}

type Waiting = {
  /** Of the first event that has waited for a minute. */
  id: string | null;
  /** Whether it waits for intake. */
  isEntry: boolean;
  /** Of the last event that was distributed, and whether that was within a minute. */
  position: number | null;
  isMoving: boolean;
};

async function readWaiting(database: Database): Promise<Waiting> {
  const { rows } = await sql<Waiting>`
    with clock as materialized (select queue_now() - make_interval(secs => ${lagWarningSeconds}) as minute_ago)
    select first.id, coalesce(first.is_entry, false) as "isEntry", last.position, coalesce(last.fanned_out_at > minute_ago, false) as "isMoving"
    from clock
    left join lateral (
      select * from (
        (select id, created_at, false as is_entry from outbox order by xid, id limit 1)
        union all
        (select id, created_at, true from published_events
         where rejected_at is null and name = any(${subscribableEvents}::text[]) order by xid, id limit 1)
      ) firsts
      where created_at < minute_ago order by created_at limit 1
    ) first on true
    left join lateral (
      select position, fanned_out_at from events where position is not null order by position desc limit 1
    ) last on true
  `.execute(database);
  if (!rows[0]) throw new Error('the queue was not read');
  return rows[0];
}

/** Events published by SQL that do not fit the catalogue. */
async function countRejected(database: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) from (select from published_events where rejected_at is not null limit ${rejectedMax}) rejected
  `.execute(database);
  return rows[0]?.count ?? 0;
}

function checkSetAside({ setAside, setAsideExpiring }: QueueState, rejected: number): Finding {
  const counts = Object.entries(setAside).map(([stage, rows]) => `${rows} by ${stage}`);
  if (rejected > 0) counts.push(`${rejected} by intake`);
  if (setAsideExpiring > 0) counts.push(`${setAsideExpiring} are dropped within a day`);
  if (counts.length === 0) return ok('set_aside', 'no row was refused');
  return warning(
    'set_aside',
    `rows were refused and wait: ${counts.join(', ')}`,
    'list them with orgdir events list --rejected, fix the cause, then run orgdir events retry --all',
  );
}

async function checkPartitions(database: Database): Promise<Finding> {
  const missing = await listMissingPartitions(database);
  if (missing.length === 0) return ok('partitions', "today's and tomorrow's exist");
  return failed(
    'partitions',
    `missing: ${missing.join(', ')}; nothing can be recorded on those days`,
    'start the service, or run: orgdir migrate',
  );
}

async function checkRetention(database: Database, retentionDays: number): Promise<Finding> {
  const overdue = await findOverdueDay(database, retentionDays);
  if (!overdue || overdue.overdueSeconds < overdueWarningSeconds)
    return ok('retention', 'no day past retention waits to be dropped');
  const { day, overdueSeconds } = overdue;
  const holders = await listHolders(database, overdue);
  const message = `${day} has been past retention for ${Math.round(overdueSeconds / 3_600)} h, and nothing needs it${holders && `; its tables are locked by ${holders}`}`;
  const advice = holders
    ? 'end those sessions: select pg_terminate_backend(pid); for a prepared transaction: rollback prepared'
    : 'start a worker; if one runs, see worker.failed, loop partitions, and partitions.kept in its log';
  return overdueSeconds > overdueFailedSeconds
    ? failed('retention', message, advice)
    : warning('retention', message, advice);
}

function checkWorkers(workers: number, waiting: number, roles: Config['roles']): Finding {
  if (workers > 0)
    return ok('workers', workers === 1 ? 'one worker runs' : `${workers} workers run`);
  const advice = roles.has('worker')
    ? 'start the service: orgdir serve'
    : 'start a process with ROLES=worker';
  if (waiting > 0) return warning('workers', 'no worker runs, but deliveries are waiting', advice);
  return ok('workers', 'no worker runs, and none is needed now');
}

function checkLag(state: QueueState, workers: number): Finding {
  const { due, eventsWaiting, oldestDueSeconds, oldestEventSeconds } = state;
  const message = `${due} deliveries are due and ${eventsWaiting} events wait to be distributed, the oldest for ${formatSeconds(state)}`;
  if (Math.max(oldestDueSeconds, oldestEventSeconds) <= lagWarningSeconds)
    return ok('queue', message);
  return warning(
    'queue',
    message,
    workers > 0
      ? 'check the log of the worker; if it has no errors, increase WORKERS, or add another process with ROLES=worker'
      : 'start a worker',
  );
}

function formatSeconds({ oldestDueSeconds, oldestEventSeconds }: QueueState): string {
  return `${Math.round(Math.max(oldestDueSeconds, oldestEventSeconds))} s`;
}

async function checkLeases(database: Database): Promise<Finding> {
  const { rows } = await sql<{ overdue: number }>`
    select count(*) as overdue from (
      select from pending_deliveries
      where lease_token is not null and due_at < clock_timestamp() - make_interval(secs => ${leaseOverdueSeconds}) limit 10000
    ) late
  `.execute(database);
  const overdue = rows[0]?.overdue ?? 0;
  if (overdue === 0) return ok('leases', 'none has expired');
  return warning(
    'leases',
    `${overdue} leases expired and were not recovered: a worker died, and no other is running`,
    'start a worker, which recovers them',
  );
}
