/**
 * Gives the open streams of this process the events of everybody as they are distributed. One read per batch serves all of
 * them, and decides by app who may have what. Workers notify while somebody says that streams are open (`queue-channel.ts`);
 * notifications may be lost, so it also looks by itself.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql, type Database } from '../database/database.ts';
import { createRefresh } from '../database/revisions.ts';
import type { Listener, Session } from '../database/session.ts';
import type { Logger } from '../runtime/log.ts';
import type { PulledEvent } from './pull-events.ts';
import { distributedChannel, saySomebodyFollows, sayFollowsMs } from './queue-channel.ts';

export type Follower = {
  readonly appId: string;
  /** Whose events and filters decide what it gets, of what the app may have. Null: everything except opt-in events. */
  readonly webhookId: string | null;
  /** Called with events that the app may have, in their order. */
  take(events: readonly PulledEvent[]): void;
  /** Called when its webhook is gone. */
  webhookDeleted(): void;
};

/** Most events have some KiB, and a published one 64 KiB at most; only a blueprint can have hundreds. */
const batchMax = 64;
/** Filters of webhooks that one read evaluates, each for up to 3 ms. */
export const filtersMax = 200;
const lookMs = 1_000;
/** Followers that get a batch in one turn of the event loop. */
const perTurn = 32;

