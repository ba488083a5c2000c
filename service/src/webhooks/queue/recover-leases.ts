/**
 * Takes back expired leases: their worker died or froze, so their attempts are recorded as interrupted. The next
 * attempt follows after the normal backoff. Next: `record.ts`.
 */
import { arrayLiteral } from '../../database/array-literal.ts';
import { sql, type Database, type LeftJoined } from '../../database/database.ts';
import { systemClock, type Clock } from '../sending/clock.ts';
import type { RecordedAttempt } from '../sending/deliver.ts';
import { cycleOf, decideVerdict, type Backoff } from '../sending/retry.ts';
import type { LeasedDelivery } from '../sending/deliverable.ts';
import { transactionMaxMs } from './claim.ts';
import { isRefusal, recordAttempts, recordMax } from './record.ts';

export type Recovery = {
  /** The attempts that this call, and no other worker, recorded as interrupted. */
  recorded: RecordedAttempt[];
  failures: RecoveryFailure[];
  /** Whether more leases may have expired. */
  more: boolean;
  /** The database's time of a look that found nothing; null if it found leases, whether they were recorded or not. */
  floor: string | null;
};
/** Leases that could not be recovered and are tried again later. Leaves out PostgreSQL's `detail`, which shows rows. */
type RecoveryFailure = {
  leaseToken: string;
  deliveries: number;
  code: string | null;
  reason: string;
};

/** How long leases that cannot be recovered wait, so that they do not block the others. */
const tryAgainMs = 30_000;
export type RecoveryOptions = {
  backoff: Backoff;
  clock?: Clock;
  /** The `floor` of an earlier call. Without it, leases count that ended at any time. */
  since?: string | null;
};

export async function recoverLeases(
  database: Database,
  { backoff, clock = systemClock, since = null }: RecoveryOptions,
): Promise<Recovery> {
  const { at, expired } = await listExpired(database, since);
  const recorded: RecordedAttempt[] = [];
  const failures: RecoveryFailure[] = [];
  for (const [leaseToken, rows] of Map.groupBy(expired, (one) => one.leaseToken))
    await recoverTogether(leaseToken, rows);
  const floor = expired.length === 0 ? at : null;
  return { recorded, failures, more: expired.length === recordMax, floor };

  async function recoverTogether(leaseToken: string, rows: Expired[]): Promise<void> {
    const attempts = rows.map((row) => interrupted(row, backoff, clock));
    try {
      // The token guards against double recording: if the worker wakes and records first, this call records nothing.
      recorded.push(...(await recordAttempts(database, attempts)));
    } catch (error) {
      // One delivery that PostgreSQL rejects must not keep back all that its process held.
      if (isRefusal(error) && rows.length > 1)
        for (const row of rows) await recoverTogether(leaseToken, [row]);
      else {
        failures.push(toFailure(leaseToken, rows.length, error));
        const ids = rows.map(({ id }) => id);
        await postpone(database, leaseToken, ids);
      }
    }
  }
}

type Expired = LeasedDelivery & { leasedAt: Date; durationMs: number };

async function listExpired(
  database: Database,
  since: string | null,
): Promise<{ at: string; expired: Expired[] }> {
  const { rows } = await sql<{ at: string } & LeftJoined<Expired>>`
    -- prepared: list_expired
    with clock as materialized (select queue_now() as now)
    select now::text as at, e.* from clock left join lateral (
      select id, lease_token as "leaseToken", 0 as "leaseEndsAt", webhook_id as "webhookId", event_id as "eventId", event, trigger,
        attempt_count as number, cycle_attempts as "cycleAttempt",
        (extract(epoch from created_at) * 1000)::float8 as "createdAtMs", leased_at as "leasedAt",
        least(extract(epoch from due_at - leased_at) * 1000, 2147483647)::int as "durationMs"
      from pending_deliveries
      where lease_token is not null and due_at < (select now from clock)
        -- Whatever an earlier look could not see is committed by then.
        and due_at >= coalesce(${since}::timestamptz - ${sql.lit(transactionMaxMs)} * interval '1 millisecond', '-infinity')
      order by due_at limit ${sql.lit(recordMax)}
    ) e on true
  `.execute(database);
  const expired = rows.flatMap((row) => (row.id === null ? [] : row));
  return { at: rows[0]?.at ?? '', expired };
}

function interrupted(
  { leasedAt, durationMs, ...delivery }: Expired,
  backoff: Backoff,
  clock: Clock,
): RecordedAttempt {
  const result = { statusCode: null, error: 'interrupted', retryAfter: null } as const;
  return {
    delivery,
    startedAt: leasedAt,
    durationMs,
    statusCode: null,
    error: 'interrupted',
    responseHeaders: null,
    responseBody: null,
    verdict: decideVerdict(result, cycleOf(delivery), backoff, clock.random(), clock.now()),
  };
}

async function postpone(database: Database, leaseToken: string, ids: string[]): Promise<void> {
  await sql`
    update pending_deliveries set due_at = queue_now() + ${tryAgainMs} * interval '1 millisecond'
    where id = any(${arrayLiteral(ids)}::uuid[]) and lease_token = ${leaseToken}
  `.execute(database);
}

function toFailure(leaseToken: string, deliveries: number, error: unknown): RecoveryFailure {
  const { code } = error as { code?: unknown };
  return {
    leaseToken,
    deliveries,
    code: typeof code === 'string' ? code : null,
    reason: error instanceof Error ? error.message : String(error),
  };
}
