/** Ends what waits for webhooks that get no more. What is under way ends by itself. */
import { sql, type Transaction } from '../../database/database.ts';

type Cancellation = {
  /** How many ended, by webhook. */
  counts: Map<string, number>;
  /** Whether more may wait than one statement ends. */
  more: boolean;
};

/**
 * In one statement, whatever waits and for however many webhooks: it runs while their rows are held, and within the
 * time that a statement may take. What is left over a claim cancels when it falls due, for the same reason.
 */
const cancelledMax = 10_000;

export async function cancelPending(
  tx: Transaction,
  webhookIds: string[],
  reason: 'deactivation' | 'deletion',
): Promise<Cancellation> {
  const { rows } = await sql<{ id: string; count: number }>`
    -- prepared: cancel_pending
    with chosen as materialized (
      select p.id from unnest(${webhookIds}::uuid[]) as w(id) cross join lateral (
        select id from pending_deliveries
        where webhook_id = w.id and lease_token is null
        order by due_at limit ${sql.lit(cancelledMax)}
        -- What a claim holds at this moment is under way next, or cancelled by it.
        for update skip locked
      ) p limit ${sql.lit(cancelledMax)}
    ),
    ended as (
      delete from pending_deliveries where id = any(array(select id from chosen))
      returning id, event_id, event, webhook_id, attempt_count, created_at
    ),
    kept as (
      insert into deliveries (id, event_id, event, webhook_id, status, attempt_count, created_at, cancelled_by)
      select id, event_id, event, webhook_id, 'cancelled', attempt_count, created_at, ${reason}::text from ended
      returning webhook_id
    )
    select webhook_id as id, count(*) as count from kept group by webhook_id
  `.execute(tx);
  const counts = new Map(rows.map(({ id, count }) => [id, count]));
  const total = rows.reduce((sum, { count }) => sum + count, 0);
  return { counts, more: total >= cancelledMax };
}
