/** Creates API keys, stores them as hashes, and revokes them. */
import { v7 as uuidv7, validate } from 'uuid';
import { expiresSoonDays, temporaryKeyMinutes } from '../contract/periods.ts';
import { searchedKeysMax } from '../contract/console.ts';
import { scopes } from '../contract/app-roles.ts';
import { coalesce } from '../database/coalesce.ts';
import {
  sql,
  type Database,
  type Executor,
  type LeftJoined,
  type Transaction,
  asUuid,
  pageOf,
} from '../database/database.ts';
import { invalid, ServiceError } from '../errors.ts';
import type { Actor } from './actor.ts';
import { generateApiKey, hashApiKey } from './key-format.ts';
import { recordAudit } from './audit-log.ts';
import { usedKey } from './create-once.ts';
import { enforceQuota, ownQuota } from './quotas.ts';
import { requirePlainName } from './require-plain-name.ts';
import { requireNotSuspended, suspensionOf, type Suspension } from './suspensions.ts';
import { today } from './usage.ts';

export { scopes };
/** The scope of a platform key: all of the internal API and nothing else. */
const platformScope = 'platform';
export type KeyScope = (typeof scopes)[number] | typeof platformScope;

export type ApiKey = {
  id: string;
  /** Null for a platform key. */
  appId: string | null;
  name: string;
  last4: string;
  scopes: KeyScope[];
  expiresAt: Date | null;
  revokedAt: Date | null;
  /** Not of its app. */
  suspendedAt: Date | null;
  suspendedReason: string | null;
  lastUsedAt: Date | null;
  /** Requests since midnight UTC. */
  usesToday: number;
  createdAt: Date;
};

/** The columns of an `ApiKey`. */
export const keyColumns = sql`
  id, app_id as "appId", name, last4, scopes, expires_at as "expiresAt", revoked_at as "revokedAt",
  (select suspended_at from suspensions where key_id = api_keys.id) as "suspendedAt",
  (select reason from suspensions where key_id = api_keys.id) as "suspendedReason",
  last_used_at as "lastUsedAt", created_at as "createdAt",
  coalesce((select u.requests from usage u where u.day = ${today} and u.key_id = api_keys.id), 0) as "usesToday"
`;

/** The caller of a request, with the rights of its key. */
export type Caller = {
  keyId: string;
  keyName: string;
  /** Null for the platform itself. */
  appId: string | null;
  scopes: ReadonlySet<KeyScope>;
  expiresAtMs: number;
  /** Requests per minute of all keys of the app, if the operator has set it. Null: the usual limits apply. */
  rate: number | null;
  /** Of the key or its app: the key opens nothing then. */
  suspension: (Suspension & { kind: 'key' | 'app' }) | null;
};

/** More than the members of an app need at a time. */
export const temporaryKeysPerAppMax = 20;
/** The platform needs two keys while it replaces one with the other. */
export const platformKeysMax = 20;

type KeyFields = { name: string; expiresAt: Date | null };

/**
 * Creates a key for an app and returns it; no other call returns it. `keyOf` makes the key of an id. Throws `not_found`,
 * `conflict`, `validation_failed`.
 */
export async function createKey(
  tx: Transaction,
  actor: Actor,
  input: KeyFields & { appId: string; scopes: readonly string[] },
  keyOf: (id: string) => string = generateApiKey,
): Promise<{ id: string; key: string }> {
  const fields = requireFields(input);
  const chosen = requireScopes(input.scopes);
  const { rows } = await sql<{
    id: string;
  }>`select id from apps where id = ${asUuid(input.appId)} for update`.execute(tx);
  const [app] = rows;
  if (!app) throw new ServiceError('not_found', `There is no app with the id ${input.appId}.`);
  await enforceKeyLimit(tx, app.id);
  return storeKey(tx, actor, app.id, fields, chosen, keyOf);
}

/**
 * Creates a key that can only read the directory, for a short time, and deletes those that have ended. Throws `conflict`.
 * The caller has locked the app's row.
 */
