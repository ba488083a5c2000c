/**
 * Takes back expired leases: their worker died or froze, so their attempts are recorded as interrupted. The next
 * attempt follows after the normal backoff. Next: `record.ts`.
 */
import { sql, type Database, type LeftJoined } from '../../database/database.ts';
import { systemClock, type Clock } from '../sending/clock.ts';
import type { RecordedAttempt } from '../sending/deliver.ts';
import { recordAttempts } from './record.ts';
import type { Deactivation } from './update-webhook-health.ts';
import { cycleOf, decideVerdict, type Backoff } from '../sending/retry.ts';

export type Recovery = {
  /** The attempts that this call, and no other worker, recorded as interrupted. */
  recorded: RecordedAttempt[];
  /** Webhooks whose last response, before the interruption, was 410. */
  deactivated: Deactivation[];
  failures: RecoveryFailure[];
};
/** A lease that could not be recovered and is tried again later. Leaves out PostgreSQL's `detail`, which shows rows. */
type RecoveryFailure = { leaseToken: string; code: string | null; reason: string };

/**
 * How long an expired lease belongs to the worker that found it. No other worker counts its attempts meanwhile, and a
 * lease that cannot be recorded does not block the others. Its token alone decides what is recorded, however long that
 * takes.
 */
export const recoveryLeaseMs = 30_000;
/** The most leases per call; the next call takes the rest. */
const leasesMax = 1_000;

export async function recoverLeases(
  database: Database,
  backoff: Backoff,
  deactivateAfter: number,
  clock: Clock = systemClock,
): Promise<Recovery> {
  const recorded: RecordedAttempt[] = [];
  const deactivated: Deactivation[] = [];
  const failures: RecoveryFailure[] = [];
  // One lease per transaction: each holds as many deliveries as one claim.
  for (let leases = 0; leases < leasesMax; leases += 1) {
    const lease = await claimExpired(database);
    if (lease === null) break;
    const attempts = lease.deliveries.map((delivery) => interrupted(delivery, backoff, clock));
    try {
      // The token guards against double recording: if the worker wakes and records first, this call records nothing.
      const options = { deactivateAfter, endedLeases: [lease.token] };
      const done = await recordAttempts(database, attempts, options);
      recorded.push(...done.attempts);
      deactivated.push(...done.deactivated);
    } catch (error) {
      failures.push(toFailure(lease.token, error));
    }
  }
  return { recorded, deactivated, failures };
}

type Interrupted = Omit<RecordedAttempt, 'verdict' | 'statusCode' | 'error'>;

async function claimExpired(
  database: Database,
): Promise<{ token: string; deliveries: Interrupted[] } | null> {
  const { rows } = await sql<
    { token: string; durationMs: number } & LeftJoined<Omit<Interrupted, 'durationMs'>>
  >`
    with clock as materialized (select queue_now() as now),
    expired as materialized (
      select * from leases where leased_until < (select now from clock)
      order by leased_until limit 1 for update skip locked
    ),
    taken as (
      update leases set leased_until = (select now from clock) + ${recoveryLeaseMs} * interval '1 millisecond'
      where token = (select token from expired)
    )
    select l.token, p.id as "deliveryId", p.lease_token as "leaseToken", p.webhook_id as "webhookId",
      p.attempt_count as number, p.trigger, p.leased_at as "startedAt",
      least(extract(epoch from l.leased_until - p.leased_at) * 1000, 2147483647)::int as "durationMs",
      null::bytea as "responseHeaders", null::bytea as "responseBody", p.cycle_attempts as "cycleAttempt"
    from expired l
    left join lateral (
      select * from pending_deliveries where id = any(l.delivery_ids) and lease_token = l.token
    ) p on true
  `.execute(database);
  const [first] = rows;
  if (!first) return null;
  // The worker recorded every delivery and died before deleting the lease, so only the lease is left.
  return { token: first.token, deliveries: rows.filter((row) => row.deliveryId !== null) };
}

function interrupted(delivery: Interrupted, backoff: Backoff, clock: Clock): RecordedAttempt {
  const result = { statusCode: null, error: 'interrupted', retryAfter: null } as const;
  return {
    ...delivery,
    statusCode: null,
    error: 'interrupted',
    verdict: decideVerdict(result, cycleOf(delivery), backoff, clock.random(), clock.now()),
  };
}

function toFailure(leaseToken: string, error: unknown): RecoveryFailure {
  const { code } = error as { code?: unknown };
  return {
    leaseToken,
    code: typeof code === 'string' ? code : null,
    reason: error instanceof Error ? error.message : String(error),
  };
}
