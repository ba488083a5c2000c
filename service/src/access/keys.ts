/** API keys: made once, stored as a hash, revoked for good. */
import { v7 as uuidv7 } from 'uuid';
import { sql, type Database, type Transaction } from '../database/database.ts';
import { invalid, ServiceError } from '../errors.ts';
import { generateApiKey, hashApiKey } from './api-key.ts';

export const scopes = ['read:directory', 'read:events', 'write:webhooks'] as const;
export type KeyScope = (typeof scopes)[number];

export type ApiKey = {
  id: string;
  appId: string;
  name: string;
  last4: string;
  scopes: KeyScope[];
  expiresAt: Date | null;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
  createdAt: Date;
};

/** What a request may do that carries a key. */
export type Caller = {
  keyId: string;
  appId: string;
  scopes: ReadonlySet<KeyScope>;
  expiresAtMs: number;
};

/** SPEC 5. Revoked and expired keys do not count. */
const keysPerAppMax = 20;

/** Makes a key for an app and returns it: the only time that it can be seen. Throws `not_found`, `conflict`, `validation_failed`. */
export async function createKey(
  tx: Transaction,
  input: { appId: string; name: string; scopes: readonly string[]; expiresAt: Date | null },
): Promise<{ id: string; key: string }> {
  const name = input.name.trim();
  if (name === '' || name.length > 100 || name.includes('\0'))
    throw invalid({ path: 'name', message: 'must have 1 to 100 characters' });
  if (input.expiresAt && !(input.expiresAt.getTime() > Date.now()))
    throw invalid({ path: 'expires', message: 'must be a time in the future' });
  const chosen = requireScopes(input.scopes);
  const { rows } = await sql<{
    id: string;
  }>`select id from apps where id::text = ${input.appId} for update`.execute(tx);
  const [app] = rows;
  if (!app) throw new ServiceError('not_found', `There is no app with the id ${input.appId}.`);
  await requireRoom(tx, app.id);
  const id = uuidv7();
  const key = generateApiKey();
  await sql`
    insert into api_keys (id, app_id, name, hash, last4, scopes, expires_at)
    values (${id}, ${app.id}, ${name}, ${hashApiKey(key)}, ${key.slice(-4)}, ${chosen}::text[], ${input.expiresAt})
  `.execute(tx);
  return { id, key };
}

function requireScopes(names: readonly string[]): KeyScope[] {
  const unknown = names.find((name) => !(scopes as readonly string[]).includes(name));
  if (unknown !== undefined || names.length === 0) {
    throw invalid({ path: 'scope', message: `must be one or more of ${scopes.join(', ')}` });
  }
  return [...new Set(names)] as KeyScope[];
}

async function requireRoom(tx: Transaction, appId: string): Promise<void> {
  const { rows } = await sql<{ count: number }>`
    select count(*) from api_keys
    where app_id = ${appId} and revoked_at is null and (expires_at is null or expires_at > now())
  `.execute(tx);
  if ((rows[0]?.count ?? 0) >= keysPerAppMax) {
    throw new ServiceError(
      'conflict',
      `The app has ${keysPerAppMax} keys, the most that an app may have; revoke one first.`,
    );
  }
}

/** The keys of one app, or of all; oldest first. */
export async function listKeys(database: Database, appId: string | null): Promise<ApiKey[]> {
  const { rows } = await sql<ApiKey>`
    select id, app_id as "appId", name, last4, scopes, expires_at as "expiresAt", revoked_at as "revokedAt",
      last_used_at as "lastUsedAt", created_at as "createdAt"
    from api_keys where ${appId === null ? sql`true` : sql`app_id::text = ${appId}`} order by id
  `.execute(database);
  return rows;
}

/** Ends a key for good. Returns false where it was revoked before. Throws `not_found`. */
export async function revokeKey(tx: Transaction, id: string): Promise<boolean> {
  const { rows } = await sql<{ fresh: boolean }>`
    update api_keys k set revoked_at = coalesce(k.revoked_at, now())
    from (select id, revoked_at is null as fresh from api_keys where id::text = ${id} for update) as before
    where k.id = before.id returning before.fresh
  `.execute(tx);
  const [row] = rows;
  if (!row) throw new ServiceError('not_found', `There is no key with the id ${id}.`);
  return row.fresh;
}

/** Whom a key's hash stands for, revoked and expired keys aside, and the revision at which that was so. */
export async function findCaller(
  database: Database,
  hash: Buffer,
): Promise<{ revision: number; caller: Caller | null }> {
  const { rows } = await sql<{
    revision: number;
    id: string | null;
    app_id: string;
    scopes: KeyScope[];
    expires_at: Date | null;
  }>`
    select r.revision, k.id, k.app_id, k.scopes, k.expires_at
    from revisions r left join api_keys k on k.hash = ${hash} and k.revoked_at is null
    where r.scope = 'access'
  `.execute(database);
  const [row] = rows;
  if (!row) throw new Error('the revision of access is missing');
  if (row.id === null) return { revision: row.revision, caller: null };
  const expiresAtMs = row.expires_at?.getTime() ?? Number.POSITIVE_INFINITY;
  return {
    revision: row.revision,
    caller: { keyId: row.id, appId: row.app_id, scopes: new Set(row.scopes), expiresAtMs },
  };
}

/** Notes when keys were last used; a later time wins. */
export async function noteUses(
  database: Database,
  uses: ReadonlyMap<string, number>,
): Promise<void> {
  if (uses.size === 0) return;
  const ids = [...uses.keys()].sort();
  const times = ids.map((id) => new Date(uses.get(id) ?? 0).toISOString());
  await sql`
    update api_keys k set last_used_at = u.used_at
    from unnest(${ids}::uuid[], ${times}::timestamptz[]) as u(id, used_at)
    where k.id = u.id and (k.last_used_at is null or k.last_used_at < u.used_at)
  `.execute(database);
}
