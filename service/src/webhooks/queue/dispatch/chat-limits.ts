/**
 * How long chat platforms are left alone, over all processes. A response that asks to wait, or says that the next request
 * would have to, closes its webhook; one about the whole platform closes that for everybody. The deliveries wait as those
 * of a webhook without room do: `claim.ts` and `load-deliveries.ts` read until when, and `room.ts` claims no more before.
 * A process leaves a webhook that it cannot read alone in the same way, without the others.
 */
import { LRUCache } from 'lru-cache';
import { arrayLiteral } from '../../../database/array-literal.ts';
import { sql, type Database } from '../../../database/database.ts';
import type { Logger } from '../../../runtime/log.ts';
import { platformName } from '../../sending/chat-platforms.ts';
import {
  unreadableDaysMax,
  unreadableWaitMs,
  type RecordedAttempt,
} from '../../sending/deliver.ts';
import type { Deliverable, Gate } from '../../sending/deliverable.ts';
import { retryAfterMaxMs, waitMaxMs } from '../../sending/retry.ts';
import { urlHost } from '../../sending/url-host.ts';
import { cancelPending } from '../cancel-pending.ts';
import type { Room } from './room.ts';

/**
 * Discord blocks an address after 10,000 of these in ten minutes (https://docs.discord.com/developers/topics/rate-limits).
 * The others are left to requests in flight and to what else calls Discord from this address, such as the sync of member
 * counts, which stops by itself (`sync/chat-provider.ts`).
 */
export const invalidMax = 5_000;
const windowEnd = sql`queue_now() + interval '10 minutes'`;

/** No wait ends later; one that would is from before the database's clock was put back. */
const latest = sql`queue_now() + ${sql.lit(retryAfterMaxMs)}::int * interval '1 millisecond'`;

/** What was refused longer ago than this says nothing of now. */
const pause = sql`interval '1 hour'`;

/** What is known of the webhook `w`, a `Gate`; null unless it posts into a chat channel. */
export const gate = sql`
  case when w.format <> 'json' then (
    select json_build_object(
      'now', ${epochMs(sql`queue_now()`)}, 'openAt', ${epochMs(sql`coalesce(max(open_at), 'epoch')`)},
      'closedSince', ${epochMs(sql`min(closed_since)`)})
    from chat_limits
    -- As platformName in sending/chat-platforms.ts.
    where name in (w.id::text, case w.format when 'teams' then substring(w.url from '^[a-z]+://([^/]+)') else w.format end)
      and open_at between queue_now() - ${pause} and ${latest}
  ) end
`;

function epochMs(time: ReturnType<typeof sql>) {
  return sql`extract(epoch from ${time}) * 1000`;
}

export async function readGate(database: Database, webhookId: string): Promise<Gate | null> {
  const { rows } = await sql<{ gate: Gate | null }>`
    select ${gate} as gate from webhooks w where w.id = ${webhookId}
  `.execute(database);
  return rows[0]?.gate ?? null;
}

/** A webhook that has to wait for longer is looked at this often: it may have another URL, or deliveries that have waited for too long. */
export const lookAgainMs = 300_000;

/**
 * For how many milliseconds the webhook `w` is closed, null unless a look at its deliveries would only put them all back:
 * some may have waited for a day, and during a long wait some may have to be cancelled. Of the platform's gate, each
 * process learns by such a look.
 */
export const closedMs = sql`
  (select (${epochMs(sql`open_at - queue_now()`)})::float8 from chat_limits
   where name = w.id::text and open_at > queue_now()
     and open_at <= queue_now() + ${sql.lit(lookAgainMs)}::int * interval '1 millisecond'
     and coalesce(closed_since, queue_now()) > queue_now() - ${sql.lit(waitMaxMs)}::int * interval '1 millisecond')
`;

/** One that another process was told to leave alone is looked at so much later: that process goes on with it. */
const elsewhereMs = 5_000;
/** Webhooks that are remembered for this; of the others, all processes look later. */
const ownMax = 20_000;
/** What it takes until all processes know of a response. */
const storedMs = 250;

type Dependencies = { database: Database; room: Room; log: Logger };
/** `refused`: whether the platform took nothing of the webhook, because it limits messages. */
type Limit = { name: string; waitMs: number; invalid: number; refused: boolean };

