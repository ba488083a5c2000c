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
import type { Deliverable } from '../../sending/deliverable.ts';
import { retryAfterMaxMs } from '../../sending/retry.ts';
import { urlHost } from '../../sending/url-host.ts';
import type { Room } from './room.ts';

/**
 * Discord blocks an address after 10,000 of these in ten minutes (https://docs.discord.com/developers/topics/rate-limits).
 * The other half is left to requests in flight and to what else calls Discord from this address.
 */
export const invalidMax = 5_000;
const windowEnd = sql`queue_now() + interval '10 minutes'`;

/** No wait ends later; one that would is from before the database's clock was put back. */
const latest = sql`queue_now() + ${sql.lit(retryAfterMaxMs)}::int * interval '1 millisecond'`;

/** How long nothing may be sent for the webhook `w`, in milliseconds; null unless it posts into a chat channel. */
export const closedMs = sql`
  case when w.format <> 'json' then (
    select greatest(extract(epoch from max(open_at) - queue_now()) * 1000, 0)::float8 from chat_limits
    -- As platformName in sending/chat-platforms.ts.
    where name in (w.id::text, case w.format when 'teams' then substring(w.url from '^[a-z]+://([^/]+)') else w.format end)
      and open_at <= ${latest}
  ) end
`;

/** 0 if something may be sent. */
export async function readClosedMs(database: Database, webhookId: string): Promise<number> {
  const { rows } = await sql<{ ms: number | null }>`
    select ${closedMs} as ms from webhooks w where w.id = ${webhookId}
  `.execute(database);
  return rows[0]?.ms ?? 0;
}

/** How often a webhook that has to wait for longer is looked at: a delivery may have waited for too long. */
export const lookAgainMs = 3_600_000;

type Dependencies = { database: Database; room: Room; log: Logger };

/** Keeps what an attempt, or the wait before it, says about the next one. Never throws. */
export async function keepChatLimits(
  { database, room, log }: Dependencies,
  { webhookId, url, chat }: Deliverable,
  { answer, verdict }: Pick<RecordedAttempt, 'answer' | 'verdict'>,
): Promise<void> {
  if (!chat) return;
  const waitMs = answer ? Math.max(answer.webhookMs, answer.platformMs) : chat.closedMs;
  // Those behind a delivery that has waited for too long may have, too.
  if (verdict.kind !== 'given_up') room.close(webhookId, Math.min(waitMs, lookAgainMs));
  if (!answer || (waitMs === 0 && !answer.invalid)) return;
  try {
    await store(database, [
      { name: webhookId, waitMs: answer.webhookMs, invalid: 0 },
      {
        name: platformName(chat.format, urlHost(url)),
        waitMs: answer.platformMs,
        invalid: Number(answer.invalid),
      },
    ]);
  } catch (error) {
    // This process waits all the same, and the next response says it again.
    log.warn({ webhookId, reason: (error as Error).message }, 'chat_limit.not_stored');
  }
}

type Limit = { name: string; waitMs: number; invalid: number };

async function store(database: Database, all: Limit[]): Promise<void> {
  const given = all.filter(({ waitMs, invalid }) => waitMs + invalid > 0);
  const column = (pick: (limit: Limit) => string | number) => arrayLiteral(given.map(pick));
  await sql`
    -- prepared: keep_chat_limits
    with given as materialized (
      select name, queue_now() + wait_ms * interval '1 millisecond' as open_at, invalid,
        ${windowEnd} as window_ends_at
      from unnest(${column((one) => one.name)}::text[], ${column((one) => one.waitMs)}::bigint[],
        ${column((one) => one.invalid)}::int[]) as g(name, wait_ms, invalid)
    ),
    -- A row that somebody has locked must not hold up attempts.
    free as materialized (
      select name, case when open_at <= ${latest} then open_at end as open_at, invalid, window_ends_at,
        window_ends_at > queue_now() and window_ends_at <= ${windowEnd} as in_window
      from chat_limits where name in (select name from given) order by name for update skip locked
    ),
    added as (
      select g.name, greatest(g.open_at, f.open_at) as open_at,
        g.invalid + case when in_window then f.invalid else 0 end as invalid,
        case when in_window then f.window_ends_at else g.window_ends_at end as window_ends_at
      from given g join free f using (name)
    ),
    updated as (
      update chat_limits c set invalid = a.invalid, window_ends_at = a.window_ends_at,
        open_at = case when a.invalid >= ${invalidMax}::int then greatest(a.open_at, a.window_ends_at) else a.open_at end
      from added a where c.name = a.name
    )
    insert into chat_limits (name, open_at, invalid, window_ends_at)
    select name, open_at, invalid, window_ends_at from given on conflict do nothing
  `.execute(database);
}

/** Removes what is long over. */
export async function dropChatLimits(database: Database): Promise<void> {
  await sql`
    delete from chat_limits
    where greatest(open_at, window_ends_at) not between queue_now() - interval '1 hour' and ${latest}
  `.execute(database);
}
