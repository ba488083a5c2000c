/**
 * Records attempts in a batch: the attempt, what becomes of its delivery, and what that means for the
 * webhook, in one transaction. An attempt whose lease was lost to another worker is not recorded.
 */
import { sql, type Database, type Transaction } from '../database/database.ts';
import type { AttemptOutcome } from './attempt.ts';
import type { Verdict } from './retry.ts';
import { cancelPending } from './webhooks.ts';

export type RecordedAttempt = Pick<
  AttemptOutcome,
  'startedAt' | 'durationMs' | 'statusCode' | 'error' | 'responseHeaders' | 'responseBody'
> & {
  deliveryId: string;
  leaseToken: string;
  webhookId: string;
  number: number;
  trigger: 'event' | 'test' | 'redelivery';
  verdict: Verdict;
};

export type Deactivation = { webhookId: string; reason: 'failing' | 'gone' };

/** Returns the webhooks that this batch deactivated. */
export async function recordAttempts(
  database: Database,
  attempts: RecordedAttempt[],
  deactivateAfter: number,
): Promise<Deactivation[]> {
  return database.transaction().execute(async (tx) => {
    const recorded = await store(tx, attempts);
    return settleWebhooks(
      tx,
      attempts.filter(({ deliveryId }) => recorded.has(deliveryId)),
      deactivateAfter,
    );
  });
}

async function store(tx: Transaction, attempts: RecordedAttempt[]): Promise<Set<string>> {
  const column = <T>(pick: (attempt: RecordedAttempt) => T) => attempts.map(pick);
  const { rows } = await sql<{ id: string }>`
    with given as (
      select * from unnest(
        ${column((a) => a.deliveryId)}::uuid[], ${column((a) => a.leaseToken)}::uuid[],
        ${column((a) => a.number)}::int[], ${column((a) => a.trigger)}::text[],
        ${column((a) => a.startedAt.toISOString())}::timestamptz[], ${column((a) => a.durationMs)}::int[],
        ${column((a) => a.statusCode)}::int[], ${column((a) => a.error)}::text[],
        ${column((a) => a.responseHeaders)}::bytea[], ${column((a) => a.responseBody)}::bytea[],
        ${column((a) => a.verdict.kind)}::text[],
        ${column((a) => (a.verdict.kind === 'retry' ? a.verdict.waitMs : 0))}::bigint[]
      ) as g(id, token, number, trigger, started_at, duration_ms, status_code, error, response_headers,
        response_body, verdict, wait_ms)
    ),
    ended as (
      delete from pending_deliveries p using given g
      where p.id = g.id and p.lease_token = g.token and g.verdict <> 'retry'
      returning p.id, p.event_id, p.event, p.webhook_id, g.verdict, p.attempt_count, p.created_at
    ),
    again as (
      update pending_deliveries p
      set lease_token = null, leased_at = null, leased_until = null,
        due_at = clock_timestamp() + g.wait_ms * interval '1 millisecond'
      from given g where p.id = g.id and p.lease_token = g.token and g.verdict = 'retry'
      returning p.id
    ),
    stored as (
      insert into deliveries (id, event_id, event, webhook_id, status, attempt_count, created_at)
      select id, event_id, event, webhook_id, verdict, attempt_count, created_at from ended
    ),
    kept as (select id from ended union all select id from again)
    insert into attempts (delivery_id, number, trigger, started_at, duration_ms, status_code, error,
      response_headers, response_body)
    select g.id, g.number, g.trigger, g.started_at, g.duration_ms, g.status_code, g.error,
      g.response_headers, g.response_body
    from given g join kept on kept.id = g.id
    returning delivery_id as id
  `.execute(tx);
  return new Set(rows.map((row) => row.id));
}

type Tally = {
  successAt: Date | null;
  failureAt: Date | null;
  /** Deliveries that failed for good, since the batch's last success. */
  exhausted: number;
  gone: boolean;
};

async function settleWebhooks(
  tx: Transaction,
  attempts: RecordedAttempt[],
  deactivateAfter: number,
): Promise<Deactivation[]> {
  const tallies = tally(attempts);
  // In the order of ids: workers that record for the same webhooks wait for each other, and do not deadlock.
  const ids = [...tallies.keys()].sort();
  if (ids.length === 0) return [];
  const column = <T>(pick: (one: Tally) => T) => ids.map((id) => pick(tallies.get(id) as Tally));
  const { rows } = await sql<Deactivation>`
    with given as (
      select * from unnest(${ids}::uuid[],
        ${column((t) => t.successAt?.toISOString() ?? null)}::timestamptz[],
        ${column((t) => t.failureAt?.toISOString() ?? null)}::timestamptz[],
        ${column((t) => t.exhausted)}::int[], ${column((t) => t.gone)}::boolean[]
      ) as g(id, success_at, failure_at, exhausted, gone)
    ),
    locked as materialized (
      select w.id, w.active,
        case when g.success_at is null then w.exhausted_in_a_row else 0 end + g.exhausted as exhausted
      from webhooks w join given g on g.id = w.id order by w.id for update of w
    ),
    settled as (
      select l.id, l.exhausted, case
          when not l.active then null
          when g.gone then 'gone'
          when l.exhausted >= ${deactivateAfter} and g.exhausted > 0 then 'failing'
        end as reason
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
    where w.id = s.id
    returning w.id as "webhookId", s.reason
  `.execute(tx);
  const deactivated = rows.filter((row) => row.reason !== null);
  if (deactivated.length > 0)
    await cancelPending(
      tx,
      deactivated.map((row) => row.webhookId),
      'deactivation',
    );
  return deactivated;
}

function tally(attempts: RecordedAttempt[]): Map<string, Tally> {
  const tallies = new Map<string, Tally>();
  for (const attempt of attempts) {
    // Tests count towards nothing (SPEC 4); neither does an attempt that a crash interrupted.
    if (attempt.trigger === 'test' || attempt.error === 'interrupted') continue;
    const before = tallies.get(attempt.webhookId) ?? {
      successAt: null,
      failureAt: null,
      exhausted: 0,
      gone: false,
    };
    tallies.set(attempt.webhookId, add(before, attempt));
  }
  return tallies;
}

function add(
  before: Tally,
  { verdict, startedAt, durationMs, statusCode }: RecordedAttempt,
): Tally {
  const at = new Date(startedAt.getTime() + durationMs);
  if (verdict.kind === 'succeeded') return { ...before, successAt: at, exhausted: 0, gone: false };
  const exhausted = before.exhausted + (verdict.kind === 'failed' ? 1 : 0);
  return {
    ...before,
    failureAt: at,
    exhausted,
    gone: before.gone || (verdict.kind === 'failed' && statusCode === 410),
  };
}
