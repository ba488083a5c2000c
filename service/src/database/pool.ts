/**
 * The pool as Kysely uses it, with two things that `pg` leaves to its caller: statements that run thousands of times
 * a second are planned once a connection, and a connection that has fallen silent, or whose plans are void, is given up.
 */
import { createHash } from 'node:crypto';
import type { PostgresPool } from 'kysely';
import type pg from 'pg';

/** What a statement begins with that is to be prepared: its name, for `pg_stat_statements` and `pg_prepared_statements`. */
const marker = /^\s*-- prepared: ([a-z_]+)\n/;
/** Of marked texts alone, of which there are as many as in the source; others may be without number. */
const names = new Map<string, string>();

export function createPool(pool: pg.Pool): PostgresPool {
  return {
    options: pool.options,
    connect: async () => lend(await pool.connect()),
    end: () => pool.end(),
  };
}

type Lent = Awaited<ReturnType<PostgresPool['connect']>>;

function lend(client: pg.PoolClient): Lent {
  let unusable = false;
  const lent = {
    query: async (text: string, values: readonly unknown[]) => {
      const name = preparedName(text);
      try {
        return await client.query({
          text,
          values: values as unknown[],
          ...(name === null ? {} : { name }),
        });
      } catch (error) {
        if (name !== null && isRefusedPlan(error)) unusable = true;
        if (isReadTimeout(error)) {
          unusable = true;
          // Whatever follows on it, a rollback too, would wait behind the statement that has no answer.
          void (client as unknown as pg.Client).end().catch(() => {});
        }
        throw error;
      }
    },
    release: (destroy?: boolean) => client.release(destroy === true || unusable),
  };
  return lent as unknown as Lent;
}

function preparedName(text: string): string | null {
  // Before the look-up: on a text without a marker this ends at its first characters, where a look-up reads it whole.
  const marked = marker.exec(text)?.[1];
  if (marked === undefined) return null;
  let name = names.get(text);
  if (name === undefined) {
    // With its text's hash, for two versions of a statement may meet in one process, as in tests.
    name = `${marked}_${shortHash(text)}`;
    names.set(text, name);
  }
  return name;
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

/** What `pg` says when a statement has had no answer for `query_timeout`. */
function isReadTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout';
}

/**
 * A prepared statement that the server accepts no more, ever: what it returns has changed (feature_not_supported), or
 * it is gone (invalid_sql_statement_name). `pg` would go on to ask for it on this connection.
 */
function isRefusedPlan(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === '0A000' || code === '26000';
}
