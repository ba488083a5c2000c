/**
 * Updates the health of webhooks from what `record.ts` noted: when each last succeeded and failed, how many deliveries in
 * a row are exhausted, whether that deactivates the webhook, and which operational events its owner gets. Leaves out
 * webhooks that another session has locked. Sends no mail; next: `notifications/mail-sender.ts`.
 */
import { recordAudit } from '../../../access/audit-log.ts';
import { arrayLiteral } from '../../../database/array-literal.ts';
import {
  isConnectionFault,
  isStatementTimeout,
  sql,
  type Database,
  type LeftJoined,
  type Transaction,
} from '../../../database/database.ts';
import {
  describeError,
  setAsideRefused,
  type ErrorDescription,
} from '../../../events/set-aside.ts';
import { cancelPending } from '../cancel-pending.ts';
import { addProbes, startProbes, worker, type ProbeOutcome } from './healing.ts';
import { recordOperationalEvents } from '../../notifications/operational-events.ts';
import type { AttemptResult } from '../../sending/retry.ts';
import { urlHost } from '../../sending/url-host.ts';

type Deactivation = {
  webhookId: string;
  reason: 'failing' | 'gone';
  /** Pending deliveries that the deactivation cancelled. */
  cancelled: number;
  /** Whether more may be pending than one statement cancels; claims cancel the rest as they fall due. */
  more: boolean;
};

/** The result of one attempt, as far as it affects its webhook. */
type Outcome = {
  webhookId: string;
  verdict: 'succeeded' | 'retry' | 'failed' | ProbeOutcome['verdict'];
  statusCode: number | null;
  error: AttemptResult['error'];
  gone: boolean;
  durationMs: number | null;
};

type Updated = {
  webhookId: string;
  appId: string;
  url: string;
  exhausted: number;
  lastSuccessAt: Date | null;
  reason: Deactivation['reason'] | null;
  /** Whether this batch has the delivery in a row that used up all attempts after which a mail is sent. */
  begins: boolean;
};

/** Outcomes per call; the next call takes the rest. */
const outcomesMax = 500;
/** After so many deliveries in a row that used up all attempts, owners and developers get a mail. */
const mailAfterExhausted = 1;
/** One process at a time, so that outcomes are added in the order in which they were recorded. */
const healthLock = 70420014;

/** How long an update waits for a row that refers to a webhook, such as its app. */
const lockTimeoutMs = 250;

export type HealthUpdate = {
  deactivated: Deactivation[];
  /** Webhooks that probes activated. */
  healed: string[];
  /** Whether more outcomes may wait. */
  more: boolean;
  /** The `xid` below which no outcome waits; null if that is not known. */
  floor: string | null;
  /** Webhooks whose health could not be updated, and is tried again later. */
  failures: ({ webhookId: string } & ErrorDescription)[];
};

/** No outcome waits below `floor`, an `xid`. */
export async function updateWebhookHealth(
  database: Database,
  deactivateAfter: number,
  floor = '0',
): Promise<HealthUpdate> {
  try {
    const done = await update(database, deactivateAfter, { floor, seqs: null });
    return { ...done, failures: [] };
  } catch (error) {
    if (isAway(error)) throw error;
    // One webhook whose health cannot be written must not keep back the others.
    return updateSeparately(database, deactivateAfter);
  }
}

/** A statement that took too long says nothing about the others. */
function isAway(error: unknown): boolean {
  return isConnectionFault(error) && !isStatementTimeout(error);
}

