/** Checks the database server: its connection, limits and schema. */
import { describeConnectFault } from '../database/primary.ts';
import { sql, type Database } from '../database/database.ts';
import { oldestServer, compareMigrations, fromBefore, startEmpty } from '../database/migrate.ts';
import { failed, ok, warning, type Finding, skipped } from './finding.ts';
import type { Config } from '../settings/config.ts';

/** `isUsable`: the server responds, so further checks make sense. */
type Checked = { isUsable: boolean; findings: Finding[] };

type Row = {
  number: number;
  version: string;
  encoding: string;
  readOnly: boolean;
  time_ms: number;
};

/** Of a process with both roles: docs/operations.md#deployment */
const connectionsMax = { process: 29, api: 23, worker: 11 };

/** Clocks that NTP keeps differ by less than this. */
const clockWarningMs = 5_000;
/** Receivers refuse a delivery whose time differs from theirs by five minutes; this allows us half of that. */
const clockFailedMs = 150_000;

/** Checks the server's connection, version, encoding and clock. */
export async function checkServer(
  database: Database,
  databaseUrl: string | null,
  now: () => number,
): Promise<Checked> {
  const result = await queryServer(database, now).catch((error: unknown) => error as Error);
  if (result instanceof Error)
    return { isUsable: false, findings: [connectionFinding(result, databaseUrl)] };
  const { row, clockDifferenceMs } = result;
  const unusable = checkUsable(row);
  const where = databaseUrl === null ? 'embedded' : formatAddress(databaseUrl);
  return {
    isUsable: unusable === null,
    findings: [
      unusable ?? ok('database', `PostgreSQL ${row.version}, ${row.encoding}, ${where}`),
      checkClock(clockDifferenceMs),
    ],
  };
}

async function queryServer(database: Database, now: () => number) {
  // The time to connect must not count as a clock difference.
  await sql`select`.execute(database);
  const before = now();
  const { rows } = await sql<Row>`
    select current_setting('server_version_num')::int as number, current_setting('server_version') as version,
      current_setting('server_encoding') as encoding, current_setting('transaction_read_only')::boolean as "readOnly",
      extract(epoch from clock_timestamp())::float8 * 1000 as time_ms
  `.execute(database);
  const [row] = rows;
  if (!row) throw new Error('the server returned no information');
  return { row, clockDifferenceMs: row.time_ms - (before + now()) / 2 };
}

/** The failed finding of an unusable server, or null. */
export function checkUsable({
  number,
  version,
  encoding,
  readOnly,
}: Omit<Row, 'time_ms'>): Finding | null {
  if (number < oldestServer)
    return failed('database', `PostgreSQL ${version} is too old`, 'use PostgreSQL 15 or later');
  if (encoding !== 'UTF8')
    return failed(
      'database',
      `the database has the encoding ${encoding}`,
      "create one with: create database orgdir encoding 'UTF8' template template0",
    );
  if (readOnly)
    return failed(
      'database',
      'the database accepts no writes: the server is a standby, or default_transaction_read_only is on',
      'set DATABASE_URL to the primary, or switch that setting off for the role and the database',
    );
  return null;
}

function checkClock(differenceMs: number): Finding {
  const seconds = (Math.abs(differenceMs) / 1000).toFixed(1);
  const side = differenceMs > 0 ? 'ahead of' : 'behind';
  const message = `the database's clock is ${seconds} s ${side} this machine's`;
  const advice =
    'keep both clocks correct with NTP: everything goes by the clock of the database, except the certificates of receivers and providers';
  if (Math.abs(differenceMs) > clockFailedMs) return failed('clock', message, advice);
  if (Math.abs(differenceMs) > clockWarningMs) return warning('clock', message, advice);
  return ok('clock', `the database's clock and this machine's agree to ${seconds} s`);
}

function connectionFinding(error: Error, databaseUrl: string | null): Finding {
  const { code, reason } = describeConnectFault(error);
  const where = databaseUrl === null ? 'the embedded database' : formatAddress(databaseUrl);
  return failed(
    'database',
    `${where} cannot be used${code ? ` (${code})` : ''}: ${reason}`,
    advice[code ?? ''] ?? 'check DATABASE_URL, and that the server runs',
  );
}

const advice: Record<string, string> = {
  ECONNREFUSED: 'start PostgreSQL there, or fix host and port in DATABASE_URL',
  ENOENT: 'start PostgreSQL there, or fix the socket in DATABASE_URL',
  ENOTFOUND: 'fix the host in DATABASE_URL',
  ETIMEDOUT: 'check host and port in DATABASE_URL, and any firewall between',
  '28P01': 'fix user and password in DATABASE_URL; percent-encode special characters in them',
  '28000': 'allow this user and machine in pg_hba.conf',
  '3D000': "create it, for example with: create database orgdir encoding 'UTF8' template template0",
  '53300': `increase max_connections of the server: a process of the service uses up to ${connectionsMax.process}, and with WORKERS up to ${connectionsMax.api} and ${connectionsMax.worker} for each worker`,
};

/** The address without user, password and options. */
function formatAddress(databaseUrl: string): string {
  const url = URL.parse(databaseUrl);
  const host = url?.hostname || url?.searchParams.get('host') || 'localhost';
  return `${host}${url?.port ? `:${url.port}` : ''}${url?.pathname ?? ''}`;
}

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

/** `isComplete`: the schema has everything that this version needs. */
export async function checkMigrations(
  database: Database,
): Promise<{ isComplete: boolean; findings: Finding[] }> {
  const differences = await compareMigrations(database);
  const { missing, changed, newer, unusable, beforeBaseline } = differences;
  if (beforeBaseline) {
    const finding = failed('migrations', `this database ${fromBefore}`, startEmpty);
    return { isComplete: false, findings: [finding] };
  }
  const findings: Finding[] = [];
  if (changed.length > 0)
    findings.push(
      failed(
        'migrations',
        `changed after they were applied: ${changed.join(', ')}`,
        'restore the files of the release',
      ),
    );
  if (unusable.length > 0)
    findings.push(
      failed(
        'migrations',
        `a newer version of the service has removed what this version uses: ${unusable.join(', ')}`,
        'run that version or a later one',
      ),
    );
  else if (newer.length > 0)
    findings.push(
      warning(
        'migrations',
        `a newer version of the service has migrated this database, and this version can still run: ${newer.join(', ')}`,
        'upgrade this process too',
      ),
    );
  if (missing.length > 0)
    findings.push(
      warning(
        'migrations',
        `not applied yet: ${missing.join(', ')}`,
        'start the service, or run: orgdir migrate',
      ),
    );
  if (findings.length === 0) findings.push(ok('migrations', 'all migrations are applied'));
  return { isComplete: missing.length === 0, findings };
}
