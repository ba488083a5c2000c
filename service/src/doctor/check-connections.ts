import type { Config } from '../settings/config.ts';
import { sql, type Database } from '../database/database.ts';
import { ok, skipped, warning, type Finding } from './finding.ts';

/** Of a process with both roles: docs/operations.md#deployment */
export const connectionsMax = { process: 29, api: 23, worker: 11 };

/** Checks that the server accepts as many connections as a service with WORKERS opens. */
export async function checkConnections(
  database: Database,
  { databaseDirectUrl, workers }: Pick<Config, 'databaseDirectUrl' | 'workers'>,
): Promise<Finding> {
  if (databaseDirectUrl !== null)
    return skipped(
      'connections',
      'not checked: the pooler limits them, and each process has one more',
    );
  const { rows } = await sql<{ accepted: number }>`
    select least(
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
      -- -1 is no limit.
      (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user),
      (select nullif(datconnlimit, -1) from pg_database where datname = current_database())
    ) as accepted
  `.execute(database);
  const accepted = rows[0]?.accepted ?? 0;
  const needed =
    workers === 1 ? connectionsMax.process : connectionsMax.api + workers * connectionsMax.worker;
  const message = `this service opens up to ${needed} connections, and the server accepts ${accepted}`;
  if (needed <= accepted) return ok('connections', message);
  return warning(
    'connections',
    message,
    'increase max_connections of the server, or the connection limit of its role or database, or lower WORKERS',
  );
}

/** Requests of an API process that read all of history at once, such as pulls of events. */
const readersAtOnce = 4;

/** Checks that the server can lock every day of history as often as the service may ask for it. */
export async function checkLocks(
  database: Database,
  { databaseUrl }: Pick<Config, 'databaseUrl'>,
): Promise<Finding> {
  const { rows } = await sql<{ days: number; perReader: number; accepted: number }>`
    select count(*) filter (where p.relname = 'events') as days, (count(*) + sum(indexes.count))::int8 as "perReader",
      current_setting('max_locks_per_transaction')::int
        * (current_setting('max_connections')::int + current_setting('max_prepared_transactions')::int) as accepted
    from pg_inherits i join pg_class p on p.oid = i.inhparent
    cross join lateral (select count(*) as count from pg_index where indrelid = i.inhrelid) indexes
    where p.relnamespace = to_regnamespace('orgdir') and p.relname in ('events', 'deliveries', 'attempts') and p.relkind = 'p'
  `.execute(database);
  const { days = 0, perReader = 0, accepted = 0 } = rows[0] ?? {};
  const message = `reading ${days} days of history takes up to ${perReader} locks, and the server has ${accepted} for all`;
  if (readersAtOnce * perReader <= accepted) return ok('locks', message);
  return warning(
    'locks',
    message,
    `${databaseUrl === null ? 'lower RETENTION_DAYS, or move to a PostgreSQL of your own' : 'increase max_locks_per_transaction of the server, or lower RETENTION_DAYS'}; otherwise statements fail with "out of shared memory"`,
  );
}
