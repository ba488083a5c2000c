/** What statements about the history of deliveries share: which of them ended undelivered, and ids as times. */
import { sql } from '../../database/database.ts';

/** Ended deliveries that did not arrive, without tests and probes. An index has them. */
export const undelivered = sql`(status <> 'succeeded' and event not in ('webhook.test', 'webhook.probe'))`;

export const dayMs = 86_400_000;

/** A delivery that has failed was queued at most so long before, unless it was sent again. */
export const attemptsDaysMax = 2;

/** The smallest id of a time. No id is from before 1970, and none from after 9999. */
export function idFloor(ms: number) {
  const time = new Date(Math.min(Math.max(ms, 0), Date.parse('9999-12-31T23:59:59.999Z')));
  return sql`uuid_v7_floor(${time.toISOString()}::timestamptz)`;
}
