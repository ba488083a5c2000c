/** Moves a webhook's pending deliveries between the ordinary and the failing lane, to match its last attempt. */
import { sql, type Transaction } from '../../database/database.ts';

/** Rows per statement, which holds locks on webhooks. The rest of a backlog stays, and claims work around it. */
const lookedAtMax = 10_000;

export async function moveBetweenLanes(
  tx: Transaction,
  webhooks: { webhookId: string; failing: boolean }[],
): Promise<void> {
  if (webhooks.length === 0) return;
  const ids = webhooks.map(({ webhookId }) => webhookId);
  const lanes = webhooks.map(({ failing }) => failing);
  await sql`
    -- prepared: move_between_lanes
    with chosen as materialized (
      select p.id from unnest(${ids}::uuid[], ${lanes}::boolean[]) as w(id, failing) cross join lateral (
        select id, failing, lease_token from pending_deliveries
        where webhook_id = w.id order by due_at limit ${sql.lit(lookedAtMax)}
      ) p
      where p.failing <> w.failing and p.lease_token is null
      limit ${sql.lit(lookedAtMax)}
    ),
    free as materialized (
      select p.id from chosen cross join lateral (
        select id from pending_deliveries where id = chosen.id and lease_token is null limit 1
        for update skip locked
      ) p
    )
    update pending_deliveries set failing = not failing where id = any(array(select id from free))
  `.execute(tx);
}
