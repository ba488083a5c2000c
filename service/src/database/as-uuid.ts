import { uuidPattern } from '../contract/patterns.ts';
import { sql } from './database.ts';

/**
 * A text as an id, for a comparison that an index answers; for any other text null, which no id equals. Comparing the
 * column as text reads the whole table instead.
 */
export function asUuid(text: string) {
  return sql`${uuidPattern.test(text) ? text : null}::uuid`;
}
