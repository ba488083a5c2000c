/** Finds the last response to deliveries whose last attempt got none. */
import { sql, type Transaction } from '../../database/database.ts';

/** Returns the deliveries whose last response in the cycle was 410. `ended` has each delivery's last attempt. */
export async function findGone(
  tx: Transaction,
  ended: { deliveryId: string; number: number; cycleAttempt: number }[],
): Promise<Set<string>> {
  if (ended.length === 0) return new Set();
  const { rows } = await sql<{ id: string }>`
    -- prepared: last_responses
    select e.id from unnest(${ended.map((one) => one.deliveryId)}::uuid[], ${ended.map((one) => one.number)}::int[],
      ${ended.map((one) => one.number - one.cycleAttempt)}::int[]) as e(id, number, before)
    cross join lateral (
      select status_code from attempts
      where delivery_id = e.id and number > e.before and number < e.number
        and status_code is not null
      order by number desc limit 1
    ) response
    where response.status_code = 410
  `.execute(tx);
  return new Set(rows.map(({ id }) => id));
}
