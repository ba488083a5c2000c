/**
 * How much an app may have and use. A row is an exception that an operator has set; without one the default holds.
 * Lowering a quota deletes nothing: the app just gets no more.
 */
import {
  defaultQuotas,
  quotaNames,
  quotaNearPercent,
  type CountedQuota,
  type Quota,
} from '../contract/quotas.ts';
import {
  sql,
  type Database,
  type Executor,
  type Transaction,
  asUuid,
} from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import type { Actor } from './actor.ts';
import { recordAudit } from './audit-log.ts';
import { addNotices } from './notices.ts';
import { lockApp } from './require-role.ts';

/** Null: the usual limits of keys and apps apply. Only `rate` has no default of its own. */
export type QuotaInForce = {
  quota: Quota;
  limit: number | null;
  isDefault: boolean;
  /** Null: requests are counted by minute, in memory. */
  used: number | null;
};

/** The `maximum` that is set for an app, or null; an expression for one column. */
export function ownQuota(appId: Expression, quota: Quota) {
  return sql`(select maximum from app_quotas where app_id = ${appId} and quota = ${quota})`;
}

type Expression = ReturnType<typeof sql>;

/** How many an app has of what counts, each an expression for one column. Temporary keys do not count. */
export const usedOf: Record<CountedQuota, (appId: Expression) => Expression> = {
  webhooks: (appId) => sql`(select count(*) from webhooks where app_id = ${appId})`,
  keys: (appId) => sql`(
    select count(*) from api_keys
    where app_id = ${appId} and not temporary and revoked_at is null and (expires_at is null or expires_at > now())
  )`,
  members: (appId) => sql`(select count(*) from app_members where app_id = ${appId})`,
};

/** The quotas in force of an app as JSON, an `AppQuotas`; an expression for one column. */
export function quotasOf(appId: Expression) {
  const counted = Object.entries(defaultQuotas).map(
    ([quota, usual]) =>
      sql`${quota}::text, coalesce(${ownQuota(appId, quota as CountedQuota)}, ${usual}::int)`,
  );
  return sql`jsonb_build_object(${sql.join(counted)}, 'requestsPerMinute', ${ownQuota(appId, 'rate')})`;
}

/**
 * Throws `conflict` if the app has as many as it may, and has its owners mailed if this is nearly the last. Call it before
 * one is added, with the app's row locked.
 */
export async function enforceQuota(
  tx: Transaction,
  appId: string,
  quota: CountedQuota,
): Promise<void> {
  const id = sql`${appId}::uuid`;
  const { rows } = await sql<{ used: number; own: number | null }>`
    select ${usedOf[quota](id)} as used, ${ownQuota(id, quota)} as own
  `.execute(tx);
  const { used = 0, own = null } = rows[0] ?? {};
  const limit = own ?? defaultQuotas[quota];
  if (used >= limit)
    throw new ServiceError(
      'conflict',
      `The app can have at most ${limit} ${quota}. ${remedies[quota]} one first.`,
    );
  if (isNear(used + 1, limit)) await tellOwners(tx, appId, { quota, used: used + 1, limit });
}

const remedies = { webhooks: 'Delete', keys: 'Revoke', members: 'Remove' };

export function isNear(used: number, limit: number): boolean {
  return used * 100 >= limit * quotaNearPercent;
}

export type NearQuota = {
  quota: Quota;
  used: number;
  limit: number;
  /** Of the rate: it is the limit of a key, which an app without a rate of its own has, too. */
  ofKey?: boolean;
};

/** Has the owners of an app mailed, if they were not about this quota today (UTC). */
async function tellOwners(executor: Executor, appId: string, near: NearQuota): Promise<void> {
  const { quota } = near;
  await addNotices(executor, {
    recipients: sql`select email from app_members where app_id = ${appId} and role = 'owner'`,
    topic: sql`${`quota ${appId} ${quota} `} || (queue_now() at time zone 'utc')::date`,
    kind: 'quota.near',
    appId,
    details: near,
  });
}

