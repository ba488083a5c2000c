/**
 * What attempts mean for their webhooks: when each last succeeded and failed, how many deliveries in a row are
 * exhausted, whether that deactivates it, and what its owner must hear of. Called by `record.ts` in the transaction
 * that stores the attempts.
 */
import { sql, type Transaction } from '../database/database.ts';
import { recordOperationalEvents } from './operational-events.ts';
import type { RecordedAttempt } from './record.ts';
import { cancelPending } from './webhooks.ts';

export type Deactivation = {
  webhookId: string;
  reason: 'failing' | 'gone';
  /** Deliveries that waited and were cancelled with it. */
  cancelled: number;
};

type Tally = {
  successAt: Date | null;
  failureAt: Date | null;
  /** Deliveries that failed for good in a row: before the first success here, at most since, and since the last. */
  leading: number;
  peak: number;
  exhausted: number;
  gone: boolean;
  /** What the last failure was answered, or why nothing was. */
  statusCode: number | null;
  error: RecordedAttempt['error'];
};

type Settled = {
  webhookId: string;
  appId: string;
  url: string;
  exhausted: number;
  lastSuccessAt: Date | null;
  reason: Deactivation['reason'] | null;
  /** Whether this batch holds the first exhausted delivery since a success. */
  begins: boolean;
  /** Whether its last attempt failed, and the one before these had not. */
  turnedFailing: boolean;
};

/** Of one webhook at once. More of a longer backlog stay where they are: claims go round them. */
const movedMax = 10_000;

/** Returns the webhooks that these attempts deactivated; their pending deliveries are cancelled. */
export async function settleWebhooks(
  tx: Transaction,
  attempts: RecordedAttempt[],
  deactivateAfter: number,
): Promise<Deactivation[]> {
  const tallies = tally(attempts);
  // In the order of ids: workers that record for the same webhooks wait for each other, and do not deadlock.
  const ids = [...tallies.keys()].sort();
  if (ids.length === 0) return [];
  const column = <T>(pick: (one: Tally) => T) => ids.map((id) => pick(tallies.get(id) as Tally));
  const { rows } = await sql<Settled>`
    -- prepared: settle
    with given as (
      select * from unnest(${ids}::uuid[],
        ${column((t) => t.successAt?.toISOString() ?? null)}::timestamptz[],
        ${column((t) => t.failureAt?.toISOString() ?? null)}::timestamptz[],
        ${column((t) => t.leading)}::int[], ${column((t) => t.peak)}::int[], ${column((t) => t.exhausted)}::int[],
        ${column((t) => t.gone)}::boolean[]
      ) as g(id, success_at, failure_at, first_run, peak, exhausted, gone)
    ),
    locked as materialized (
      select w.id, w.active, w.exhausted_in_a_row as before, is_failing(w.last_success_at, w.last_failure_at) as was_failing,
        case when g.success_at is null then w.exhausted_in_a_row else 0 end + g.exhausted as exhausted
      from webhooks w join given g on g.id = w.id and w.id = any(${ids}::uuid[])
      -- A success after a success is written down once a second: a busy webhook's row would cost more than its deliveries.
      where g.failure_at is not null or w.exhausted_in_a_row > 0 or is_failing(w.last_success_at, w.last_failure_at)
        or w.last_success_at is null or w.last_success_at < g.success_at - interval '1 second'
      order by w.id for update of w
    ),
    settled as (
      select l.id, l.exhausted, l.was_failing, case
          when not l.active then null
          when g.gone then 'gone'
          -- A success that came with them comes too late for those before it.
          when g.first_run > 0 and l.before + g.first_run >= ${deactivateAfter} or g.peak >= ${deactivateAfter} then 'failing'
        end as reason,
        l.active and g.exhausted > 0 and (l.before = 0 or g.success_at is not null) as begins
      from locked l join given g on g.id = l.id
    )
    update webhooks w
    set last_success_at = greatest(w.last_success_at, g.success_at),
      last_failure_at = greatest(w.last_failure_at, g.failure_at),
      exhausted_in_a_row = s.exhausted,
      active = w.active and s.reason is null,
      deactivated_at = case when s.reason is null then w.deactivated_at else now() end,
      deactivated_reason = coalesce(s.reason, w.deactivated_reason),
      -- as its owner reads it: deactivation is a change of the webhook, a delivery is not
      updated_at = case when s.reason is null then w.updated_at else now() end
    from settled s join given g on g.id = s.id
    where w.id = s.id and w.id = any(${ids}::uuid[])
    returning w.id as "webhookId", w.app_id as "appId", w.url, w.exhausted_in_a_row as exhausted,
      w.last_success_at as "lastSuccessAt", s.reason, s.begins,
      not s.was_failing and is_failing(w.last_success_at, w.last_failure_at) as "turnedFailing"
  `.execute(tx);
  const deactivated = await cancelDeliveries(tx, rows);
  await moveToOtherLine(tx, rows);
  await tellOwners(tx, rows, tallies, deactivated);
  return deactivated;
}