async function updateSeparately(
  database: Database,
  deactivateAfter: number,
): Promise<HealthUpdate> {
  const { rows } = await sql<{ webhookId: string; seqs: string[] }>`
    select webhook_id as "webhookId", (array_agg(seq order by xid, seq))[:${sql.lit(outcomesMax)}] as seqs
    from webhook_outcomes group by webhook_id order by min(seq) limit ${outcomesMax}
  `.execute(database);
  const result: HealthUpdate = {
    deactivated: [],
    healed: [],
    more: false,
    floor: null,
    failures: [],
  };
  const updateSome = async (seqs: string[]) => {
    const { deactivated, healed } = await update(database, deactivateAfter, { floor: '0', seqs });
    result.deactivated.push(...deactivated);
    result.healed.push(...healed);
  };
  const condition = (seq: string) => sql`seq = ${seq}`;
  const origin = { source: 'webhook_outcomes', stage: 'health', condition } as const;
  for (const { webhookId, seqs } of rows) {
    try {
      await setAsideRefused(database, origin, seqs, updateSome);
    } catch (error) {
      if (isAway(error)) throw error;
      result.failures.push({ webhookId, ...describeError(error) });
    }
  }
  return result;
}

type Which = {
  /** The `xid` below which no outcome waits. */
  floor: string;
  /** Only these. */
  seqs: string[] | null;
};

async function update(
  database: Database,
  deactivateAfter: number,
  which: Which,
): Promise<Omit<HealthUpdate, 'failures'>> {
  return database.transaction().execute(async (tx) => {
    const { outcomes, floor } = await takeOutcomes(tx, which);
    const others = outcomes.filter((outcome) => !isProbe(outcome));
    return {
      deactivated: await addOutcomes(tx, others, deactivateAfter),
      healed: await addProbes(tx, outcomes.filter(isProbe)),
      more: outcomes.length === outcomesMax,
      floor,
    };
  });
}

/** Locks webhooks whose rows are free, and takes their outcomes, in the order in which they were recorded. */
async function takeOutcomes(
  tx: Transaction,
  { floor, seqs }: Which,
): Promise<{ outcomes: Outcome[]; floor: string | null }> {
  const only = seqs && arrayLiteral(seqs);
  const { rows } = await sql<{ floor: string | null } & LeftJoined<Outcome>>`
    -- prepared: take_outcomes
    with turn as materialized (
      select pg_try_advisory_xact_lock(${sql.lit(healthLock)}) as mine,
        set_config('lock_timeout', ${sql.lit(String(lockTimeoutMs))}, true)
    ),
    waiting as materialized (
      select ctid as tid, xid, seq, webhook_id from webhook_outcomes
      where (select mine from turn) and xid >= ${floor}::xid8 and (${only}::bigint[] is null or seq = any(${only}::bigint[]))
      order by xid, seq
    ),
    -- Webhooks first: however many outcomes a locked one has, they delay no others.
    locked as materialized (
      select w.id
      from (select webhook_id from waiting group by webhook_id order by min(seq)) o cross join lateral (
        select id from webhooks where id = o.webhook_id for no key update skip locked
      ) w
      limit ${sql.lit(outcomesMax)}
    ),
    chosen as materialized (
      select tid, seq from waiting
      -- The outcomes of a deleted webhook are dropped.
      where (webhook_id in (select id from locked)) is true or (select true from webhooks where id = webhook_id) is null
      order by xid, seq limit ${sql.lit(outcomesMax)}
    ),
    taken as (
      delete from webhook_outcomes where ctid = any(array(select tid from chosen))
      returning xid, seq, webhook_id, verdict, status_code, error, gone, duration_ms
    )
    -- All transactions below the snapshot's xmin have ended, so nothing new can appear there.
    select case when mine then
        least((select xid from waiting where (seq in (select seq from chosen)) is not true order by xid limit 1),
          pg_snapshot_xmin(pg_current_snapshot()))::text
      end as floor,
      webhook_id as "webhookId", verdict, status_code as "statusCode", error, gone, duration_ms as "durationMs"
    from turn left join taken on true order by xid, seq
  `.execute(tx);
  const outcomes = rows.flatMap((row) => (row.webhookId === null ? [] : row));
  return { outcomes, floor: rows[0]?.floor ?? null };
}