export async function createTemporaryKey(
  tx: Transaction,
  actor: Actor,
  appId: string,
): Promise<{ id: string; key: string }> {
  await sql`
    delete from api_keys
    where app_id = ${appId} and temporary and (expires_at <= now() or revoked_at is not null)
  `.execute(tx);
  if ((await countUsableKeys(tx, appId, true)) >= temporaryKeysPerAppMax)
    throw new ServiceError(
      'conflict',
      `An app can have at most ${temporaryKeysPerAppMax} temporary keys. Try again in a few minutes.`,
    );
  const expiresAt = new Date(Date.now() + temporaryKeyMinutes * 60_000);
  const fields = { name: 'Documentation', expiresAt, temporary: true };
  return storeKey(tx, actor, appId, fields, ['read:directory']);
}

/** Creates a platform key, for the internal API. Throws `conflict`, `validation_failed`. */
export async function createPlatformKey(
  tx: Transaction,
  actor: Actor,
  input: KeyFields,
): Promise<{ id: string; key: string }> {
  const fields = requireFields(input);
  await enforceKeyLimit(tx, null);
  return storeKey(tx, actor, null, fields, [platformScope]);
}

function requireFields(input: KeyFields): KeyFields {
  const name = requirePlainName(input.name);
  if (input.expiresAt && !(input.expiresAt.getTime() > Date.now()))
    throw invalid({ path: 'expires', message: 'must be a time in the future' });
  return { name, expiresAt: input.expiresAt };
}

/** Creates a key. The caller has checked everything. */
export async function storeKey(
  tx: Transaction,
  actor: Actor,
  appId: string | null,
  { name, expiresAt, temporary = false }: KeyFields & { temporary?: boolean },
  chosen: KeyScope[],
  keyOf: (id: string) => string = generateApiKey,
): Promise<{ id: string; key: string }> {
  const id = uuidv7();
  const key = keyOf(id);
  await sql`
    insert into api_keys (id, app_id, name, hash, last4, scopes, expires_at, temporary)
    values (${id}, ${appId}, ${name}, ${hashApiKey(key)}, ${key.slice(-4)}, ${chosen}::text[], ${expiresAt}, ${temporary})
  `.execute(tx);
  await recordAudit(tx, actor, {
    action: 'key.created',
    subject: { kind: 'key', id },
    appId,
    details: { name, last4: key.slice(-4), scopes: chosen, expiresAt },
  });
  return { id, key };
}

function requireScopes(names: readonly string[]): KeyScope[] {
  const unknown = names.find((name) => !(scopes as readonly string[]).includes(name));
  if (unknown !== undefined || names.length === 0) {
    throw invalid({ path: 'scope', message: `must be one or more of ${scopes.join(', ')}` });
  }
  return [...new Set(names)] as KeyScope[];
}

/** Throws `conflict` if the app or the platform has the maximum of valid keys. The caller has locked the app's row. */
export async function enforceKeyLimit(tx: Transaction, appId: string | null): Promise<void> {
  if (appId !== null) return enforceQuota(tx, appId, 'keys');
  // Prevents two simultaneous commands from both creating the last key: the platform has no row to lock.
  await sql`select pg_advisory_xact_lock(70420020)`.execute(tx);
  if ((await countUsableKeys(tx, null, false)) < platformKeysMax) return;
  throw new ServiceError(
    'conflict',
    `There can be at most ${platformKeysMax} platform keys. Revoke one first.`,
  );
}

async function countUsableKeys(
  tx: Transaction,
  appId: string | null,
  temporary: boolean,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) from api_keys
    where app_id is not distinct from ${appId}::uuid and temporary = ${temporary}
      and revoked_at is null and (expires_at is null or expires_at > now())
  `.execute(tx);
  return rows[0]?.count ?? 0;
}

/** A key as operators see it, with whether its app is suspended, which stops it too. */
export type ListedKey = ApiKey & { appSuspended: boolean };

const listedColumns = sql`
  ${keyColumns}, exists (select from suspensions s where s.app_id = api_keys.app_id) as "appSuspended"
