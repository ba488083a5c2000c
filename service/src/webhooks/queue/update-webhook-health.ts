/**
 * Updates the health of webhooks from recorded attempts: when each last succeeded and failed, how many deliveries in a
 * row are exhausted, whether that deactivates the webhook, and which operational events its owner gets. `record.ts`
 * calls it in the transaction that stores the attempts. Sends no mail; next: `notifications/mail-owners.ts`.
 */
import type { Actor } from '../../access/actor.ts';
import { recordAudit } from '../../access/audit-log.ts';
import { arrayLiteral } from '../../database/array-literal.ts';
import { sql, type Transaction } from '../../database/database.ts';
import { cancelPending } from './cancel-pending.ts';
import { findGone } from './find-gone.ts';
import { moveBetweenLanes } from './move-between-lanes.ts';
import { recordOperationalEvents } from '../notifications/operational-events.ts';
import type { RecordedAttempt } from '../sending/deliver.ts';
import { urlHost } from '../sending/url-host.ts';

export type Deactivation = {
  webhookId: string;
  reason: 'failing' | 'gone';
  /** Pending deliveries that the deactivation cancelled. */
  cancelled: number;
  /** Whether more may be pending than one statement cancels; claims cancel the rest as they fall due. */
  more: boolean;
};

type Tally = {
  /** Whether any attempt succeeded, whether any failed, and which one ended last. */
  succeeded: boolean;
  failed: boolean;
  last: { endedAtMs: number; failed: boolean } | null;
  /**
   * Exhausted deliveries in a row: before the first success in this batch, the most between successes, and since the
   * last.
   */
  leading: number;
  peak: number;
  exhausted: number;
  gone: boolean;
  /** The status of the last failed attempt, or the error if no response came. */
  statusCode: number | null;
  error: RecordedAttempt['error'];
};

type UpdatedWebhook = {
  webhookId: string;
  appId: string;
  url: string;
  exhausted: number;
  lastSuccessAt: Date | null;
  reason: Deactivation['reason'] | null;
  /** Whether this batch has the first exhausted delivery since a success. */
  begins: boolean;
  /** Whether the webhook's last attempt failed: before this batch, and now. */
  wasFailing: boolean;
  failing: boolean;
};

const worker: Actor = { kind: 'system', id: null, name: 'delivery worker' };

/** Returns the webhooks that these attempts deactivated. Their pending deliveries are cancelled. */
export async function updateWebhookHealth(
  tx: Transaction,
  attempts: RecordedAttempt[],
  deactivateAfter: number,
): Promise<Deactivation[]> {
  const tallies = tally(attempts, await findGone(tx, attempts.filter(endedWithoutResponse)));
  // Sorted by id, so that workers that record for the same webhooks wait for each other instead of deadlocking.
  const ids = [...tallies.keys()].sort();
  if (ids.length === 0) return [];
  const column = (pick: (one: Tally) => number | boolean) =>
    arrayLiteral(ids.map((id) => pick(tallies.get(id) as Tally)));
  const idList = arrayLiteral(ids);
  const { rows } = await sql<UpdatedWebhook>`
    -- prepared: update_webhook_health
    with clock as materialized (select queue_now() as now),
    given as (
      select * from unnest(${idList}::uuid[],
        ${column((t) => t.succeeded)}::boolean[], ${column((t) => t.failed)}::boolean[],
        ${column((t) => t.last?.failed ?? false)}::boolean[],
        ${column((t) => t.leading)}::int[], ${column((t) => t.peak)}::int[], ${column((t) => t.exhausted)}::int[],
        ${column((t) => t.gone)}::boolean[]
      ) as g(id, succeeded, failed, failed_last, first_run, peak, exhausted, gone)
    ),
    locked as materialized (
      select w.id, w.active, w.exhausted_in_a_row as before, is_failing(w.last_success_at, w.last_failure_at) as was_failing,
        case when g.succeeded then 0 else w.exhausted_in_a_row end + g.exhausted as exhausted,
        -- Uses the database's time, which all processes share. An attempt recorded later is dated later, even if its
        -- statement began before one that it waited for.
        greatest((select now from clock), w.last_success_at + interval '1 millisecond',
          w.last_failure_at + interval '1 millisecond') as at
      from (select * from given order by id) g cross join lateral (
        select id, active, exhausted_in_a_row, last_success_at, last_failure_at from webhooks
        where id = g.id
          -- Writes a repeated success at most once per second; otherwise the row of a busy webhook would cost more than
          -- its deliveries.
          and (g.failed or g.gone or exhausted_in_a_row > 0 or is_failing(last_success_at, last_failure_at)
            or last_success_at is null or last_success_at < (select now from clock) - interval '1 second')
        limit 1 for update
      ) w
    ),
    updated as (
      select l.id, l.exhausted, l.was_failing,
        -- If one batch has both, a millisecond tells which ended last.
        case when g.succeeded then l.at + (g.failed and not g.failed_last)::int * interval '1 millisecond' end as success_at,
        case when g.failed then l.at + (g.succeeded and g.failed_last)::int * interval '1 millisecond' end as failure_at,
        case
          when not l.active then null
          when g.gone then 'gone'
          -- A success in the same batch comes too late for the failures before it.
          when g.first_run > 0 and l.before + g.first_run >= ${deactivateAfter} or g.peak >= ${deactivateAfter} then 'failing'
        end as reason,
        l.active and g.exhausted > 0 and (l.before = 0 or g.succeeded) as begins
      from locked l join given g on g.id = l.id
    )
    update webhooks w
    set last_success_at = coalesce(s.success_at, w.last_success_at),
      last_failure_at = coalesce(s.failure_at, w.last_failure_at),
      exhausted_in_a_row = s.exhausted,
      active = w.active and s.reason is null,
      deactivated_at = case when s.reason is null then w.deactivated_at else now() end,
      deactivated_reason = coalesce(s.reason, w.deactivated_reason),
      -- updated_at is for the owner: deactivation changes the webhook, a delivery does not
      updated_at = case when s.reason is null then w.updated_at else now() end
    from updated s
    where w.id = s.id and w.id = any(array(select id from updated))
    returning w.id as "webhookId", w.app_id as "appId", w.url, w.exhausted_in_a_row as exhausted,
      w.last_success_at as "lastSuccessAt", s.reason, s.begins, s.was_failing as "wasFailing",
      is_failing(w.last_success_at, w.last_failure_at) as failing
  `.execute(tx);
  const deactivated = await cancelDeliveries(tx, rows);
  if (deactivated.length > 0) await auditDeactivations(tx, rows);
  await moveBetweenLanes(
    tx,
    rows.filter(({ failing, wasFailing }) => failing !== wasFailing),
  );
  await notifyOwners(tx, rows, tallies, deactivated);
  return deactivated;
}

