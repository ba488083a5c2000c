/**
 * The pool for Kysely, with four additions to `pg`: statements that run thousands of times per second are prepared once
 * per connection, settings can be made in each transaction, a connection is dropped when it stops responding or its
 * prepared statements are void, and nobody waits for one behind a long queue.
 */
import { createHash } from 'node:crypto';
import type { PostgresPool } from 'kysely';
import type pg from 'pg';

/** Marks a statement to be prepared with its name, which `pg_stat_statements` and `pg_prepared_statements` show. */
const marker = /^\s*-- prepared: ([a-z_]+)\n/;
type Prepared = { name: string; text: string };
/** Only marked texts are kept, and the source has a fixed number of them; other texts are unbounded. */
const prepared = new Map<string, Prepared>();
/** The last text with each marker: to compare it is quicker than a look-up, which hashes the whole text. */
const lastPrepared = new Map<string, Prepared>();
/**
 * Statements that may wait for a connection. Ten connections serve as many in half a second, even at 20 ms each. Whoever came later would have given up and sent a request again before its turn, so the pool would only work for
 * callers that have gone: without a bound, that lasts for minutes after a failover.
 */
export const waitingMax = 256;

/**
 * `settings` are for a pooler, which shares connections by transaction. They hold in each transaction and in each prepared
 * statement: outside a transaction it gets one of its own, in the same round trip, so the pool's clients need `pipeline`.
 * Any other statement is planned each time it runs, for the tables as they are then, so it needs no settings.
 */
export function createPool(pool: pg.Pool, settings: Record<string, string> = {}): PostgresPool {
  const set = Object.entries(settings).map(([name, value]) => `; set local ${name} = '${value}'`);
  return {
    options: pool.options,
    connect: async () => {
      if (pool.waitingCount >= waitingMax) throw new Error('Too many statements wait');
      return wrap(await pool.connect(), set.join(''));
    },
    end: () => pool.end(),
  };
}

type PooledClient = Awaited<ReturnType<PostgresPool['connect']>>;

function wrap(client: pg.PoolClient, set: string): PooledClient {
  let unusable = false;
  let inTransaction = false;

  async function run(text: string, values: readonly unknown[]): Promise<pg.QueryResult> {
    const named = findPrepared(text);
    try {
      return await client.query({ text, values: values as unknown[], ...named });
    } catch (error) {
      if ((named && isRefusedPlan(error)) || isLastError(error)) unusable = true;
      if (isReadTimeout(error)) {
        unusable = true;
        // Any further statement on it, even a rollback, would wait behind the one without a result.
        void (client as unknown as pg.Client).end().catch(() => {});
      }
      throw error;
    }
  }

  async function runInTransaction(text: string, values: readonly unknown[]) {
    // Sent together. If one fails, the others do too or do nothing: a commit after an error is a rollback.
    const sent = [run(`begin${set}`, []), run(text, values), run('commit', [])] as const;
    const [begun, result, committed] = await Promise.allSettled(sent);
    for (const each of [begun, result, committed])
      if (each.status === 'rejected') throw each.reason;
    return sent[1];
  }

  const pooled = {
    query: async (text: string, values: readonly unknown[]) => {
      if (set === '') return run(text, values);
      if (text.startsWith('begin') || text.startsWith('start transaction')) {
        inTransaction = true;
        return run(`${text}${set}`, values);
      }
      if (text === 'commit' || text === 'rollback') inTransaction = false;
      else if (!inTransaction && findPrepared(text)) return runInTransaction(text, values);
      return run(text, values);
    },
    release: (destroy?: boolean) => client.release(destroy === true || unusable),
  };
  return pooled as unknown as PooledClient;
}

function findPrepared(text: string): Prepared | null {
  const marked = marker.exec(text)?.[1];
  if (marked === undefined) return null;
  const last = lastPrepared.get(marked);
  if (last?.text === text) return last;
  let found = prepared.get(text);
  if (!found) {
    // The name includes a hash of the text, because two versions of a statement may meet in one process, as in tests.
    found = { name: `${marked}_${shortHash(text)}`, text };
    prepared.set(text, found);
  }
  lastPrepared.set(marked, found);
  return found;
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

/** The message of `pg` when a statement has had no result for `query_timeout`. */
function isReadTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout';
}

/**
 * Whether the server will never accept a prepared statement again: its result type has changed (feature_not_supported),
 * or it is gone (invalid_sql_statement_name). `pg` would keep requesting it on this connection.
 */
function isRefusedPlan(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === '0A000' || code === '26000';
}

/**
 * Whether the connection is of no use after this error. The server closes it (admin_shutdown, crash_shutdown), but a moment
 * later, when the next statement may have been sent already; or it no longer accepts writes (read_only_sql_transaction).
 */
function isLastError(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === '57P01' || code === '57P02' || code === '25006';
}
