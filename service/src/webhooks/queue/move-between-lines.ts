/** Moves what waits for a webhook to the line that fits how its last attempt went. */
import { sql, type Transaction } from '../../database/database.ts';

/**
 * Rows that one statement looks at, the first that fall due: it runs while the webhooks' rows are held. More of a
 * longer backlog stay where they are, and claims go round them.
 */
const lookedAtMax = 10_000;

/** To the failing line, where they keep nobody else waiting, or back; what is in its line already is not touched. */
export async function moveBetweenLines(
  tx: Transaction,
  webhooks: { webhookId: string; failing: boolean }[],
): Promise<void> {
  if (webhooks.length === 0) return;
  const ids = webhooks.map(({ webhookId }) => webhookId);
  const lines = webhooks.map(({ failing }) => failing);
  await sql`
    -- prepared: move_between_lines
    with chosen as materialized (
      select p.id from unnest(${ids}::uuid[], ${lines}::boolean[]) as w(id, failing) cross join lateral (
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
