/**
 * Counts what each key uses: requests, errors, bytes and events, by day. Written in batches, so a process that is killed
 * loses the last `usageWrittenSeconds`. Deliveries are added by `fold-delivery-changes.ts`.
 */
import {
  isConnectionFault,
  sql,
  type Database,
  type Executor,
  type LeftJoined,
} from '../database/database.ts';
import type { Logger } from '../runtime/log.ts';
import { usageWrittenSeconds } from '../contract/periods.ts';
import { fromRow } from '../contract/parse-time.ts';
import {
  UsedApp,
  usedKeysMax,
  type AppUsage,
  type UsedDay,
  type UsedKey,
} from '../contract/usage.ts';

const errorStatus = 400;

/** `appId`: null for a platform key. */
type Caller = { keyId: string; appId: string | null };
type Used = {
  requests: number;
  /** Requests with a status of 4xx or 5xx, or that broke off. */
  errors: number;
  /** Of responses, with their headers. */
  bytes: number;
  /** Returned by GET /events. */
  events: number;
};
/** `atMs`: of the batch of the last use; 0 until that is written. */
type Noted = Used & { appId: string | null; atMs: number };

export class Usage {
  readonly #database: Database;
  readonly #log: Logger;
  #noted = new Map<string, Noted>();
  #writing: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(database: Database, log: Logger) {
    this.#database = database;
    this.#log = log;
  }

  /** A request that has ended. */
  addRequest(caller: Caller, status: number | 'aborted', bytes: number): void {
    const noted = this.#of(caller.keyId, caller.appId);
    noted.atMs = 0;
    noted.requests += 1;
    noted.bytes += bytes;
    if (status === 'aborted' || status >= errorStatus) noted.errors += 1;
  }

  addEvents(caller: Caller, events: number): void {
    this.#of(caller.keyId, caller.appId).events += events;
  }

  start(): void {
    // One at a time: the database may take longer than that.
    this.#timer ??= setInterval(
      () => void (this.#writing ?? this.#flush()),
      usageWrittenSeconds * 1_000,
    );
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#writing;
    await this.#flush();
  }

  #of(keyId: string, appId: string | null): Noted {
    let noted = this.#noted.get(keyId);
    if (!noted) this.#noted.set(keyId, (noted = { ...nothing, appId, atMs: 0 }));
    return noted;
  }

  #flush(): Promise<void> {
    return (this.#writing = this.#write().finally(() => (this.#writing = null)));
  }

  async #write(): Promise<void> {
    const batch = this.#noted;
    this.#noted = new Map();
    // Not at each request: batches are as far apart as somebody may lose of them.
    for (const noted of batch.values()) noted.atMs ||= Date.now();
    try {
      await record(this.#database, batch);
    } catch (err) {
      // The log has other lines about a database that is away.
      if (!isConnectionFault(err)) this.#log.warn({ err, keys: batch.size }, 'usage.unwritten');
      // Keeps them for the next flush.
      for (const [keyId, { appId, atMs, ...used }] of batch) {
        const isUsedSince = this.#noted.has(keyId);
        const noted = this.#of(keyId, appId);
        if (!isUsedSince) noted.atMs = atMs;
        for (const name of names) noted[name] += used[name];
      }
    }
  }
}

const nothing: Used = { requests: 0, errors: 0, bytes: 0, events: 0 };
const names = Object.keys(nothing) as (keyof Used)[];

/** Today, where days end at midnight UTC. */
export const today = sql`(now() at time zone 'utc')::date`;

