import { sql, type Database } from '../database/database.ts';
import { oldestServer } from '../database/migrate.ts';
import { failed, ok, warning, type Finding } from './finding.ts';

/** `isUsable`: it answers, and further looks at it make sense. */
type Checked = { isUsable: boolean; findings: Finding[] };

type Row = {
  number: number;
  version: string;
  encoding: string;
  standby: boolean;
  time_ms: number;
  trigrams: 'installed' | 'available' | 'missing';
  migrated: boolean;
};

/** Below this, clocks that are kept by NTP differ. */
const clockWarningMs = 5_000;
/** Receivers refuse a delivery whose time differs from theirs by five minutes; half of that is ours to use up. */
const clockFailedMs = 150_000;

/** The server: whether it answers, its version, encoding, extension and clock. */
export async function checkServer(
  database: Database,
  databaseUrl: string | null,
  now: () => number,
): Promise<Checked> {
  const asked = await ask(database, now).catch((error: unknown) => error as Error);
  if (asked instanceof Error) return { isUsable: false, findings: [explain(asked, databaseUrl)] };
  const { row, clockDifferenceMs } = asked;
  const unusable = faultOf(row);
  const where = databaseUrl === null ? 'embedded' : shownAddress(databaseUrl);
  return {
    isUsable: unusable === null,
    findings: [
      unusable ?? ok('database', `PostgreSQL ${row.version}, ${row.encoding}, ${where}`),
      checkExtension(row),
      checkClock(clockDifferenceMs),
    ],
  };
}

async function ask(database: Database, now: () => number) {
  // The first connection takes its time, which is none of the clock's.
  await sql`select`.execute(database);
  const before = now();
  const { rows } = await sql<Row>`
    select current_setting('server_version_num')::int as number, current_setting('server_version') as version,
      current_setting('server_encoding') as encoding, pg_is_in_recovery() as standby,
      extract(epoch from clock_timestamp())::float8 * 1000 as time_ms,
      case when exists (select from pg_extension where extname = 'pg_trgm') then 'installed'
        when exists (select from pg_available_extensions where name = 'pg_trgm') then 'available'
        else 'missing' end as trigrams,
      to_regclass('orgdir.orgs') is not null as migrated
  `.execute(database);
  const [row] = rows;
  if (!row) throw new Error('the server said nothing about itself');
  return { row, clockDifferenceMs: row.time_ms - (before + now()) / 2 };
}

/** Why such a server cannot be used, or null. */
export function faultOf({
  number,
  version,
  encoding,
  standby,
}: Omit<Row, 'time_ms' | 'trigrams' | 'migrated'>): Finding | null {
  if (number < oldestServer)
    return failed('database', `PostgreSQL ${version} is too old`, 'use PostgreSQL 15 or later');
  if (encoding !== 'UTF8')
    return failed(
      'database',
      `the database has the encoding ${encoding}`,
      "create one with: create database orgdir encoding 'UTF8' template template0",
    );
  if (standby)
    return failed(
      'database',
      'the server is a standby, which takes no writes',
      'let DATABASE_URL lead to the primary',
    );
  return null;
}

export function checkExtension({
  trigrams,
  migrated,
}: Pick<Row, 'trigrams' | 'migrated'>): Finding {
  if (trigrams === 'installed') return ok('extensions', 'pg_trgm is there');
  if (trigrams === 'available' && migrated)
    return failed(
      'extensions',
      'pg_trgm was taken out of the database, and search went with it',
      'bring the database back from a backup, or: create extension pg_trgm, and make the indexes again that schema.sql names',
    );
  if (trigrams === 'available')
    return ok('extensions', 'pg_trgm can be had; the first migration makes it');
  return failed(
    'extensions',
    'the server lacks pg_trgm, which search needs',
    "install PostgreSQL's contrib modules there (on Debian they are in the package of the server)",
  );
}

function checkClock(differenceMs: number): Finding {
  const seconds = (Math.abs(differenceMs) / 1000).toFixed(1);
  const side = differenceMs > 0 ? 'ahead of' : 'behind';
  const message = `the database's clock is ${seconds} s ${side} this machine's`;
  const advice =
    'let both be kept by NTP: the times that are signed are from here, those that deliveries are due at from there';
  if (Math.abs(differenceMs) > clockFailedMs) return failed('clock', message, advice);
  if (Math.abs(differenceMs) > clockWarningMs) return warning('clock', message, advice);
  return ok('clock', `the database's clock and this machine's agree to ${seconds} s`);
}

function explain(error: Error, databaseUrl: string | null): Finding {
  // Several addresses of one host that all refuse come as one error without words.
  const first = (error instanceof AggregateError ? error.errors[0] : error) as {
    code?: string;
    message: string;
  };
  const where = databaseUrl === null ? 'the embedded database' : shownAddress(databaseUrl);
  const reason = first.message.split('\n')[0];
  return failed(
    'database',
    `${where} cannot be used${first.code ? ` (${first.code})` : ''}: ${reason}`,
    advice[first.code ?? ''] ?? 'check DATABASE_URL, and whether the server runs',
  );
}

const advice: Record<string, string> = {
  ECONNREFUSED: 'start PostgreSQL there, or mend host and port in DATABASE_URL',
  ENOENT: 'start PostgreSQL there, or mend the socket in DATABASE_URL',
  ENOTFOUND: 'mend the host in DATABASE_URL',
  ETIMEDOUT: 'check host and port in DATABASE_URL, and whether a firewall is between',
  '28P01': 'mend user and password in DATABASE_URL; percent-encode what is special in them',
  '28000': 'let pg_hba.conf allow this user from here',
  '3D000': "create it, for example with: create database orgdir encoding 'UTF8' template template0",
  '53300': 'let max_connections of the server be larger: a process of the service uses up to 26',
};

/** Where it leads, without user, password and options. */
function shownAddress(databaseUrl: string): string {
  const url = URL.parse(databaseUrl);
  const host = url?.hostname || url?.searchParams.get('host') || 'localhost';
  return `${host}${url?.port ? `:${url.port}` : ''}${url?.pathname ?? ''}`;
}
