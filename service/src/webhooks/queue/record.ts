/**
 * Records a batch of attempts in one transaction: the attempts, the new state of their deliveries, and the health of
 * their webhooks. Skips attempts whose lease another worker has taken back. Next: `update-webhook-health.ts`.
 */
import { arrayLiteral } from '../../database/array-literal.ts';
import { packBytes } from '../../database/pack-bytes.ts';
import { sql, type Database, type Transaction } from '../../database/database.ts';
import type { RecordedAttempt } from '../sending/deliver.ts';
import { updateWebhookHealth, type Deactivation } from './update-webhook-health.ts';

export type RecordOptions = {
  deactivateAfter: number;
  /** Leases that have nothing under way once these attempts are recorded. */
  endedLeases: string[];
};

export type Recorded = {
  /** Excludes attempts whose lease was taken back. */
  attempts: RecordedAttempt[];
  deactivated: Deactivation[];
};

export async function recordAttempts(
  database: Database,
  attempts: RecordedAttempt[],
  { deactivateAfter, endedLeases }: RecordOptions,
): Promise<Recorded> {
  return database.transaction().execute(async (tx) => {
    const left = await store(tx, attempts, endedLeases);
    const recorded = left.size === 0 ? attempts : attempts.filter((_, index) => !left.has(index));
    return {
      attempts: recorded,
      deactivated: await updateWebhookHealth(tx, recorded, deactivateAfter),
    };
  });
}

/** Returns the indexes of attempts that were not stored because their lease was lost or nothing was sent. */
async function store(
  tx: Transaction,
  attempts: RecordedAttempt[],
  endedLeases: string[],
): Promise<Set<number>> {
  const column = (pick: (attempt: RecordedAttempt) => string | number | null) =>
    arrayLiteral(attempts.map(pick));
  const headers = packBytes(attempts.map((a) => a.responseHeaders));
  const bodies = packBytes(attempts.map((a) => a.responseBody));
  const { rows } = await sql<{ place: number }>`
    -- prepared: record
    with given as materialized (
      select * from unnest(
        ${column((a) => a.deliveryId)}::uuid[], ${column((a) => a.leaseToken)}::uuid[],
        ${column((a) => a.number)}::int[], ${column((a) => a.trigger)}::text[],
        ${column((a) => a.startedAt.getTime())}::bigint[], ${column((a) => a.durationMs)}::int[],
        ${column((a) => a.statusCode)}::int[], ${column((a) => a.error)}::text[],
        ${column((a) => a.verdict.kind)}::text[],
        ${column((a) => ('waitMs' in a.verdict ? a.verdict.waitMs : 0))}::bigint[],
        ${headers.starts}::int[], ${headers.lengths}::int[], ${bodies.starts}::int[], ${bodies.lengths}::int[]
      ) with ordinality as g(id, token, number, trigger, started_ms, duration_ms, status_code, error, verdict, wait_ms,
        headers_start, headers_length, body_start, body_length, place)
    ),
    ended as (
      delete from pending_deliveries p using given g
      where p.id = g.id and p.id = any(array(select id from given)) and p.lease_token = g.token and g.verdict in ('succeeded', 'failed')
      returning p.id, g.token, p.event_id, p.event, p.webhook_id, g.verdict, p.attempt_count, p.created_at
    ),
    again as (
      update pending_deliveries p
      set lease_token = null, leased_at = null, due_at = queue_now() + g.wait_ms * interval '1 millisecond',
        failing = p.failing or (g.verdict = 'retry' and g.error is distinct from 'interrupted'),
        -- A delivery that was not sent does not count as an attempt.
        cycle_attempts = p.cycle_attempts - (g.verdict = 'postponed')::int,
        attempt_count = p.attempt_count - (g.verdict = 'postponed')::int
      from given g
      where p.id = g.id and p.id = any(array(select id from given)) and p.lease_token = g.token and g.verdict in ('retry', 'postponed')
      returning p.id, g.token, g.verdict
    ),
    stored as (
      insert into deliveries (id, event_id, event, webhook_id, status, attempt_count, created_at)
      select id, event_id, event, webhook_id, verdict, attempt_count, created_at from ended
    ),
    released as (
      -- Keeps a lease that still holds a delivery, whatever its worker believes, so that it is found when it runs out.
      delete from leases l where l.token = any(${arrayLiteral(endedLeases)}::uuid[]) and not exists (
        select from pending_deliveries p
        where p.id = any(l.delivery_ids) and p.lease_token = l.token
          and (p.id, p.lease_token) not in (select id, token from given)
      )
    ),
    -- Matches the token as well, because a late attempt and the one that replaced it may be in the same batch.
    kept as (select id, token from ended union all select id, token from again where verdict = 'retry'),
    attempted as (
      insert into attempts (delivery_id, number, trigger, started_at, duration_ms, status_code, error,
        response_headers, response_body)
      select g.id, g.number, g.trigger, timestamptz 'epoch' + g.started_ms * interval '1 millisecond', g.duration_ms, g.status_code, g.error,
        substring(${headers.bytes}::bytea from g.headers_start for g.headers_length),
        substring(${bodies.bytes}::bytea from g.body_start for g.body_length)
      from given g join kept on kept.id = g.id and kept.token = g.token
    )
    -- Returns only the exceptions, because reading rows costs this process more than PostgreSQL; usually there are
    -- none.
    select place - 1 as place from given where (id, token) not in (select id, token from kept)
  `.execute(tx);
  return new Set(rows.map(({ place }) => place));
}
