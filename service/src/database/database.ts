/** The connection to PostgreSQL: a pool for single statements, and the types that statements run on. */
import { Kysely, PostgresDialect, sql, type Transaction as KyselyTransaction } from 'kysely';
import pg from 'pg';
import { uuidPattern } from '../contract/patterns.ts';
import { ServiceError } from '../errors.ts';
import { createPool } from './pool.ts';
import type { Primary } from './primary.ts';
import { formatOptions, listOwn } from './session-settings.ts';

export { sql };

type NoTables = Record<string, never>;
/** A pool, for single statements; `transaction` runs several as one. */
export type Database = Kysely<NoTables>;
/** An open transaction. Functions that take one do nothing outside it. */
export type Transaction = KyselyTransaction<NoTables>;
/** Makes a change in a transaction. */
export type Change = <T>(work: (tx: Transaction) => Promise<T>) => Promise<T>;
/** Reads run on the pool or in the caller's transaction. */
export type Executor = Database | Transaction;

/** The columns of a left join: of a row, or all null if there is none. */
export type LeftJoined<Row> = Row | { [Column in keyof Row]: null };

/** The settings that `pg` needs to connect. The password is nowhere else. */
export type ConnectionSettings = Pick<
  pg.ClientConfig,
  'connectionString' | 'host' | 'port' | 'user' | 'password' | 'database' | 'ssl'
> & {
  /** Chooses among several hosts. */
  primary?: Primary;
  /** The server itself, if the other settings lead to a pooler, which shares its connections by transaction. */
  direct?: ConnectionSettings;
};

const keepAliveDelayMs = 5_000;
const poolSize = 10;
const connectTimeoutMs = 5_000;
const statementTimeoutMs = 15_000;
/** For the service, which never waits within a transaction for anything but the database. */
export const shortTransactionMs = 5_000;
/** A pooler renames its connection to the server whenever another process uses it. With one name there is nothing to do. */
const pooledName = 'orgdir';
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
  /** PostgreSQL settings, made once per connection. Behind a pooler they are made in each transaction. */
  settings?: Record<string, string>;
};

/** Opens a pool, which connects at the first statement. Close it with `destroy()`. */
export function openDatabase(connection: ConnectionSettings, options: DatabaseOptions): Database {
  const settings = connection.direct ? listOwn(ownSettings(options)) : {};
  const pool = new pg.Pool({
    ...clientSettings(connection, options),
    ...(connection.primary && { Client: connection.primary.Client }),
    pipeline: Object.keys(settings).length > 0,
    max: options.poolSize ?? poolSize,
    idleTimeoutMillis: 30_000,
  });
  // A broken idle connection is replaced at the next statement; without a listener the error would end the process.
  pool.on('error', () => {});
  // The same for a connection that breaks between two statements of a transaction: the next statement fails.
  pool.on('connect', (client) => client.on('error', () => {}));
  return new Kysely<NoTables>({
    dialect: new PostgresDialect({ pool: createPool(pool, settings) }),
  });
}

/** A single connection. The caller connects and ends it. */
export function openClient(connection: ConnectionSettings, options: DatabaseOptions): pg.Client {
  const Client = connection.primary?.Client ?? pg.Client;
  return new Client(clientSettings(connection, options));
}

/** Where a session is kept: for listening, session locks, temporary tables and migrations. */
export function directConnection(connection: ConnectionSettings): ConnectionSettings {
  return connection.direct ?? connection;
}

function clientSettings(connection: ConnectionSettings, options: DatabaseOptions): pg.ClientConfig {
  const { direct, ...address } = connection;
  return {
    ...address,
    ...(direct
      ? { application_name: pooledName }
      : {
          application_name: options.applicationName,
          options: formatOptions(ownSettings(options)),
        }),
    connectionTimeoutMillis: options.responseTimeoutMs ?? connectTimeoutMs,
    ...silenceTimeout(options),
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveDelayMs,
    types: { getTypeParser },
  };
}

/** The settings in which the connections of a pool differ from those of others. */
function ownSettings(options: DatabaseOptions): Record<string, string> {
  return {
    statement_timeout: formatMs(endTimeout(options)),
    idle_in_transaction_session_timeout: formatMs(options.idleInTransactionMs ?? 0),
    ...options.settings,
  };
}

