/**
 * Takes back expired leases: their worker died or froze, so their attempts are recorded as interrupted. The next
 * attempt follows after the normal backoff. Next: `record.ts`.
 */
import { arrayLiteral } from '../../../database/array-literal.ts';
import { changedRows, sql, type Database, type LeftJoined } from '../../../database/database.ts';
import { describeError, type ErrorDescription } from '../../../events/set-aside.ts';
import { systemClock, type Clock } from '../../sending/clock.ts';
import type { RecordedAttempt } from '../../sending/deliver.ts';
import { cycleOf, decideVerdict, type Backoff } from '../../sending/retry.ts';
import type { LeasedDelivery } from '../../sending/deliverable.ts';
import { transactionMaxMs } from '../dispatch/claim.ts';
import { recordMax, recordOrSetAside } from './record.ts';

export type Recovery = {
  /** The attempts that this call, and no other worker, recorded as interrupted. */
  recorded: RecordedAttempt[];
  /** Leases that could not be recovered and are tried again later. */
  failures: ({ leaseToken: string; deliveries: number } & ErrorDescription)[];
  /** Whether more leases may have expired. */
  more: boolean;
  /** The database's time of a look that found nothing; null if it found leases, whether they were recorded or not. */
  floor: string | null;
};
/** How long leases that cannot be recovered wait, so that they do not block the others. */
const tryAgainMs = 30_000;
/** The most deliveries that one statement makes due again. */
const renewMax = 5_000;
export type RecoveryOptions = {
  backoff: Backoff;
  clock?: Clock;
  /** The `floor` of an earlier call. Without it, leases count that ended at any time. */
  since?: string | null;
  /** How long a lease of this process is. */
  leaseMs?: number;
};

export async function recoverLeases(
  database: Database,
  { backoff, clock = systemClock, since = null, leaseMs = 0 }: RecoveryOptions,
): Promise<Recovery> {
  const { at, expired, isComplete } = await listExpired(database, since, leaseMs);
  const done: Pick<Recovery, 'recorded' | 'failures'> = { recorded: [], failures: [] };
  for (const [leaseToken, rows] of Map.groupBy(expired, (one) => one.leaseToken)) {
    const attempts = rows.map((row) => interrupted(row, backoff, clock));
    try {
      // The token guards against double recording: if the worker wakes and records first, this call records nothing.
      const { recorded } = await recordOrSetAside(database, attempts, 'leases');
      done.recorded.push(...recorded);
    } catch (error) {
      done.failures.push({ leaseToken, deliveries: rows.length, ...describeError(error) });
      await postpone(database, leaseToken, rows);
    }
  }
  const floor = expired.length === 0 && isComplete ? at : null;
  return { ...done, more: expired.length === recordMax, floor };
}

type Expired = LeasedDelivery & { leasedAt: Date; durationMs: number };

async function listExpired(
  database: Database,
  since: string | null,
  leaseMs: number,
): Promise<{ at: string; expired: Expired[]; isComplete: boolean }> {
  const hasEnded = sql`
    lease_token is not null and due_at < (select now from clock)
      -- Whatever an earlier look could not see is committed by then.
      and due_at >= coalesce(${since}::timestamptz - ${sql.lit(transactionMaxMs)} * interval '1 millisecond', '-infinity')
  `;
  const { rows } = await sql<{ at: string; isComplete: boolean } & LeftJoined<Expired>>`
    -- prepared: list_expired
    with clock as materialized (select queue_now() as now),
    -- After the database's clock was put back, leases would last longer by as much: they begin again.
    renewed as (
      update pending_deliveries set leased_at = (select now from clock), due_at = (select now from clock) + (due_at - leased_at)
      where ctid = any(array(
        select ctid from pending_deliveries
        -- No other lease ends so late, so this reads an empty range of the index.
        where lease_token is not null and due_at > (select now from clock) + ${leaseMs}::int * interval '1 millisecond'
          and leased_at > (select now from clock) + interval '1 second'
        order by due_at limit ${sql.lit(recordMax)}
        for update skip locked
      ))
    ),
    expired as materialized (
      select id, lease_token as "leaseToken", 0 as "leaseEndsAt", webhook_id as "webhookId", event_id as "eventId", event, trigger,
        attempt_count as number, cycle_attempts as "cycleAttempt",
        (extract(epoch from created_at) * 1000)::float8 as "createdAtMs", leased_at as "leasedAt",
        least(extract(epoch from due_at - leased_at) * 1000, 2147483647)::int as "durationMs"
      from pending_deliveries where ${hasEnded}
      order by due_at limit ${sql.lit(recordMax)}
      -- However many rows somebody has locked, the others come back.
      for update skip locked
    )
    -- Not "exists", which has no order, and may read the queue by webhook.
    select now::text as at, (select true from pending_deliveries where ${hasEnded} order by due_at limit 1) is null as "isComplete", expired.*
    from clock left join expired on true
  `.execute(database);
  const expired = rows.flatMap((row) => (row.id === null ? [] : row));
  return { at: rows[0]?.at ?? '', expired, isComplete: rows[0]?.isComplete ?? false };
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
    errorCause: null,
    responseHeaders: null,
    responseBody: null,
    verdict: decideVerdict(result, cycleOf(delivery), backoff, clock.random(), clock.now()),
  };
}

/** After the database's clock was put back: what was due at `would`, or would be due by now, is due again. */
export async function renewDueTimes(database: Database, would: Date): Promise<void> {
  for (let count = renewMax; count === renewMax;) {
    const renewed = await sql`
      update pending_deliveries set due_at = queue_now()
      where ctid = any(array(
        select ctid from pending_deliveries
        where lease_token is null and not parked and due_at > (select queue_now()) and due_at <= ${would.toISOString()}::timestamptz
        order by due_at limit ${sql.lit(renewMax)}
        for update skip locked
      ))
    `.execute(database);
    count = changedRows(renewed);
  }
}

async function postpone(database: Database, leaseToken: string, rows: Expired[]): Promise<void> {
  const ids = arrayLiteral(rows.map(({ id }) => id));
  await sql`
    update pending_deliveries set due_at = queue_now() + ${tryAgainMs} * interval '1 millisecond'
    where id = any(${ids}::uuid[]) and lease_token = ${leaseToken}
  `.execute(database);
}