/** The outcome of a probe affects nothing but the next probe. */
function isProbe(outcome: Outcome): outcome is Outcome & ProbeOutcome {
  return outcome.verdict === 'probe_succeeded' || outcome.verdict === 'probe_failed';
}

/** Returns the webhooks that these outcomes deactivated. Their pending deliveries are cancelled. */
async function addOutcomes(
  tx: Transaction,
  outcomes: Outcome[],
  deactivateAfter: number,
): Promise<Deactivation[]> {
  const tallies = tally(outcomes);
  if (tallies.size === 0) return [];
  const updated = await write(tx, tallies, deactivateAfter);
  const ended = updated.flatMap((each) =>
    each.reason === null ? [] : { ...each, reason: each.reason },
  );
  const deactivated = ended.length === 0 ? [] : await deactivate(tx, ended);
  await notifyOwners(tx, updated, tallies, deactivated);
  return deactivated;
}

async function write(
  tx: Transaction,
  tallies: Map<string, Tally>,
  deactivateAfter: number,
): Promise<Updated[]> {
  const ids = [...tallies.keys()];
  const column = (pick: (one: Tally) => number | boolean | null) =>
    arrayLiteral(ids.map((id) => pick(tallies.get(id) as Tally)));
  const idList = arrayLiteral(ids);
  const { rows } = await sql<Updated>`
    -- prepared: update_webhook_health
    with clock as materialized (select queue_now() as now),
    given as (
      select * from unnest(${idList}::uuid[],
        ${column((t) => t.succeeded)}::boolean[], ${column((t) => t.failed)}::boolean[],
        ${column((t) => t.failedLast)}::boolean[],
        ${column((t) => t.leading)}::int[], ${column((t) => t.peak)}::int[], ${column((t) => t.exhausted)}::int[],
        ${column((t) => t.gone)}::boolean[], ${column((t) => t.latencyMs)}::int[]
      ) as g(id, succeeded, failed, failed_last, first_run, peak, exhausted, gone, latency_ms)
    ),
    known as materialized (
      select g.*, w.app_id, w.url, w.active, h.tid, h.last_success_at, h.last_failure_at,
        coalesce(g.latency_ms, h.latency_ms) as last_latency_ms,
        coalesce(h.exhausted_in_a_row, 0) as before,
        -- Uses the database's time, which all processes share. An attempt recorded later is dated later, even if its
        -- statement began before one that it waited for.
        greatest((select now from clock), h.last_success_at + interval '1 millisecond',
          h.last_failure_at + interval '1 millisecond') as at
      from given g cross join lateral (
        select app_id, url, active from webhooks where id = g.id limit 1
      ) w left join lateral (
        -- The latest first: the others are gone but may be in somebody's snapshot.
        select ctid as tid, last_success_at, last_failure_at, exhausted_in_a_row, latency_ms from webhook_health
        where webhook_id = g.id order by version desc limit 1
      ) h on true
    ),
    ${decide(deactivateAfter)},
    replaced as (delete from webhook_health where ctid = any(array(select tid from updated))),
    written as (
      insert into webhook_health (webhook_id, last_success_at, last_failure_at, exhausted_in_a_row, latency_ms)
      select id, success_at, failure_at, exhausted_now, last_latency_ms from updated
    ),
    deactivated as (
      update webhooks set active = false, deactivated_at = now(), updated_at = now(),
        deactivated_reason = (select reason from updated where updated.id = webhooks.id)
      where id = any(array(select id from updated where reason is not null))
    )
    select id as "webhookId", app_id as "appId", url, exhausted_now as exhausted, success_at as "lastSuccessAt", reason, begins
    from updated
  `.execute(tx);
  return rows;
}