function formatMs(ms: number): string {
  return ms === 0 ? '0' : `${ms / 1_000}s`;
}

function endTimeout(options: DatabaseOptions): number {
  return options.responseTimeoutMs ?? options.statementTimeoutMs ?? statementTimeoutMs;
}

function silenceTimeout(options: DatabaseOptions): Pick<pg.ClientConfig, 'query_timeout'> {
  if (options.responseTimeoutMs) return { query_timeout: options.responseTimeoutMs };
  const ms = endTimeout(options);
  return ms === 0 ? {} : { query_timeout: ms + silenceAfterStatementMs };
}

// Counts and positions stay far below 2^53; `pg` returns them as strings by default.
const int8 = 20;
export function getTypeParser(oid: number, format?: 'text' | 'binary') {
  if (oid === int8 && format !== 'binary') return Number;
  // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- PostgreSQL has more types than the enum names
  return pg.types.getTypeParser(oid, format);
}

/** disk_full, out_of_memory */
const exhaustedCodes = ['53100', '53200'];

const connectionFaults = new Set([
  ...exhaustedCodes,
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

/** Whether an error means that the database cannot be reached in time or has no room, as opposed to a faulty statement. */
export function isConnectionFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string' && (connectionFaults.has(code) || code.startsWith('08')))
    return true;
  return (
    /^(Too many statements wait|Connection terminated|Query read timeout|Client was closed|timeout exceeded when trying to connect|timeout expired|Client has encountered a connection error)/.test(
      error.message,
    ) || isConnectionFault(error.cause)
  );
}

/** Whether a statement failed because the server has no disk or memory left. */
export function isExhausted(error: unknown): boolean {
  return exhaustedCodes.includes(String((error as { code?: unknown }).code));
}

/** Whether a statement was cancelled because it took too long. */
export function isStatementTimeout(error: unknown): boolean {
  return (error as { code?: unknown }).code === '57014';
}

/** Whether a statement failed because it waited too long for a lock (lock_not_available). */
export function isLockTimeout(error: unknown): boolean {
  return (error as { code?: unknown }).code === '55P03';
}

/**
 * Whether a transaction failed only because of what else ran at that time: it can be repeated, now or in a moment.
 * serialization_failure, deadlock_detected, lock_not_available, and everything that `isConnectionFault` knows.
 */
export function isTemporary(error: unknown): boolean {
  if (isConnectionFault(error)) return true;
  if (!(error instanceof Error)) return false;
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  return code === '40001' || code === '40P01' || isLockTimeout(error) || isTemporary(cause);
}

/** The name of the constraint that a write violated (class 23 of PostgreSQL's codes), or null. */
export function violatedConstraint(error: unknown): string | null {
  const { code, constraint } = error as { code?: string; constraint?: string };
  return code?.startsWith('23') ? (constraint ?? '') : null;
}

export function unavailable(cause: unknown): ServiceError {
  return new ServiceError('unavailable', undefined, { headers: { 'retry-after': '5' }, cause });
}

/** How many rows a statement has inserted, updated or deleted. */
export function changedRows({ numAffectedRows = 0n }: { numAffectedRows?: bigint }): number {
  return Number(numAffectedRows);
}

/**
 * A text as an id, for a comparison that an index answers; for any other text null, which no id equals. Comparing the
 * column as text reads the whole table instead.
 */
export function asUuid(text: string) {
  return sql`${uuidPattern.test(text) ? text : null}::uuid`;
}

/** The entries and the total of a statement that joins one page to its total: a page past the last has one row without an entry. */
export function pageOf<Entry extends { id: string | number }>(
  rows: ({ total: number } & LeftJoined<Entry>)[],
): { entries: Entry[]; total: number } {
  const total = rows[0]?.total ?? 0;
  const entries: Entry[] = [];
  for (const row of rows) {
    if (row.id === null) continue;
    const entry: Entry & { total?: number } = row;
    delete entry.total;
    entries.push(entry);
  }
  return { entries, total };
}