export class EventFeed {
  readonly #database: Database;
  readonly #log: Logger;
  readonly #listener: Listener;
  readonly #followers = new Set<Follower>();
  readonly #refresh = createRefresh(
    () => this.#readAll(),
    () => this.#followers.size > 0,
  );
  /** That of the last event that was looked at. Null: not known yet. */
  #position: number | null = null;
  #hasFailed = false;
  #beginning: Promise<number> | null = null;
  #timers: NodeJS.Timeout[] = [];

  constructor(database: Database, session: Session, log: Logger) {
    this.#database = database;
    this.#log = log;
    this.#listener = session.createListener([distributedChannel], this.#refresh.soon);
  }

  /** Resolves when it gets every event from the next one on. */
  async follow(follower: Follower): Promise<void> {
    this.#followers.add(follower);
    if (this.#followers.size === 1) this.#start();
    if (this.#position !== null) return;
    try {
      const newest = await (this.#beginning ??= readPosition(this.#database));
      // The last follower may have left meanwhile.
      if (this.#followers.size > 0) this.#position ??= newest;
    } catch (error) {
      await this.leave(follower);
      throw error;
    } finally {
      this.#beginning = null;
    }
  }

  async leave(follower: Follower): Promise<void> {
    if (this.#followers.delete(follower) && this.#followers.size === 0) await this.#stop();
  }

  #start(): void {
    const say = () => void saySomebodyFollows(this.#database);
    this.#timers = [setInterval(say, sayFollowsMs), setInterval(this.#refresh.soon, lookMs)];
    say();
    this.#listener.start();
  }

  async #stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#position = null;
    await this.#listener.stop();
  }

  async #readAll(): Promise<void> {
    try {
      while (await this.#readNext());
      await this.#lookAtWebhooks();
      this.#hasFailed = false;
    } catch (err) {
      // Tried again within a second.
      if (!this.#hasFailed) this.#log.warn({ err }, 'event_feed.not_read');
      this.#hasFailed = true;
    }
  }

  /** Returns whether more may wait. */
  async #readNext(): Promise<boolean> {
    const from = this.#position;
    if (from === null) return false;
    const followers = [...this.#followers];
    const apps = new Set(followers.map(({ appId }) => appId));
    const webhooks = new Set(followers.flatMap(({ webhookId }) => webhookId ?? []));
    const limit = Math.max(Math.min(batchMax, Math.floor(filtersMax / webhooks.size)), 1);
    const batch = { after: from, limit, apps: [...apps], webhooks: [...webhooks] };
    const rows = await readBatch(this.#database, batch);
    // All have left, and others may have come.
    if (this.#position !== from) return true;
    // What one may have that came meanwhile was not asked for.
    for (const { appId, webhookId } of this.#followers)
      if (!apps.has(appId) || (webhookId !== null && !webhooks.has(webhookId))) return true;
    const last = rows.at(-1);
    if (last === undefined) return false;
    this.#position = last.position;
    await this.#pass(rows);
    return rows.length === limit;
  }

  async #lookAtWebhooks(): Promise<void> {
    const ofWebhooks = [...this.#followers].filter(({ webhookId }) => webhookId !== null);
    if (ofWebhooks.length === 0) return;
    const ids = ofWebhooks.map(({ webhookId }) => webhookId);
    const { rows } = await sql<{ id: string }>`
      select id from webhooks where id = any(${ids}::uuid[])
    `.execute(this.#database);
    const left = new Set(rows.map(({ id }) => id));
    for (const follower of ofWebhooks)
      if (!left.has(follower.webhookId ?? '')) follower.webhookDeleted();
  }

  async #pass(rows: readonly Row[]): Promise<void> {
    const events = rows.map((row) => ({ ...row, createdAt: row.createdAt.toISOString() }));
    const followers = [...this.#followers];
    for (const [index, follower] of followers.entries()) {
      // Streams are written to at the end of a turn, and other requests want theirs.
      if (index % perTurn === perTurn - 1) await nextTurn();
      const { appId, webhookId } = follower;
      const may = events.filter(
        ({ forAll, apps, listed, webhooks }) =>
          (forAll || apps?.includes(appId)) &&
          (webhookId === null ? listed : webhooks?.includes(webhookId)),
      );
      if (may.length > 0) follower.take(may);
    }
  }
}

type Row = Omit<PulledEvent, 'createdAt'> & {
  createdAt: Date;
  forAll: boolean;
  /** Those of the given ones that may have it, if not all may. */
  apps: string[] | null;
  /** Whether it is no opt-in event. */
  listed: boolean;
  /** Those of the given ones that are subscribed to it and let it pass. */
  webhooks: string[] | null;
};

type Batch = { after: number; limit: number; apps: string[]; webhooks: string[] };

/** The next events after a position, whoever may have them, without the data of those that none of these may have. */
async function readBatch(
  database: Database,
  { after, limit, apps, webhooks }: Batch,
): Promise<Row[]> {
  const takers = sql`(
    select array_agg(w.id) from webhooks w
    where w.id = any(${webhooks}::uuid[]) and takes_event(true, w.events, e.event)
      and (e.for_all or w.app_id = any(e.apps)) and passes_filter(w.filter_path, e.event, e.readable)
  )`;
  const hasWebhooks = webhooks.length > 0;
  const readable = sql`
    case when exists (select from webhooks where id = any(${webhooks}::uuid[]) and filter_path is not null)
      then filterable(e.data) end
  `;
  const { rows } = await sql<Row>`
    select position, id, event, "createdAt", for_all as "forAll", apps, listed, webhooks,
      case when (for_all or apps is not null) and (listed or webhooks is not null) then data else '' end as data
    from (
      select *, ${hasWebhooks ? takers : sql`null::uuid[]`} as webhooks from (
        select e.position, e.id, e.name as event, e.created_at as "createdAt", e.data,
          ${hasWebhooks ? readable : sql`null::jsonb`} as readable, k.name is not null as listed,
          may_receive(e.audience, e.org_id, e.alliance_id, e.created_at, o.listed, null, null, null) as for_all,
          (
            select array_agg(b.app_id) from bindings b
            where k.name is not null and e.audience <> 'global' and b.app_id = any(${apps}::uuid[])
              and (b.org_id = e.org_id or b.alliance_id = e.alliance_id) and e.position > b.after_position
              and may_receive(e.audience, e.org_id, e.alliance_id, e.created_at, o.listed, b.org_id, b.alliance_id, b.created_at)
          ) as apps
        from (select * from events where position > ${after}::bigint order by position limit ${limit}) e
        left join event_kinds k on k.name = e.name collate "C"
        left join orgs o on o.id = e.org_id
        -- So that data is read once for all filters.
        offset 0
      ) e
    ) e order by position
  `.execute(database);
  return rows;
}

/** That of the newest event; 0 without any. */
async function readPosition(database: Database): Promise<number> {
  const { rows } = await sql<{ position: number }>`
    select coalesce((select position from events where position is not null order by position desc limit 1), 0) as position
  `.execute(database);
  return rows[0]?.position ?? 0;
}
