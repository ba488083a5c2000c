import type { Config } from '../config.ts';
import { sql, type Database } from '../database/database.ts';
import { listMissingPartitions } from '../database/migrate.ts';
import { countWorkers } from '../webhooks/queue/members.ts';
import { createQueueReader } from '../webhooks/queue/queue-state.ts';
import { failed, ok, warning, type Finding } from './finding.ts';

/** The threshold of /status for delayed deliveries. */
const lagWarningSeconds = 60;
/** With a running worker, such a lag is not a backlog but a fault. */
const lagFailedSeconds = 600;
/** A worker recovers an expired lease within seconds. */
const leaseOverdueSeconds = 60;

/** Checks the partitions and whether deliveries are sent in time. */
export async function checkQueue(database: Database, roles: Config['roles']): Promise<Finding[]> {
  const workers = await countWorkers(database);
  const state = await createQueueReader(database)();
  const lag = Math.max(state.oldestDueSeconds, state.oldestEventSeconds);
  return [
    await checkPartitions(database),
    checkWorkers(workers, state.due + state.eventsWaiting, roles),
    checkLag(lag, { workers, due: state.due, waiting: state.eventsWaiting }),
    await checkLeases(database),
  ];
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

function checkWorkers(workers: number, waiting: number, roles: Config['roles']): Finding {
  if (workers > 0)
    return ok('workers', workers === 1 ? 'one worker runs' : `${workers} workers run`);
  const advice = roles.has('worker')
    ? 'start the service: orgdir serve'
    : 'start a process with ROLES=worker';
  if (waiting > 0) return warning('workers', 'no worker runs, but deliveries are waiting', advice);
  return ok('workers', 'no worker runs, and none is needed now');
}

function checkLag(
  seconds: number,
  { workers, due, waiting }: { workers: number; due: number; waiting: number },
): Finding {
  const message = `${due} deliveries are due and ${waiting} events wait to be distributed, the oldest for ${Math.round(seconds)} s`;
  if (seconds <= lagWarningSeconds) return ok('queue', message);
  const advice =
    workers > 0
      ? 'check the log of the worker; if it has no errors, increase WORKERS, or add another process with ROLES=worker'
      : 'start a worker';
  return seconds > lagFailedSeconds && workers > 0
    ? failed('queue', message, advice)
    : warning('queue', message, advice);
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