/** Keeps what attempts say about the next ones. One statement at a time, so that many limited channels cost no more than a few. */
export class ChatLimits {
  readonly #dependencies: Dependencies;
  /** Webhooks that the platform told this process to leave alone. */
  readonly #own = new LRUCache<string, true>({ max: ownMax });
  #next = new Map<string, Limit>();
  #stored = Promise.resolve();
  /** Webhooks whose deliveries may have waited for too long, and how many of each were given up already. */
  #failing = new Map<string, { waitedMs: number; count: number }>();
  /** Apart from what is stored, because a webhook may have many. */
  #givenUp = Promise.resolve();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** After an attempt, or the wait instead of it. Resolves when it is stored. Never throws. */
  async keep(
    { webhookId, url, chat }: Deliverable,
    { answer, verdict }: Pick<RecordedAttempt, 'answer' | 'verdict'>,
  ): Promise<void> {
    if (!chat) return;
    const { openAt, now, closedSince } = chat.gate;
    if (answer) {
      this.#own.set(webhookId, answer.webhookMs > 0 || undefined);
      this.#close(webhookId, Math.max(answer.webhookMs, answer.platformMs));
    } else this.leaveAlone(webhookId, openAt - now);
    const limits: Limit[] = [];
    if (answer && (answer.webhookMs > 0 || answer.limited !== (closedSince !== null)))
      limits.push({
        name: webhookId,
        waitMs: answer.webhookMs,
        invalid: 0,
        refused: answer.limited,
      });
    if (answer && (answer.platformMs > 0 || answer.invalid)) {
      const name = platformName(chat.format, urlHost(url));
      const invalid = Number(answer.invalid);
      limits.push({ name, waitMs: answer.platformMs, invalid, refused: false });
    }
    // The other reason is a text of another release, which says nothing about the others of its webhook.
    const isLimited = answer ? answer.limited : openAt > now;
    const isFailing = verdict.kind === 'given_up' && isLimited;
    // The others of this webhook have waited for as long.
    const givenUp = isFailing && this.#giveUp(webhookId, { waitedMs: waitMaxMs, count: 1 });
    if (limits.length > 0) await this.#store(limits);
    if (givenUp) await givenUp;
  }

  /**
   * Leaves a webhook alone that was found closed for so long. Would all processes go on when it opens, each would lease a
   * delivery for one that is sent.
   */
  leaveAlone(webhookId: string, forMs: number): void {
    const goesOn = this.#own.has(webhookId) && forMs <= storedMs;
    const isMine = forMs <= 0 || goesOn || this.#dependencies.room.isAlone();
    if (!isMine) this.#own.delete(webhookId);
    this.#close(webhookId, isMine ? forMs : forMs + elsewhereMs);
  }

  /** Leaves a webhook alone that this process cannot read, however much waits for it. Returns false if there are too many. */
  leaveUnreadable(webhookId: string): boolean {
    return this.#close(webhookId, unreadableWaitMs);
  }

  /**
   * Fails what has waited for too long for a webhook that this process has been unable to read for so many milliseconds.
   * What it waited for before, such as a worker that was down, does not count. Never throws.
   */
  giveUpUnreadable(webhookId: string, forMs: number): Promise<void> {
    // Younger ones may be before it, so its age is not looked at delivery by delivery.
    const waitedMs = forMs > waitMaxMs ? waitMaxMs : unreadableDaysMax * 86_400_000;
    return this.#giveUp(webhookId, { waitedMs, count: 0 });
  }

