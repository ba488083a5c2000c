import type { Config } from '../config.ts';
import { sql, type Database } from '../database/database.ts';
import { listMissingPartitions } from '../database/migrate.ts';
import { createQueueReader } from '../webhooks/queue/queue-state.ts';
import { failed, ok, warning, type Finding } from './finding.ts';

/** As /status has it: later than this is delayed. */
const lagWarningSeconds = 60;
/** With a worker at work, this is no backlog any more but something that does not work. */
const lagFailedSeconds = 600;
/** A lease that ran out is taken back within seconds. */
const leaseOverdueSeconds = 60;

/** Partitions, and whether deliveries flow. */
export async function checkQueue(database: Database, roles: Config['roles']): Promise<Finding[]> {
  const workers = await countWorkers(database);
  const state = await createQueueReader(database)();
  const lag = Math.max(state.oldestDueSeconds, await oldestWaitingSeconds(database));
  return [
    await checkPartitions(database),
    checkWorkers(workers, state.due + state.eventsWaiting, roles),
    checkLag(lag, { workers, due: state.due, waiting: state.eventsWaiting }),
    await checkLeases(database),
  ];
}

async function checkPartitions(database: Database): Promise<Finding> {
  const missing = await listMissingPartitions(database);
  if (missing.length === 0) return ok('partitions', "today's and tomorrow's are there");
  return failed(
    'partitions',
    `missing: ${missing.join(', ')}; nothing can be recorded on those days`,
    'start the service, or run: orgdir migrate',
  );
}

async function countWorkers(database: Database): Promise<number> {
  const { rows } = await sql<{ workers: number }>`
    select count(distinct (application_name, client_addr)) as workers from pg_stat_activity
    where datname = current_database() and application_name like 'orgdir worker, pid %'
  `.execute(database);
  return rows[0]?.workers ?? 0;
}

function checkWorkers(workers: number, waiting: number, roles: Config['roles']): Finding {
  if (workers > 0)
    return ok(
      'workers',
      workers === 1 ? 'one worker is connected' : `${workers} workers are connected`,
    );
  const advice = roles.has('worker')
    ? 'start the service: orgdir serve'
    : 'start a process whose ROLES hold worker';
  if (waiting > 0) return warning('workers', 'no worker is connected, and deliveries wait', advice);
  return ok('workers', 'no worker is connected, and nothing waits for one');
}

function checkLag(
  seconds: number,
  { workers, due, waiting }: { workers: number; due: number; waiting: number },
): Finding {
  const message = `${due} deliveries are due and ${waiting} events wait to be distributed, the oldest for ${Math.round(seconds)} s`;
  if (seconds <= lagWarningSeconds) return ok('queue', message);
  const advice =
    workers > 0
      ? 'see the log of the worker; where it is well, add another process with ROLES=worker'
      : 'start a worker';
  return seconds > lagFailedSeconds && workers > 0
    ? failed('queue', message, advice)
    : warning('queue', message, advice);
}

async function oldestWaitingSeconds(database: Database): Promise<number> {
  const { rows } = await sql<{ seconds: number | null }>`
    select extract(epoch from clock_timestamp() - created_at)::float8 as seconds
    from events where position is null and audience <> 'webhook' order by id limit 1
  `.execute(database);
  return rows[0]?.seconds ?? 0;
}

async function checkLeases(database: Database): Promise<Finding> {
  const { rows } = await sql<{ overdue: number }>`
    select count(*) as overdue from (
      select from leases where leased_until < clock_timestamp() - make_interval(secs => ${leaseOverdueSeconds}) limit 10000
    ) late
  `.execute(database);
  const overdue = rows[0]?.overdue ?? 0;
  if (overdue === 0) return ok('leases', 'none has run out');
  return warning(
    'leases',
    `${overdue} leases ran out and were not taken back: a worker died, and no other is at work`,
    'start a worker: it takes them back by itself',
  );
}
