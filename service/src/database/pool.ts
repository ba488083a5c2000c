/**
 * The pool as Kysely uses it, with two things that `pg` leaves to its caller: statements that run thousands of times
 * a second are planned once a connection, and a connection that has fallen silent is given up.
 */
import { createHash } from 'node:crypto';
import type { PostgresPool } from 'kysely';
import type pg from 'pg';

/** What a statement begins with that is to be prepared: its name, for `pg_stat_statements` and `pg_prepared_statements`. */
const marker = /^\s*-- prepared: ([a-z_]+)\n/;
/** By the text: there are as many as statements with a marker in the source. */
const names = new Map<string, string | null>();

export function createPool(pool: pg.Pool): PostgresPool {
  return {
    options: pool.options,
    connect: async () => lend(await pool.connect()),
    end: () => pool.end(),
  };
}

type Lent = Awaited<ReturnType<PostgresPool['connect']>>;

function lend(client: pg.PoolClient): Lent {
  let silent = false;
  const lent = {
    query: async (text: string, values: readonly unknown[]) => {
      try {
        const name = preparedName(text);
        return await client.query({
          text,
          values: values as unknown[],
          ...(name === null ? {} : { name }),
        });
      } catch (error) {
        if (isReadTimeout(error)) {
          silent = true;
          // Whatever follows on it, a rollback too, would wait behind the statement that has no answer.
          void (client as unknown as pg.Client).end().catch(() => {});
        }
        throw error;
      }
    },
    release: (destroy?: boolean) => client.release(destroy === true || silent),
  };
  return lent as unknown as Lent;
}

function preparedName(text: string): string | null {
  let name = names.get(text);
  if (name === undefined) {
    const marked = marker.exec(text)?.[1];
    // With its text's hash, for two versions of a statement may meet in one process, as in tests.
    name = marked === undefined ? null : `${marked}_${shortHash(text)}`;
    if (name !== null) names.set(text, name);
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
