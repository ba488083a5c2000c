/**
 * Takes back expired leases: their worker died or froze, so their attempts are recorded as interrupted. The next
 * attempt follows after the normal backoff. Next: `record.ts`.
 */
import { arrayLiteral } from '../../database/array-literal.ts';
import { sql, type Database } from '../../database/database.ts';
import { systemClock, type Clock } from '../sending/clock.ts';
import type { RecordedAttempt } from '../sending/deliver.ts';
import { cycleOf, decideVerdict, type Backoff } from '../sending/retry.ts';
import type { LeasedDelivery } from '../sending/deliverable.ts';
import { isRefusal, recordAttempts, recordMax } from './record.ts';

export type Recovery = {
  /** The attempts that this call, and no other worker, recorded as interrupted. */
  recorded: RecordedAttempt[];
  failures: RecoveryFailure[];
  /** Whether more leases may have expired. */
  more: boolean;
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
/** Leases that ended longer ago are looked for less often: see `everything`. */
const recentMs = 20_000;

/**
 * Without `everything`, looks for leases that ended recently, and so does not step over rows that are gone but in
 * somebody's snapshot.
 */
export async function recoverLeases(
  database: Database,
  backoff: Backoff,
  clock: Clock = systemClock,
  everything = true,
): Promise<Recovery> {
  const expired = await listExpired(database, everything);
  const recorded: RecordedAttempt[] = [];
  const failures: RecoveryFailure[] = [];
  for (const [leaseToken, rows] of Map.groupBy(expired, (one) => one.leaseToken))
    await recoverTogether(leaseToken, rows);
  return { recorded, failures, more: expired.length === recordMax };

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

async function listExpired(database: Database, everything: boolean): Promise<Expired[]> {
  const { rows } = await sql<Expired>`
    -- prepared: list_expired
    select id, lease_token as "leaseToken", 0 as "leaseEndsAt", webhook_id as "webhookId", event_id as "eventId", event, trigger,
      attempt_count as number, cycle_attempts as "cycleAttempt",
      (extract(epoch from created_at) * 1000)::float8 as "createdAtMs", leased_at as "leasedAt",
      least(extract(epoch from due_at - leased_at) * 1000, 2147483647)::int as "durationMs"
    from pending_deliveries
    where lease_token is not null and due_at < (select queue_now())
      and due_at > (select case when ${everything} then '-infinity' else queue_now() - ${recentMs}::int * interval '1 millisecond' end)
    order by due_at limit ${sql.lit(recordMax)}
  `.execute(database);
  return rows;
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