/** An earlier attempt may have had the delivery's last response. Tests don't affect health. */
function endedWithoutResponse({ verdict, statusCode, trigger }: RecordedAttempt): boolean {
  return verdict.kind === 'failed' && statusCode === null && trigger !== 'test';
}

async function cancelDeliveries(tx: Transaction, rows: UpdatedWebhook[]): Promise<Deactivation[]> {
  const deactivated = rows.flatMap(({ webhookId, reason }) =>
    reason ? [{ webhookId, reason }] : [],
  );
  if (deactivated.length === 0) return [];
  const { counts, more } = await cancelPending(
    tx,
    deactivated.map(({ webhookId }) => webhookId),
    'deactivation',
  );
  return deactivated.map(({ webhookId, reason }) => ({
    webhookId,
    reason,
    cancelled: counts.get(webhookId) ?? 0,
    more,
  }));
}

async function auditDeactivations(tx: Transaction, rows: UpdatedWebhook[]): Promise<void> {
  const entries = rows.flatMap(({ webhookId, appId, url, reason }) =>
    reason
      ? {
          action: 'webhook.deactivated' as const,
          subject: { kind: 'webhook' as const, id: webhookId },
          appId,
          details: { reason, host: urlHost(url) },
        }
      : [],
  );
  await recordAudit(tx, worker, ...entries);
}

/** Notifies owners when a webhook starts to fail or is deactivated; if both happen, only of the deactivation. */
async function notifyOwners(
  tx: Transaction,
  rows: UpdatedWebhook[],
  tallies: Map<string, Tally>,
  deactivated: Deactivation[],
): Promise<void> {
  const deactivations = new Map(deactivated.map((each) => [each.webhookId, each]));
  const notified = rows.filter(({ reason, begins }) => reason !== null || begins);
  await recordOperationalEvents(
    tx,
    notified.map(({ webhookId, appId, url, exhausted, lastSuccessAt, reason }) => {
      const { statusCode, error } = tallies.get(webhookId) as Tally;
      const { cancelled = 0, more = false } = deactivations.get(webhookId) ?? {};
      return {
        appId,
        webhookId,
        kind: reason ? 'webhook.deactivated' : 'webhook.failing',
        reason,
        // If the last attempt got no response, the 410 came from an earlier one.
        statusCode: reason === 'gone' ? 410 : statusCode,
        error: reason === 'gone' ? null : error,
        exhaustedInARow: exhausted,
        cancelled: more ? null : cancelled,
        host: urlHost(url),
        lastSuccessAt,
      } as const;
    }),
  );
}

function untouched(): Tally {
  return {
    succeeded: false,
    failed: false,
    last: null,
    leading: 0,
    peak: 0,
    exhausted: 0,
    gone: false,
    statusCode: null,
    error: null,
  };
}

/** `gone` holds deliveries whose last attempt got no response and whose last response was 410. */
function tally(attempts: RecordedAttempt[], gone: Set<string>): Map<string, Tally> {
  const tallies = new Map<string, Tally>();
  for (const attempt of attempts) {
    // Tests do not affect a webhook's health.
    if (attempt.trigger === 'test') continue;
    const isGone =
      attempt.verdict.kind === 'failed' &&
      (attempt.statusCode === 410 || gone.has(attempt.deliveryId));
    // An interrupted attempt does not affect it either, but a 410 received before the interruption still counts.
    if (attempt.error === 'interrupted' && !isGone) continue;
    const { webhookId } = attempt;
    let sum = tallies.get(webhookId);
    if (!sum) tallies.set(webhookId, (sum = untouched()));
    if (isGone) sum.gone = true;
    if (attempt.error !== 'interrupted') add(sum, attempt);
  }
  return tallies;
}

function add(
  sum: Tally,
  { verdict, startedAt, durationMs, statusCode, error }: RecordedAttempt,
): void {
  const failed = verdict.kind !== 'succeeded';
  const endedAtMs = startedAt.getTime() + durationMs;
  // One process made all these attempts, so its clock orders them correctly even if it is wrong.
  if (!sum.last || sum.last.endedAtMs <= endedAtMs) sum.last = { endedAtMs, failed };
  if (!failed) {
    sum.succeeded = true;
    sum.exhausted = 0;
    return;
  }
  sum.failed = true;
  if (verdict.kind === 'failed') sum.exhausted += 1;
  if (sum.succeeded) sum.peak = Math.max(sum.peak, sum.exhausted);
  else sum.leading = sum.exhausted;
  sum.statusCode = statusCode;
  sum.error = error;
}