/** Has the owners of apps mailed that use up their rate; once per app and day, whatever the rate of requests is. */
export class RateNotices {
  readonly #database: Database;
  /** Those who were told a while ago: the database's day, which may have changed since, decides whether they are again. */
  readonly #told = new Set<string>();
  #forgetsAt = 0;
  /** One at a time: an app whose row is locked must not take a connection for each that is near its limit. */
  #isTelling = false;

  constructor(database: Database) {
    this.#database = database;
  }

  note(appId: string, near: Omit<NearQuota, 'quota'>): void {
    const now = performance.now();
    if (now >= this.#forgetsAt) {
      this.#forgetsAt = now + forgetMs;
      this.#told.clear();
    }
    if (this.#isTelling || this.#told.has(appId)) return;
    this.#isTelling = true;
    this.#told.add(appId);
    tellOwners(this.#database, appId, { quota: 'rate', ...near })
      // The app is told when it is near its limit later.
      .catch(() => this.#told.delete(appId))
      .finally(() => (this.#isTelling = false));
  }
}

const forgetMs = 5 * 60_000;

/** Throws `not_found`. */
export async function readQuotas(executor: Executor, appId: string): Promise<QuotaInForce[]> {
  const { rows } = await sql<
    Record<CountedQuota, number> & { own: Partial<Record<Quota, number>> }
  >`
    select
      ${usedOf.webhooks(sql`apps.id`)} as webhooks, ${usedOf.keys(sql`apps.id`)} as keys,
      ${usedOf.members(sql`apps.id`)} as members,
      coalesce((select jsonb_object_agg(quota, maximum) from app_quotas where app_id = apps.id), '{}') as own
    from apps where id = ${asUuid(appId)}
  `.execute(executor);
  const [row] = rows;
  if (!row) throw new ServiceError('not_found', `There is no app with the id ${appId}.`);
  return quotaNames.map((quota) => ({
    quota,
    limit: row.own[quota] ?? (quota === 'rate' ? null : defaultQuotas[quota]),
    isDefault: row.own[quota] === undefined,
    used: quota === 'rate' ? null : row[quota],
  }));
}

/** Sets quotas of an app, or with null returns them to the default. Returns false if nothing changed. Throws `not_found`. */
export async function changeQuotas(
  tx: Transaction,
  actor: Actor,
  appId: string,
  changes: Partial<Record<Quota, number | null>>,
): Promise<boolean> {
  await lockApp(tx, appId);
  const { rows } = await sql<{ quota: Quota; before: number | null; maximum: number | null }>`
    with given as (
      select * from jsonb_to_recordset(${JSON.stringify(toRows(changes))}::jsonb) as g(quota text, maximum integer)
    ), before as materialized (
      select g.quota, g.maximum, q.maximum as before
      from given g left join app_quotas q on q.app_id = ${appId} and q.quota = g.quota
    ), unset as (
      delete from app_quotas q using given g where q.app_id = ${appId} and q.quota = g.quota and g.maximum is null
    ), stored as (
      insert into app_quotas (app_id, quota, maximum)
      select ${appId}, quota, maximum from given where maximum is not null
      on conflict (app_id, quota) do update set maximum = excluded.maximum
    )
    select quota, before, maximum from before where before is distinct from maximum
  `.execute(tx);
  if (rows.length === 0) return false;
  const column = (name: 'before' | 'maximum') =>
    Object.fromEntries(rows.map((row) => [row.quota, row[name]]));
  await recordAudit(tx, actor, {
    action: 'app.quotas_changed',
    // As it is in the log's other entries.
    subject: { kind: 'app', id: appId.toLowerCase() },
    appId,
    details: { quotas: column('maximum'), before: column('before') },
  });
  return true;
}

function toRows(changes: Partial<Record<Quota, number | null>>) {
  return Object.entries(changes).map(([quota, maximum]) => ({ quota, maximum }));
}
