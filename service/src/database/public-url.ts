/**
 * The address in everything that outlives a request: event payloads, mail and links. It is the PUBLIC_URL of the `api`
 * process that started last, so workers and commands with other settings write the same address
 * (docs/decisions/0022-one-public-url.md).
 */
import { sql, type Executor } from './database.ts';

const name = 'public_url';

/** An SQL expression. `ownUrl` is the result until an `api` process has started. */
export function publicUrlOr(ownUrl: string) {
  return sql`coalesce((select value from installation where name = ${name}), ${ownUrl})`;
}

/** `ownUrl` is returned until an `api` process has started. */
export async function readPublicUrl(database: Executor, ownUrl: string): Promise<string> {
  const { rows } = await sql<{ url: string }>`select ${publicUrlOr(ownUrl)} as url`.execute(
    database,
  );
  return rows[0]?.url ?? ownUrl;
}

/** Stores the address of an `api` process. Returns the address that it replaces, or null if nothing changes. */
export async function storePublicUrl(
  database: Executor,
  publicUrl: string,
): Promise<string | null> {
  const { rows } = await sql<{ before: string | null }>`
    insert into installation as i (name, value) values (${name}, ${publicUrl})
    on conflict (name) do update set value = excluded.value, decided_at = now() where i.value <> excluded.value
    returning (select value from installation where name = ${name}) as before
  `.execute(database);
  return rows[0]?.before ?? null;
}