  #close(webhookId: string, ms: number): boolean {
    return this.#dependencies.room.close(webhookId, Math.min(ms, lookAgainMs));
  }

  #store(limits: Limit[]): Promise<void> {
    if (this.#next.size === 0) this.#stored = this.#stored.then(() => this.#storeAll());
    for (const one of limits) {
      const { waitMs = 0, invalid = 0 } = this.#next.get(one.name) ?? {};
      this.#next.set(one.name, {
        ...one,
        waitMs: Math.max(one.waitMs, waitMs),
        invalid: one.invalid + invalid,
      });
    }
    return this.#stored;
  }

  async #storeAll(): Promise<void> {
    const limits = [...this.#next.values()];
    this.#next.clear();
    // This process waits all the same if it fails, and the next response says it again.
    await this.#attempt('chat_limit.not_stored', ({ database }) => store(database, limits));
  }

  #giveUp(webhookId: string, { waitedMs, count }: { waitedMs: number; count: number }) {
    if (this.#failing.size === 0)
      this.#givenUp = this.#givenUp.then(() =>
        this.#attempt('deliveries.not_given_up', (each) => this.#giveUpAll(each)),
      );
    const known = this.#failing.get(webhookId)?.count ?? 0;
    this.#failing.set(webhookId, { waitedMs, count: known + count });
    return this.#givenUp;
  }

  async #giveUpAll({ database, log }: Dependencies): Promise<void> {
    const failing = [...this.#failing];
    this.#failing.clear();
    for (const [waitedMs, some] of Map.groupBy(failing, ([, each]) => each.waitedMs)) {
      const ids = some.map(([webhookId]) => webhookId);
      const total = new Map(some.map(([webhookId, { count }]) => [webhookId, count]));
      for (let more = true; more;) {
        const ended = await cancelPending(database, ids, 'waited', waitedMs);
        for (const [id, count] of ended.counts) total.set(id, count + (total.get(id) ?? 0));
        more = ended.more;
      }
      for (const [webhookId, count] of total)
        if (count > 0) log.warn({ webhookId, count }, 'deliveries.gave_up');
    }
  }

  async #attempt(
    ifItFails: string,
    work: (dependencies: Dependencies) => Promise<void>,
  ): Promise<void> {
    try {
      await work(this.#dependencies);
    } catch (error) {
      this.#dependencies.log.warn({ reason: (error as Error).message }, ifItFails);
    }
  }
}

async function store(database: Database, given: Limit[]): Promise<void> {
  const column = (pick: (limit: Limit) => string | number | boolean) =>
    arrayLiteral(given.map(pick));
  await sql`
    -- prepared: keep_chat_limits
    with given as materialized (
      select name, case when wait_ms > 0 then queue_now() + wait_ms * interval '1 millisecond' else 'epoch' end as open_at,
        case when refused then queue_now() end as closed_since, invalid, ${windowEnd} as window_ends_at
      from unnest(${column((one) => one.name)}::text[], ${column((one) => one.waitMs)}::bigint[],
        ${column((one) => one.invalid)}::int[], ${column((one) => one.refused)}::boolean[]) as g(name, wait_ms, invalid, refused)
    ),
    -- A row that somebody has locked must not hold up attempts. One index look-up each, however many channels there are.
    free as materialized (
      select g.name, case when c.open_at <= ${latest} then c.open_at end as open_at,
        case when c.open_at between queue_now() - ${pause} and ${latest} then c.closed_since end as closed_since, c.invalid,
        c.window_ends_at, c.window_ends_at > queue_now() and c.window_ends_at <= ${windowEnd} as in_window
      from given g cross join lateral (
        select open_at, closed_since, invalid, window_ends_at from chat_limits where name = g.name
        for update skip locked
      ) c
    ),
    added as (
      select g.name, greatest(g.open_at, f.open_at) as open_at,
        case when g.closed_since is not null then least(g.closed_since, f.closed_since) end as closed_since,
        g.invalid + case when in_window then f.invalid else 0 end as invalid,
        case when in_window then f.window_ends_at else g.window_ends_at end as window_ends_at
      from given g join free f using (name)
    ),
    updated as (
      update chat_limits c set (open_at, closed_since, invalid, window_ends_at) = (
        select case when invalid >= ${invalidMax}::int then greatest(open_at, window_ends_at) else open_at end,
          closed_since, invalid, window_ends_at
        from added where added.name = c.name
      )
      where name = any(array(select name from added))
    )
    insert into chat_limits (name, open_at, closed_since, invalid, window_ends_at)
    select name, open_at, closed_since, invalid, window_ends_at from given
    -- Those that are there may be locked; and in one order, so that two processes never wait for each other.
    where (select true from chat_limits c where c.name = given.name) is null order by name on conflict do nothing
  `.execute(database);
}

/** Removes what is long over. */
export async function dropChatLimits(database: Database): Promise<void> {
  await sql`
    delete from chat_limits
    where greatest(open_at, window_ends_at) not between queue_now() - ${pause} and ${latest}
  `.execute(database);
}