`;

/** Returns the keys of one app, or of all apps and the platform, oldest first. */
export async function listKeys(executor: Executor, appId: string | null): Promise<ListedKey[]> {
  const { rows } = await sql<ListedKey>`
    select ${listedColumns} from api_keys where ${appId === null ? sql`true` : sql`app_id = ${asUuid(appId)}`} order by id
  `.execute(executor);
  return rows;
}

export type FoundKey = ListedKey & { appName: string | null };

/**
 * One page of all keys, newest first, without temporary ones: those with this name, id, app or last four characters, if
 * `search` is not empty.
 */
export async function searchKeys(
  executor: Executor,
  { search, page, limit }: { search: string; page: number; limit: number },
): Promise<{ keys: FoundKey[]; total: number }> {
  const { rows } = await sql<{ total: number } & LeftJoined<FoundKey>>`
    with found as materialized (
      select id from ${keysMatching(search)} k
    )
    select totals.total, page.* from (select count(*) as total from found) totals
    left join (
      select ${listedColumns}, (select a.name from apps a where a.id = app_id) as "appName"
      from api_keys where id in (select id from found order by id desc limit ${limit} offset ${(page - 1) * limit})
    ) page on true
    order by page.id desc
  `.execute(executor);
  const { entries: keys, total } = pageOf<FoundKey>(rows);
  return { keys, total };
}

/** An id is looked up by an index; for anything else, keys are read one after the other. */
function keysMatching(search: string) {
  if (validate(search))
    return sql`(select id from api_keys where not temporary and (id = ${search} or app_id = ${search}))`;
  const newest = sql`select id, name, last4 from api_keys where not temporary order by id desc limit ${searchedKeysMax}`;
  if (search === '') return sql`(${newest})`;
  return sql`(select id from (${newest}) n where last4 = ${search} or strpos(lower(name), lower(${search})) > 0)`;
}

/** Throws `suspended`, and `conflict` unless the key is valid and is the one that `keysOf` makes of its id with one of the service's secret keys. */
export async function showKeyAgain(
  tx: Transaction,
  id: string,
  keysOf: (id: string) => string[],
): Promise<string> {
  const { rows } = await sql<{ hash: Buffer; appId: string | null; usable: boolean }>`
    select hash, app_id as "appId", revoked_at is null and coalesce(expires_at > now(), true) as usable
    from api_keys where id = ${id}
  `.execute(tx);
  const [row] = rows;
  if (row) await requireNotSuspended(tx, 'key', id, row.appId);
  if (!row?.usable)
    throw usedKey(`created the key ${id}, which has expired or was revoked. Use a new one.`);
  const key = keysOf(id).find((each) => hashApiKey(each).equals(row.hash));
  if (key === undefined)
    throw usedKey(
      `created the key ${id}, which cannot be shown again. Revoke it, and create another one.`,
    );
  return key;
}

/** Keeps a key valid until the end of the transaction; false if it is not. Throws `suspended`. */
export async function holdKey(tx: Transaction, { keyId, appId }: Caller): Promise<boolean> {
  const { rows } = await sql`
    select from api_keys where id = ${keyId} and revoked_at is null
      and coalesce(expires_at > statement_timestamp(), true) for share
  `.execute(tx);
  if (rows.length === 0) return false;
  await requireNotSuspended(tx, 'key', keyId, appId);
  return true;
}

/** Revokes a key. Returns false if it was revoked before. Throws `not_found`. */
export async function revokeKey(tx: Transaction, actor: Actor, id: string): Promise<boolean> {
  const { rows } = await sql<{ id: string; appId: string | null; name: string; fresh: boolean }>`
    update api_keys k set revoked_at = coalesce(k.revoked_at, now())
    from (select id, revoked_at is null as fresh from api_keys where id = ${asUuid(id)} for update) as before
    where k.id = before.id returning k.id, k.app_id as "appId", k.name, before.fresh
  `.execute(tx);
  const [row] = rows;
  if (!row) throw new ServiceError('not_found', `There is no key with the id ${id}.`);
  if (row.fresh) {
    await recordAudit(tx, actor, {
      action: 'key.revoked',
      subject: { kind: 'key', id: row.id },
      appId: row.appId,
      details: { name: row.name },
    });
  }
  return row.fresh;
}

/**
 * Revokes the usable keys of an app that somebody created or rotated in the portal, and returns how many there were.
 * `email`: as `normaliseEmail` gives it.
 */
export async function revokeKeysOf(
  tx: Transaction,
  actor: Actor,
  { appId, email }: { appId: string; email: string },
): Promise<number> {
  const { rows } = await sql<{ id: string }>`
    select id from api_keys k
    where app_id = ${appId} and revoked_at is null and (expires_at is null or expires_at > now())
      and exists (
        select from audit_log a
        where a.subject_id = k.id::text and a.action = 'key.created' and a.actor_kind = 'user'
          and (
            a.actor_id = (select u.id::text from users u where u.email = ${email})
            -- An entry keeps the address of its time, which somebody else may have by now.
            or a.actor_name = ${email} and not exists (
              select from users u where u.id = case when a.actor_kind = 'user' then a.actor_id::uuid end
            )
          )
      )
    order by id
  `.execute(tx);
  for (const { id } of rows) await revokeKey(tx, actor, id);
  return rows.length;
}

type KeyRow = {
  id: string;
  hash: Buffer;
  name: string;
  app_id: string | null;
  scopes: KeyScope[];
  expires_at: Date | null;
  rate: number | null;
} & LeftJoined<Suspension & { isOfApp: boolean }>;

/** Returns the callers of keys that are not revoked, by their hashes in hex, and the revision of this result. */
export async function findCallersOfKeys(
  database: Database,
  hashes: readonly Buffer[],
): Promise<{ revision: number; callers: ReadonlyMap<string, Caller> }> {
  const condition = sql`k.hash = any(${hashes}::bytea[])`;
  const { revision, found } = await selectCallers(database, condition);
  return {
    revision,
    callers: new Map(found.map(({ hash, caller }) => [hash.toString('hex'), caller])),
  };
}

/** The same by the ids of keys. */
export async function findCallers(
  database: Database,
  keyIds: readonly string[],
): Promise<{ revision: number; callers: ReadonlyMap<string, Caller> }> {
  const { revision, found } = await selectCallers(database, sql`k.id = any(${keyIds}::uuid[])`);
  return { revision, callers: new Map(found.map(({ caller }) => [caller.keyId, caller])) };
}

async function selectCallers(database: Database, condition: ReturnType<typeof sql>) {
  const { rows } = await sql<{ revision: number } & LeftJoined<KeyRow>>`
    select r.revision, k.id, k.hash, k.name, k.app_id, k.scopes, k.expires_at, ${ownQuota(sql`k.app_id`, 'rate')} as rate, s.*
    from revisions r left join api_keys k on ${condition} and k.revoked_at is null
    left join lateral ${suspensionOf('key', sql`k.id`, sql`k.app_id`)} s on true
    where r.scope = 'access'
  `.execute(database);
  const [first] = rows;
  if (!first) throw new Error('the revision of access is missing');
  return {
    revision: first.revision,
    found: rows.flatMap((row) =>
      row.id === null ? [] : [{ hash: row.hash, caller: toCaller(row) }],
    ),
  };
}

function toCaller(row: KeyRow): Caller {
  return {
    keyId: row.id,
    keyName: row.name,
    appId: row.app_id,
    scopes: new Set(row.scopes),
    expiresAtMs: row.expires_at?.getTime() ?? Number.POSITIVE_INFINITY,
    rate: row.rate,
    suspension: suspensionIn(row),
  };
}

function suspensionIn(row: KeyRow): Caller['suspension'] {
  if (row.suspendedAt === null) return null;
  const { suspendedAt, suspendedReason, isOfApp } = row;
  return { kind: isOfApp ? 'app' : 'key', suspendedAt, suspendedReason };
}

/** Returns a reader for scrapes, which queries at most once per minute: how many keys, by kind, were used within a day and expire soon. */
export function createExpiringKeysReader(database: Database) {
  return coalesce(() => countExpiringKeys(database), { timeoutMs: 2_000, reuseMs: 60_000 });
}

async function countExpiringKeys(database: Database): Promise<{ app: number; platform: number }> {
  const { rows } = await sql<{ app: number; platform: number }>`
    select count(*) filter (where app_id is not null) as app, count(*) filter (where app_id is null) as platform
    from api_keys
    where not temporary and revoked_at is null and last_used_at > now() - interval '1 day'
      and expires_at between now() and now() + ${expiresSoonDays} * interval '1 day'
  `.execute(database);
  return rows[0] ?? { app: 0, platform: 0 };
}
