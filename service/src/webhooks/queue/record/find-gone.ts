/** Finds the last response to deliveries whose last attempt got none. */
import { sql, type Database } from '../../../database/database.ts';
import type { RecordedAttempt } from '../../sending/deliver.ts';

/** Returns the deliveries that failed now without a response and whose last response in the cycle was 410. */
export async function findGone(
  database: Database,
  attempts: RecordedAttempt[],
): Promise<Set<string>> {
  const ended = attempts.flatMap(({ delivery, verdict, statusCode }) =>
    verdict.kind === 'failed' &&
    statusCode === null &&
    delivery.trigger !== 'test' &&
    delivery.trigger !== 'probe'
      ? delivery
      : [],
  );
  if (ended.length === 0) return new Set();
  const { rows } = await sql<{ id: string }>`
    -- prepared: last_responses
    select e.id from unnest(${ended.map((one) => one.id)}::uuid[], ${ended.map((one) => one.number)}::int[],
      ${ended.map((one) => one.number - one.cycleAttempt)}::int[]) as e(id, number, before)
    cross join lateral (
      select status_code from attempts
      where delivery_id = e.id and number > e.before and number < e.number
        and status_code is not null
      order by number desc limit 1
    ) response
    where response.status_code = 410
  `.execute(database);
  return new Set(rows.map(({ id }) => id));
}
