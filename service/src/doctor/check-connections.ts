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