/** Adds to today's counts, and then to when each key was last used: a key that somebody has locked keeps no counts back. */
async function record(database: Database, batch: ReadonlyMap<string, Noted>): Promise<void> {
  if (batch.size === 0) return;
  // In one order, so that two processes wait for each other and never both.
  const sorted = [...batch].sort(([a], [b]) => (a < b ? -1 : 1));
  const column = (name: keyof Used) => sorted.map(([, noted]) => noted[name]);
  const keyIds = sorted.map(([id]) => id);
  await sql`
    insert into usage as u (day, app_id, key_id, requests, errors, bytes, events)
    select ${today}, n.* from unnest(
      ${sorted.map(([, { appId }]) => appId)}::uuid[], ${keyIds}::uuid[], ${column('requests')}::int8[],
      ${column('errors')}::int8[], ${column('bytes')}::int8[], ${column('events')}::int8[]
    ) as n(app_id, key_id, requests, errors, bytes, events)
    on conflict (day, key_id, app_id) do update set requests = u.requests + excluded.requests,
      errors = u.errors + excluded.errors, bytes = u.bytes + excluded.bytes, events = u.events + excluded.events
  `.execute(database);
  const usedAt = sorted.map(([, { atMs }]) => new Date(atMs).toISOString());
  await recordLastUses(database, keyIds, usedAt).catch(() => {});
}

/** The later time wins. The next use makes up for a key that is locked now. */
async function recordLastUses(
  database: Database,
  keyIds: string[],
  usedAt: string[],
): Promise<void> {
  await sql`
    with free as materialized (
      select id from api_keys where id = any(${keyIds}::uuid[]) order by id for no key update skip locked
    )
    update api_keys k set last_used_at = greatest(k.last_used_at, n.used_at)
    from free, unnest(${keyIds}::uuid[], ${usedAt}::timestamptz[]) as n(id, used_at)
    where k.id = free.id and n.id = k.id
  `.execute(database);
}

const sums = sql.raw(
  names.map((name) => `coalesce(sum(u.${name}), 0)::int8 as ${name}`).join(', '),
);
const since = (days: number) => sql`${today} - ${days - 1}::int`;

/** The last `days` with today, also those without use, and the keys that were used, most requests first. */
export async function readAppUsage(
  executor: Executor,
  appId: string,
  days: number,
): Promise<AppUsage> {
  const byDay = await sql<UsedDay>`
    select to_char(d.day, 'YYYY-MM-DD') as day, ${sums}, coalesce(sum(u.deliveries), 0)::int8 as deliveries
    from generate_series(${since(days)}, ${today}, interval '1 day') as d(day)
    left join usage u on u.day = d.day::date and u.app_id = ${appId}
    group by d.day order by d.day
  `.execute(executor);
  const byKey = await sql<UsedKey>`
    select u.key_id as "keyId", k.name, k.last4, ${sums}
    from usage u left join api_keys k on k.id = u.key_id
    where u.app_id = ${appId} and u.key_id is not null and u.day >= ${since(days)}
    group by u.key_id, k.name, k.last4 order by requests desc, u.key_id limit ${usedKeysMax}
  `.execute(executor);
  return { days: byDay.rows, keys: byKey.rows };
}

/** One page of the apps that used anything in the last `days`, most requests first. */
export async function listUsedApps(
  executor: Executor,
  { days, page, limit }: { days: number; page: number; limit: number },
): Promise<{ apps: UsedApp[]; total: number }> {
  const { rows } = await sql<{ total: number } & LeftJoined<UsedApp & { place: number }>>`
    with used as materialized (
      select u.app_id as "appId", ${sums}, coalesce(sum(u.deliveries), 0)::int8 as deliveries
      from usage u where u.day >= ${since(days)} group by u.app_id
    )
    select totals.total, page.* from (select count(*) as total from used) totals
    left join (
      select used.*, a.name, row_number() over (order by requests desc, deliveries desc, "appId") as place
      from used left join apps a on a.id = "appId" order by place offset ${(page - 1) * limit} limit ${limit}
    ) page on true
    order by page.place
  `.execute(executor);
  const apps = rows.flatMap((row) => (row.place === null ? [] : fromRow(UsedApp, row)));
  return { apps, total: rows[0]?.total ?? 0 };
}
