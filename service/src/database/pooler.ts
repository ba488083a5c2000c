/**
 * Checks the addresses of a database: DATABASE_URL may lead to a pooler that shares its connections by transaction if
 * DATABASE_DIRECT_URL names the server behind it (docs/decisions/0038-database-servers.md).
 */
import type pg from 'pg';
import { directConnection, openClient, type ConnectionSettings } from './database.ts';
import { sessionSettings, speedSettings } from './session-settings.ts';

/** While other clients use the pooler, two transactions may get the same connection by chance. */
const triesMax = 5;
/** In the form of pgbouncer.ini, where a quote is written twice. */
export const connectQuery = Object.entries({ ...sessionSettings, ...speedSettings })
  .map(([name, value]) => `set ${name} = ${quoteIfNeeded(value)}`)
  .join('; ');

/** PgBouncer sends at most 506 bytes, so there are no quotes around words, numbers and lists of words. */
function quoteIfNeeded(value: string): string {
  return /^(\w+, )*([a-z]\w*|\d+)$/i.test(value) ? value : `''${value}''`;
}

/**
 * Why an address does not lead to a server that keeps sessions, and what to do; null if it does. `variable` names the
 * setting of the address. Throws if it cannot be reached.
 */
export async function findDirectFault(
  connection: ConnectionSettings,
  variable: string,
): Promise<string | null> {
  const direct = directConnection(connection);
  try {
    const isShared = await withClient(
      direct,
      async (one) =>
        (await isBehindPooler(one)) &&
        (await withClient(direct, (other) => sharesConnections(one, other))),
    );
    if (!isShared) return null;
  } catch (error) {
    // PgBouncer's refusal of settings that it would lose.
    if (!/unsupported startup parameter/.test((error as Error).message)) throw error;
  }
  const advice =
    variable === 'DATABASE_URL'
      ? 'set DATABASE_DIRECT_URL to the address of the PostgreSQL server behind it'
      : 'name the PostgreSQL server itself';
  return `${variable} leads to a pooler that does not keep sessions; ${advice}`;
}

/** Why DATABASE_URL does not lead to a suitable pooler of the server in DATABASE_DIRECT_URL; null if it does. */
export async function findPoolerFault(pooled: ConnectionSettings): Promise<string | null> {
  const server = await withClient(directConnection(pooled), readTarget);
  return withClient(pooled, async (one) => {
    const behind = await readTarget(one);
    if (server.system !== behind.system || server.database !== behind.database)
      return `DATABASE_DIRECT_URL points to another database (${server.database}) than DATABASE_URL (${behind.database}); name the same one of the same cluster`;
    if (!(await isBehindPooler(one)))
      return 'DATABASE_URL does not lead to a pooler, so DATABASE_DIRECT_URL is of no use; remove it';
    const missing = await listMissingSettings(one, sessionSettings);
    if (missing.length > 0) return describeMissing(missing);
    return withClient(pooled, (other) => findLimits(one, other));
  });
}

/** What a suitable pooler lacks to be fast; null if it lacks nothing. */
export function findPoolerAdvice(pooled: ConnectionSettings): Promise<string | null> {
  return withClient(pooled, async (client) => {
    const missing = await listMissingSettings(client, speedSettings);
    return missing.length > 0 ? describeMissing(missing) : null;
  });
}

function describeMissing(missing: string[]): string {
  return `the pooler in DATABASE_URL does not set ${missing.join(', ')}; add to the database in pgbouncer.ini: connect_query='${connectQuery}'`;
}

async function readTarget(client: pg.Client): Promise<{ system: string; database: string }> {
  const { rows } = await client.query<{ system: string; database: string }>(
    `select (select system_identifier::text from pg_control_system()) as system, current_database() as database`,
  );
  return rows[0] ?? { system: '', database: '' };
}

/** A pooler gives its clients process ids of its own. */
async function isBehindPooler(client: pg.Client): Promise<boolean> {
  return (await readPid(client)) !== (client as unknown as { processID: number }).processID;
}

/** A value that is right, but not the pooler's, is not enough: the role could get another one. */
async function listMissingSettings(
  client: pg.Client,
  wanted: Record<string, string>,
): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select wanted.name from json_each_text($1) as wanted (name, value)
     where current_setting(wanted.name) <> value or not exists (
       select from pg_settings s where lower(s.name) = wanted.name and s.source = 'session'
     )`,
    [JSON.stringify(wanted)],
  );
  return rows.map(({ name }) => name);
}

async function findLimits(one: pg.Client, other: pg.Client): Promise<string | null> {
  try {
    await sharesConnections(one, other);
    return null;
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    if (isUnprepared(code))
      return 'the pooler in DATABASE_URL does not support prepared statements; use PgBouncer 1.21 or later with max_prepared_statements = 200';
    if (/transaction blocks not allowed/.test(message))
      return 'the pooler in DATABASE_URL is in statement mode; set pool_mode = transaction';
    throw error;
  }
}

/** Whether a client gets another connection when a transaction of the other client has its last one. */
async function sharesConnections(one: pg.Client, other: pg.Client): Promise<boolean> {
  for (let tries = 1; tries <= triesMax; tries += 1) {
    const before = await readPid(one);
    await other.query('begin');
    await readPid(other);
    const isShared = (await readPid(one)) !== before;
    await other.query('rollback');
    if (isShared) return true;
  }
  return false;
}

/** Prepared, as are the statements of the service. */
async function readPid(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>({
    name: 'read_pid',
    text: 'select pg_backend_pid() as pid',
  });
  return rows[0]?.pid ?? 0;
}

/** invalid_sql_statement_name or duplicate_prepared_statement. */
function isUnprepared(code: string | undefined): boolean {
  return code === '26000' || code === '42P05';
}

async function withClient<T>(
  connection: ConnectionSettings,
  act: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = openClient(connection, { applicationName: `orgdir start, pid ${process.pid}` });
  client.on('error', () => {});
  try {
    await client.connect();
    return await act(client);
  } finally {
    await client.end().catch(() => {});
  }
}
