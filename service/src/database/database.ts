/** The connection to PostgreSQL: a pool for single statements, and the types that statements run on. */
import { Kysely, PostgresDialect, sql, type Transaction as KyselyTransaction } from 'kysely';
import pg from 'pg';
import { ServiceError } from '../errors.ts';
import { createPool } from './pool.ts';
import type { Primary } from './primary.ts';

export { sql };

type NoTables = Record<string, never>;
/** A pool, for single statements; `transaction` runs several as one. */
export type Database = Kysely<NoTables>;
/** An open transaction. Functions that take one do nothing outside it. */
export type Transaction = KyselyTransaction<NoTables>;
/** Reads run on the pool or in the caller's transaction. */
export type Executor = Database | Transaction;

/** The columns of a left join: of a row, or all null if there is none. */
export type LeftJoined<Row> = Row | { [Column in keyof Row]: null };

/** The settings that `pg` needs to connect. The password is nowhere else. */
export type ConnectionSettings = Pick<
  pg.ClientConfig,
  'connectionString' | 'host' | 'port' | 'user' | 'password' | 'database'
> & {
  /** Chooses among several hosts. */
  primary?: Primary;
};

/** All tables are in this schema, so that a platform can keep its own tables in the same database. */
const schemaSettings = '-c search_path=orgdir,public -c timezone=UTC';
/**
 * A server notices within 15 s that a client has vanished, as a client notices by `keepAliveInitialDelayMillis`: by
 * default it keeps the locks of a machine that was cut off for two hours.
 */
const keepAliveSettings =
  '-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=1 -c tcp_keepalives_count=10 -c tcp_user_timeout=15000';
const keepAliveDelayMs = 5_000;
const poolSize = 12;
const connectTimeoutMs = 5_000;
/** More than the slowest measured read, much less than a client waits. */
const statementTimeoutMs = 15_000;
/** The server ends a statement before this, so a connection that is still silent is dropped. */
const silenceAfterStatementMs = 5_000;

export type DatabaseOptions = {
  applicationName: string;
  poolSize?: number;
  statementTimeoutMs?: number;
  /** A connection that is not made, or has no response, by then is dropped. Default: some seconds after the statement's end. */
  responseTimeoutMs?: number;
  /** How long a transaction may wait for its next statement; without it, for ever. */
  idleInTransactionMs?: number;
  /** PostgreSQL settings, made in each transaction: they also hold behind a pooler that shares connections by transaction. */
  transactionSettings?: Record<string, string>;
};

/** For the service: a process that freezes between two statements must not keep its locks while it is frozen. */
export const shortTransactionMs = 5_000;

/** Opens a pool, which connects at the first statement. Close it with `destroy()`. */
export function openDatabase(connection: ConnectionSettings, options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    ...clientSettings(connection, options),
    ...(connection.primary && { Client: connection.primary.Client }),
    pipeline: options.transactionSettings !== undefined,
    max: options.poolSize ?? poolSize,
    idleTimeoutMillis: 30_000,
  });
  // A broken idle connection is replaced at the next statement; without a listener the error would end the process.
  pool.on('error', () => {});
  // The same for a connection that breaks between two statements of a transaction: the next statement fails.
  pool.on('connect', (client) => client.on('error', () => {}));
  return new Kysely<NoTables>({
    dialect: new PostgresDialect({ pool: createPool(pool, options.transactionSettings) }),
  });
}

/** A single connection, for listening and for long-lived locks. The caller connects and ends it. */
export function openClient(connection: ConnectionSettings, options: DatabaseOptions): pg.Client {
  const Client = connection.primary?.Client ?? pg.Client;
  return new Client(clientSettings(connection, options));
}

function clientSettings(connection: ConnectionSettings, options: DatabaseOptions): pg.ClientConfig {
  return {
    ...connection,
    application_name: options.applicationName,
    connectionTimeoutMillis: options.responseTimeoutMs ?? connectTimeoutMs,
    ...timeouts(options.responseTimeoutMs ?? options.statementTimeoutMs ?? statementTimeoutMs),
    ...(options.responseTimeoutMs && { query_timeout: options.responseTimeoutMs }),
    ...(options.idleInTransactionMs === undefined
      ? {}
      : { idle_in_transaction_session_timeout: options.idleInTransactionMs }),
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveDelayMs,
    options: `${schemaSettings} ${keepAliveSettings}`,
    types: { getTypeParser },
  };
}

function timeouts(ms: number): Pick<pg.ClientConfig, 'statement_timeout' | 'query_timeout'> {
  return ms === 0
    ? { statement_timeout: 0 }
    : { statement_timeout: ms, query_timeout: ms + silenceAfterStatementMs };
}

// Counts and positions stay far below 2^53; `pg` returns them as strings by default.
const int8 = 20;
export function getTypeParser(oid: number, format?: 'text' | 'binary') {
  if (oid === int8 && format !== 'binary') return Number;
  // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- PostgreSQL has more types than the enum names
  return pg.types.getTypeParser(oid, format);
}

const connectionFaults = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  // read_only_sql_transaction: the server is, or has become, a standby
  '25006',
  // admin_shutdown, crash_shutdown, cannot_connect_now, too_many_connections, query_canceled
  '57P01',
  '57P02',
  '57P03',
  '53300',
  '57014',
]);

/** Whether an error means that the database cannot be reached, as opposed to a faulty statement. */
export function isConnectionFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string' && (connectionFaults.has(code) || code.startsWith('08')))
    return true;
  return (
    /^(Connection terminated|Query read timeout|Client was closed|timeout exceeded when trying to connect|timeout expired|Client has encountered a connection error)/.test(
      error.message,
    ) || isConnectionFault(error.cause)
  );
}

/** Whether a statement was cancelled because it took too long. */
export function isStatementTimeout(error: unknown): boolean {
  return (error as { code?: unknown }).code === '57014';
}

/** The name of the constraint that a write violated (class 23 of PostgreSQL's codes), or null. */
export function violatedConstraint(error: unknown): string | null {
  const { code, constraint } = error as { code?: string; constraint?: string };
  return code?.startsWith('23') ? (constraint ?? '') : null;
}

export function unavailable(cause: unknown): ServiceError {
  return new ServiceError('unavailable', undefined, { headers: { 'retry-after': '5' }, cause });
}
