/** The last attempt of a delivery, as lists show it. */
import type { Attempt } from '../../contract/webhook.ts';
import { sql, type LeftJoined } from '../../database/database.ts';

export type LastAttempt = Pick<Attempt, 'startedAt' | 'durationMs' | 'statusCode' | 'error'>;

export type LastAttemptRow = {
  started_at: Date;
  duration_ms: number;
  status_code: number | null;
  error: Attempt['error'];
};

export const lastAttemptColumns = sql`started_at, duration_ms, status_code, error`;

/** Null if there was none. */
export function lastAttemptOf(row: LeftJoined<LastAttemptRow>): LastAttempt | null {
  if (row.started_at === null) return null;
  return {
    startedAt: row.started_at.toISOString(),
    durationMs: row.duration_ms,
    statusCode: row.status_code,
    error: row.error,
  };
}
