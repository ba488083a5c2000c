/**
 * Cancels the pending deliveries of webhooks that get no more, or fails those that have waited for too long for a platform or
 * for the key of a secret.
 * Attempts in flight end by themselves.
 */
import { sql, type Executor } from '../../database/database.ts';
import { waitMaxMs } from '../sending/retry.ts';

type Cancellation = {
  /** How many ended, by webhook. */
  counts: Map<string, number>;
  /** Whether more may be pending than one statement cancels. */
  more: boolean;
};

/**
 * The bound of the one statement, for any number of webhooks: it runs while their rows are locked and must stay within
 * the statement timeout. The rest is cancelled when it is loaded for an attempt, with the same reason.
 */
const cancelledMax = 10_000;

/** For the column `by_failure`: whether the webhook `webhook_id` has failed, if a deactivation cancels its deliveries. */
export function byFailure(cancelledBy: ReturnType<typeof sql>) {
  return sql`
    case when ${cancelledBy} = 'deactivation'
      then (select deactivated_reason in ('failing', 'gone') from webhooks w where w.id = webhook_id) end
  `;
}

/** `waited`: only those that are older than `waitedMs` and would be sent now. */
export async function cancelPending(
  executor: Executor,
  webhookIds: string[],
  reason: 'deactivation' | 'deletion' | 'suspension' | 'waited',
  waitedMs = waitMaxMs,
): Promise<Cancellation> {
  const { rows } = await sql<{ id: string; count: number }>`
    -- prepared: cancel_pending
    with chosen as materialized (
      select p.id from unnest(${webhookIds}::uuid[]) as w(id) cross join lateral (
        select id from pending_deliveries
        where webhook_id = w.id and lease_token is null
          -- A webhook that is deactivated as failing is probed.
          and (trigger <> 'probe' or ${reason}::text = 'deletion')
          -- It may be active again since somebody saw that it is not.
          and (${reason}::text not in ('deactivation', 'suspension') or (select not active from webhooks x where x.id = w.id))
          -- Another process may have had a response, and waits with the next attempt.
          and (${reason}::text <> 'waited' or parked and created_at < queue_now() - ${waitedMs}::float8 * interval '1 millisecond')
        order by due_at limit ${sql.lit(cancelledMax)}
        -- Skips rows that a claim has locked: they are cancelled when they are loaded.
        for update skip locked
      ) p limit ${sql.lit(cancelledMax)}
    ),
    ended as (
      delete from pending_deliveries where id = any(array(select id from chosen))
      returning id, event_id, event, webhook_id, attempt_count, created_at, trigger
    ),
    kept as (
      insert into deliveries (id, event_id, event, webhook_id, status, attempt_count, created_at, cancelled_by, by_failure, first_outcome_ms)
      select id, event_id, event, webhook_id, case ${reason}::text when 'waited' then 'failed' else 'cancelled' end,
        attempt_count, created_at, nullif(${reason}::text, 'waited'), ${byFailure(sql`${reason}::text`)},
        case when trigger = 'event' then 0 end
      from ended
      returning webhook_id
    )
    select webhook_id as id, count(*) as count from kept group by webhook_id
  `.execute(executor);
  const counts = new Map(rows.map(({ id, count }) => [id, count]));
  const total = rows.reduce((sum, { count }) => sum + count, 0);
  return { counts, more: total >= cancelledMax };
}