async function cancelDeliveries(tx: Transaction, rows: Settled[]): Promise<Deactivation[]> {
  const deactivated = rows.flatMap(({ webhookId, reason }) =>
    reason ? [{ webhookId, reason }] : [],
  );
  if (deactivated.length === 0) return [];
  const cancelled = await cancelPending(
    tx,
    deactivated.map(({ webhookId }) => webhookId),
    'deactivation',
  );
  return deactivated.map(({ webhookId, reason }) => ({
    webhookId,
    reason,
    cancelled: cancelled.get(webhookId) ?? 0,
  }));
}

/** What waits for a webhook that has begun to fail waits where it keeps nobody else waiting. */
async function moveToOtherLine(tx: Transaction, rows: Settled[]): Promise<void> {
  const ids = rows.flatMap(({ webhookId, turnedFailing }) => (turnedFailing ? [webhookId] : []));
  if (ids.length === 0) return;
  await sql`
    update pending_deliveries set failing = true
    where id = any(array(
      select p.id from unnest(${ids}::uuid[]) as w(id) cross join lateral (
        select id from pending_deliveries
        where webhook_id = w.id and lease_token is null and not failing limit ${movedMax}
        for update skip locked
      ) p
    ))
  `.execute(tx);
}

/** Once when a webhook begins to fail, and once when it is deactivated; where both come together, the latter says it all. */
async function tellOwners(
  tx: Transaction,
  rows: Settled[],
  tallies: Map<string, Tally>,
  deactivated: Deactivation[],
): Promise<void> {
  const cancelled = new Map(deactivated.map((each) => [each.webhookId, each.cancelled]));
  const told = rows.filter(({ reason, begins }) => reason !== null || begins);
  await recordOperationalEvents(
    tx,
    told.map(({ webhookId, appId, url, exhausted, lastSuccessAt, reason }) => {
      const { statusCode, error } = tallies.get(webhookId) as Tally;
      return {
        appId,
        webhookId,
        kind: reason ? 'webhook.deactivated' : 'webhook.failing',
        reason,
        statusCode,
        error,
        exhaustedInARow: exhausted,
        cancelled: cancelled.get(webhookId) ?? 0,
        host: new URL(url).host,
        lastSuccessAt,
      } as const;
    }),
  );
}

function tally(attempts: RecordedAttempt[]): Map<string, Tally> {
  const tallies = new Map<string, Tally>();
  for (const attempt of attempts) {
    // Tests count towards nothing (SPEC 4); neither does an attempt that a crash interrupted.
    if (attempt.trigger === 'test' || attempt.error === 'interrupted') continue;
    const before = tallies.get(attempt.webhookId) ?? {
      successAt: null,
      failureAt: null,
      leading: 0,
      peak: 0,
      exhausted: 0,
      gone: false,
      statusCode: null,
      error: null,
    };
    tallies.set(attempt.webhookId, add(before, attempt));
  }
  return tallies;
}

function add(
  before: Tally,
  { verdict, startedAt, durationMs, statusCode, error }: RecordedAttempt,
): Tally {
  const at = new Date(startedAt.getTime() + durationMs);
  if (verdict.kind === 'succeeded') return { ...before, successAt: at, exhausted: 0 };
  const exhausted = before.exhausted + (verdict.kind === 'failed' ? 1 : 0);
  return {
    ...before,
    failureAt: at,
    leading: before.successAt === null ? exhausted : before.leading,
    peak: before.successAt === null ? 0 : Math.max(before.peak, exhausted),
    exhausted,
    statusCode,
    error,
    gone: before.gone || (verdict.kind === 'failed' && statusCode === 410),
  };
}