/** Counts, and decides who is deactivated: `updated`. */
function decide(deactivateAfter: number) {
  return sql`
  updated as materialized (
    select id, app_id, url, tid, last_latency_ms, run_before + exhausted as exhausted_now,
      -- If one batch has both, a millisecond tells which ended last.
      case when succeeded then at + (failed and not failed_last)::int * interval '1 millisecond' else last_success_at end as success_at,
      case when failed then at + (succeeded and failed_last)::int * interval '1 millisecond' else last_failure_at end as failure_at,
      case
        when not active then null
        when gone then 'gone'
        -- A success in the same batch comes too late for the failures before it.
        when first_run > 0 and before + first_run >= ${deactivateAfter} or peak >= ${deactivateAfter} then 'failing'
      end as reason,
      active and run_before < ${mailAfterExhausted} and run_before + exhausted >= ${mailAfterExhausted} as begins
    from (select *, case when succeeded then 0 else before end as run_before from known) runs
  )
  `;
}

async function deactivate(
  tx: Transaction,
  ended: (Updated & Pick<Deactivation, 'reason'>)[],
): Promise<Deactivation[]> {
  const ids = ended.map(({ webhookId }) => webhookId);
  const { counts, more } = await cancelPending(tx, ids, 'deactivation');
  const entries = ended.map(({ webhookId, appId, url, reason }) => ({
    action: 'webhook.deactivated' as const,
    subject: { kind: 'webhook' as const, id: webhookId },
    appId,
    details: { reason, host: urlHost(url) },
  }));
  await recordAudit(tx, worker, ...entries);
  await startProbes(tx, ids);
  return ended.map(({ webhookId, reason }) => ({
    webhookId,
    reason,
    cancelled: counts.get(webhookId) ?? 0,
    more,
  }));
}

/** Notifies owners when a webhook starts to fail or is deactivated; if both happen, only of the deactivation. */
async function notifyOwners(
  tx: Transaction,
  rows: Updated[],
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
        // If the last attempt got no response, the 410 came from an earlier one. Chat platforms say it with 404, too.
        statusCode: reason === 'gone' && statusCode !== 404 ? 410 : statusCode,
        error: reason === 'gone' ? null : error,
        exhaustedInARow: exhausted,
        cancelled: more ? null : cancelled,
        host: urlHost(url),
        lastSuccessAt,
      } as const;
    }),
  );
}

function untouched() {
  return {
    /** Whether any attempt succeeded, whether any failed, and whether the last one did. */
    succeeded: false,
    failed: false,
    failedLast: false,
    /** Exhausted deliveries in a row: before the first success, the most between successes, and since the last. */
    leading: 0,
    peak: 0,
    exhausted: 0,
    gone: false,
    /** The status of the last failed attempt, or the error if no response came. */
    statusCode: null as number | null,
    error: null as AttemptResult['error'],
    /** How long the last attempt took. */
    latencyMs: null as number | null,
  };
}
type Tally = ReturnType<typeof untouched>;

function tally(outcomes: Outcome[]): Map<string, Tally> {
  const tallies = new Map<string, Tally>();
  for (const outcome of outcomes) {
    let sum = tallies.get(outcome.webhookId);
    if (!sum) tallies.set(outcome.webhookId, (sum = untouched()));
    if (outcome.gone) sum.gone = true;
    // An interrupted attempt is only here because of an earlier 410.
    if (outcome.error !== 'interrupted') add(sum, outcome);
  }
  return tallies;
}

function add(sum: Tally, { verdict, statusCode, error, durationMs }: Outcome): void {
  sum.latencyMs = durationMs;
  sum.failedLast = verdict !== 'succeeded';
  if (verdict === 'succeeded') {
    sum.succeeded = true;
    sum.exhausted = 0;
    return;
  }
  sum.failed = true;
  if (verdict === 'failed') sum.exhausted += 1;
  if (sum.succeeded) sum.peak = Math.max(sum.peak, sum.exhausted);
  else sum.leading = sum.exhausted;
  sum.statusCode = statusCode;
  sum.error = error;
}
