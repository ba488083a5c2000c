/**
 * How long chat platforms are left alone, over all processes. A response that asks to wait, or says that the next request
 * would have to, closes its webhook; one about the whole platform closes that for everybody. The deliveries wait as those
 * of a webhook without room do: `load-deliveries.ts` reads until when, and `room.ts` claims no more before.
 */
import { arrayLiteral } from '../../../database/array-literal.ts';
import { sql, type Database } from '../../../database/database.ts';
import type { Logger } from '../../../runtime/log.ts';
import { platformName } from '../../sending/chat-platforms.ts';
import type { RecordedAttempt } from '../../sending/deliver.ts';
import type { Deliverable, Gate } from '../../sending/deliverable.ts';
import { retryAfterMaxMs } from '../../sending/retry.ts';
import { urlHost } from '../../sending/url-host.ts';
import { cancelPending } from '../cancel-pending.ts';
import type { Room } from './room.ts';

/**
 * Discord blocks an address after 10,000 of these in ten minutes (https://docs.discord.com/developers/topics/rate-limits).
 * The others are left to requests in flight and to what else calls Discord from this address, such as the sync of member
 * counts, which stops by itself (`sync/provider-rate-limit.ts`).
 */
export const invalidMax = 5_000;
const windowEnd = sql`queue_now() + interval '10 minutes'`;

/** No wait ends later; one that would is from before the database's clock was put back. */
const latest = sql`queue_now() + ${sql.lit(retryAfterMaxMs)}::int * interval '1 millisecond'`;

/** A wait that begins later than this after the last one does not follow it. */
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

type Dependencies = { database: Database; room: Room; log: Logger };
type Limit = { name: string; waitMs: number; invalid: number };

/** Keeps what attempts say about the next ones. One statement at a time, so that many limited channels cost no more than a few. */
export class ChatLimits {
  readonly #dependencies: Dependencies;
  #next = new Map<string, Limit>();
  #stored = Promise.resolve();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** After an attempt, or the wait instead of it. Resolves when it is stored. Never throws. */
  async keep(
    { webhookId, url, chat }: Deliverable,
    { answer, verdict }: Pick<RecordedAttempt, 'answer' | 'verdict'>,
  ): Promise<void> {
    if (!chat) return;
    const { openAt, now } = chat.gate;
    const waitMs = answer ? Math.max(answer.webhookMs, answer.platformMs) : openAt - now;
    this.#dependencies.room.close(webhookId, Math.min(waitMs, lookAgainMs));
    if (verdict.kind === 'given_up') await this.#failOld(webhookId);
    if (!answer || (waitMs === 0 && !answer.invalid)) return;
    const platform = platformName(chat.format, urlHost(url));
    await this.#store([
      { name: webhookId, waitMs: answer.webhookMs, invalid: 0 },
      { name: platform, waitMs: answer.platformMs, invalid: Number(answer.invalid) },
    ]);
  }

  /** The others of its webhook have waited for as long. */
  async #failOld(webhookId: string): Promise<void> {
    await this.#attempt(async ({ database }) => {
      await cancelPending(database, [webhookId], 'waited');
    });
  }

  #store(limits: Limit[]): Promise<void> {
    if (this.#next.size === 0)
      this.#stored = this.#stored.then(() => {
        const all = [...this.#next.values()];
        this.#next = new Map();
        return this.#attempt(({ database }) => store(database, all));
      });
    for (const { name, waitMs, invalid } of limits) {
      if (waitMs + invalid === 0) continue;
      const before = this.#next.get(name) ?? { waitMs: 0, invalid: 0 };
      this.#next.set(name, {
        name,
        waitMs: Math.max(waitMs, before.waitMs),
        invalid: invalid + before.invalid,
      });
    }
    return this.#stored;
  }

  /** This process waits all the same if it fails, and the next response says it again. */
  async #attempt(work: (dependencies: Dependencies) => Promise<void>): Promise<void> {
    try {
      await work(this.#dependencies);
    } catch (error) {
      this.#dependencies.log.warn({ reason: (error as Error).message }, 'chat_limit.not_stored');
    }
  }
}

async function store(database: Database, given: Limit[]): Promise<void> {
  const column = (pick: (limit: Limit) => string | number) => arrayLiteral(given.map(pick));
  await sql`
    -- prepared: keep_chat_limits
    with given as materialized (
      select name, queue_now() + wait_ms * interval '1 millisecond' as open_at, queue_now() as closed_since, invalid,
        ${windowEnd} as window_ends_at
      from unnest(${column((one) => one.name)}::text[], ${column((one) => one.waitMs)}::bigint[],
        ${column((one) => one.invalid)}::int[]) as g(name, wait_ms, invalid)
    ),
    -- A row that somebody has locked must not hold up attempts.
    free as materialized (
      select name, case when open_at <= ${latest} then open_at end as open_at,
        case when open_at between queue_now() - ${pause} and ${latest} then closed_since end as closed_since, invalid, window_ends_at,
        window_ends_at > queue_now() and window_ends_at <= ${windowEnd} as in_window
      from chat_limits where name in (select name from given) order by name for update skip locked
    ),
    added as (
      select g.name, greatest(g.open_at, f.open_at) as open_at, least(g.closed_since, f.closed_since) as closed_since,
        g.invalid + case when in_window then f.invalid else 0 end as invalid,
        case when in_window then f.window_ends_at else g.window_ends_at end as window_ends_at
      from given g join free f using (name)
    ),
    updated as (
      update chat_limits c set closed_since = a.closed_since, invalid = a.invalid, window_ends_at = a.window_ends_at,
        open_at = case when a.invalid >= ${invalidMax}::int then greatest(a.open_at, a.window_ends_at) else a.open_at end
      from added a where c.name = a.name
    )
    insert into chat_limits (name, open_at, closed_since, invalid, window_ends_at)
    select name, open_at, closed_since, invalid, window_ends_at from given on conflict do nothing
  `.execute(database);
}

/** Removes what is long over. */
export async function dropChatLimits(database: Database): Promise<void> {
  await sql`
    delete from chat_limits
    where greatest(open_at, window_ends_at) not between queue_now() - ${pause} and ${latest}
  `.execute(database);
}
