/**
 * The address in everything that outlives a request: event payloads, mail and links. It is the PUBLIC_URL of the `api`
 * process that started last, so workers and commands with other settings write the same address
 * (docs/decisions/0027-processes.md).
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

/**
 * Stores the address of an `api` process. Returns the address that it replaces, or null if nothing changes. A default
 * replaces only an address of this machine, so that a process that somebody starts to look at something does not
 * replace the real one.
 */
export async function storePublicUrl(
  database: Executor,
  publicUrl: string,
  { isDefault = false }: { isDefault?: boolean } = {},
): Promise<string | null> {
  const { rows } = await sql<{ before: string | null }>`
    insert into installation as i (name, value) values (${name}, ${publicUrl})
    on conflict (name) do update set value = excluded.value, decided_at = now() where i.value <> excluded.value
      and (not ${isDefault}::boolean or i.value ~ '^http://(127\\.|localhost|0\\.0\\.0\\.0|\\[::)')
    returning (select value from installation where name = ${name}) as before
  `.execute(database);
  return rows[0]?.before ?? null;
}
