/**
 * The pool for Kysely, with two additions to `pg`: statements that run thousands of times per second are prepared once
 * per connection, and a connection is dropped when it stops responding or its prepared statements are void.
 */
import { createHash } from 'node:crypto';
import type { PostgresPool } from 'kysely';
import type pg from 'pg';

/** Marks a statement to be prepared with its name, which `pg_stat_statements` and `pg_prepared_statements` show. */
const marker = /^\s*-- prepared: ([a-z_]+)\n/;
/** Only marked texts are cached, and the source has a fixed number of them; other texts are unbounded. */
const names = new Map<string, string>();

export function createPool(pool: pg.Pool): PostgresPool {
  return {
    options: pool.options,
    connect: async () => wrap(await pool.connect()),
    end: () => pool.end(),
  };
}

type PooledClient = Awaited<ReturnType<PostgresPool['connect']>>;

function wrap(client: pg.PoolClient): PooledClient {
  let unusable = false;
  const pooled = {
    query: async (text: string, values: readonly unknown[]) => {
      const name = preparedName(text);
      try {
        return await client.query({
          text,
          values: values as unknown[],
          ...(name === null ? {} : { name }),
        });
      } catch (error) {
        if ((name !== null && isRefusedPlan(error)) || isLastError(error)) unusable = true;
        if (isReadTimeout(error)) {
          unusable = true;
          // Any further statement on it, even a rollback, would wait behind the one without a result.
          void (client as unknown as pg.Client).end().catch(() => {});
        }
        throw error;
      }
    },
    release: (destroy?: boolean) => client.release(destroy === true || unusable),
  };
  return pooled as unknown as PooledClient;
}

function preparedName(text: string): string | null {
  // Checked before the look-up: without a marker this ends at the first characters, but a look-up hashes the whole
  // text.
  const marked = marker.exec(text)?.[1];
  if (marked === undefined) return null;
  let name = names.get(text);
  if (name === undefined) {
    // The name includes a hash of the text, because two versions of a statement may meet in one process, as in tests.
    name = `${marked}_${shortHash(text)}`;
    names.set(text, name);
  }
  return name;
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
 * Whether the server closes the connection after this error (admin_shutdown, crash_shutdown). It does so a moment later,
 * when the next statement may have been sent already.
 */
function isLastError(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === '57P01' || code === '57P02';
}
