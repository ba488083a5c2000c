/**
 * Self-healing: a webhook that was deactivated as failing is probed at growing intervals, and activated after two successes
 * in a row. A probe is a delivery of `webhook.probe` that waits in the queue until it is due, so it obeys the guard and
 * all limits. `record.ts` notes its outcome, `update-webhook-health.ts` calls `addProbes` with it, and this schedules the
 * next one. The caller has locked the webhooks.
 */
import type { Actor } from '../../../access/actor.ts';
import { recordAudit } from '../../../access/audit-log.ts';
import { sql, type Database, type Transaction } from '../../../database/database.ts';
import { recordOperationalEvents } from '../../notifications/operational-events.ts';
import { urlHost } from '../../sending/url-host.ts';

/** docs/reference/deliveries.md#self-healing: the hours before each probe that follows a failed one. */
export const probeHours = [1, 4, 12, ...Array.from({ length: 15 }, () => 24)];
/** Webhooks that failed together are not probed together: the first probe is up to this share later. */
export const firstProbeJitter = 0.1;
/** The probe after a success. With the time that a claim may take, it starts within five minutes. */
const confirmMinutes = 4;
const healsPerWeekMax = 3;

export const worker: Actor = { kind: 'system', id: null, name: 'delivery worker' };

export type ProbeOutcome = {
  webhookId: string;
  verdict: 'probe_succeeded' | 'probe_failed';
  statusCode: number | null;
  error: Parameters<typeof recordOperationalEvents>[1][number]['error'];
};

/** Starts to probe those of the webhooks that were deactivated as failing and may be activated by probes. */
export async function startProbes(tx: Transaction, webhookIds: string[]): Promise<void> {
  await sql`
    with started as (
      insert into webhook_healing as h (webhook_id, failed_probes)
      select id, 0 from webhooks
      where id = any(${webhookIds}::uuid[]) and not active and deactivated_reason = 'failing' and self_healing
        and not exists (select from suspensions s where s.webhook_id = webhooks.id or s.app_id = webhooks.app_id)
        -- One in flight, or one that waits while the webhook is not probed, is of an earlier deactivation and has no effect.
        and not exists (
          select from pending_deliveries p join webhook_healing probed using (webhook_id)
          where webhook_id = webhooks.id and trigger = 'probe' and lease_token is null and failed_probes is not null)
      on conflict (webhook_id) do update set failed_probes = 0, succeeded = false, replay_since = null, paused = false
      returning webhook_id, healed_at
    ),
    ${insertProbes(sql`
      select webhook_id, greatest(queue_now() + ${probeHours[0]}::float8 * interval '1 hour' * (1 + random() * ${firstProbeJitter}::float8),
        -- The fourth activation follows the first by a week or more.
        healed_at[${healsPerWeekMax}::int - 2] + case when cardinality(healed_at) = ${healsPerWeekMax}::int then interval '7 days' end)
      from started
    `)}
  `.execute(tx);
}

/** Stops probing a webhook. A probe in flight ends by itself and has no effect. */
export async function endProbes(tx: Transaction, webhookId: string): Promise<void> {
  await sql`
    update webhook_healing set failed_probes = null, paused = false where webhook_id = ${webhookId}
  `.execute(tx);
  await sql`
    delete from pending_deliveries where webhook_id = ${webhookId} and trigger = 'probe' and lease_token is null
  `.execute(tx);
}

/** For webhooks that are suspended. */
export async function pauseProbes(tx: Transaction, webhookIds: string[]): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    select webhook_id as id from webhook_healing
    where webhook_id = any(${webhookIds}::uuid[]) and (failed_probes is not null or paused)
  `.execute(tx);
  for (const { id } of rows) await endProbes(tx, id);
  await setPaused(tx, rows);
}

/** For a webhook whose healing is switched on while it is suspended. */
export async function resumeLater(tx: Transaction, webhookId: string): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    select id from webhooks w where id = ${webhookId} and not active and deactivated_reason = 'failing'
      and exists (select from suspensions s where s.webhook_id = w.id or s.app_id = w.app_id)
  `.execute(tx);
  await setPaused(tx, rows);
}

async function setPaused(tx: Transaction, webhooks: { id: string }[]): Promise<void> {
  await sql`
    insert into webhook_healing (webhook_id, paused)
    select id, true from unnest(${webhooks.map(({ id }) => id)}::uuid[]) as paused(id)
    on conflict (webhook_id) do update set paused = true
  `.execute(tx);
}

/** Probes those of restored webhooks that were probed when they were suspended. */
export async function resumeProbes(tx: Transaction, webhookIds: string[]): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    select webhook_id as id from webhook_healing where webhook_id = any(${webhookIds}::uuid[]) and paused
  `.execute(tx);
  const ids = rows.map(({ id }) => id);
  if (ids.length > 0) await startProbes(tx, ids);
}

/**
 * Gives the probes that wait from before the first day that retention keeps a new id and a new event, so that they do not
 * keep the partitions of that day. Leaves out webhooks that another session has locked; the next call takes them.
 */
export async function renewProbes(database: Database, retentionDays: number): Promise<void> {
  await sql`
    -- prepared: renew_probes
    with old as materialized (
      select p.id from pending_deliveries p cross join lateral (
        -- Changes by owners lock the webhook before its probe, and must not miss the new one.
        select from webhooks where id = p.webhook_id for no key update skip locked
      ) w
      -- A subquery, because an index takes no condition with a clock in it.
      where p.id < (select uuid_v7_floor(((queue_now() at time zone 'utc')::date - ${retentionDays}::int)::timestamp at time zone 'utc'))
        and p.trigger = 'probe' and p.lease_token is null
    ),
    ${insertProbes(sql`
      delete from pending_deliveries where id = any(array(select id from old)) and lease_token is null
      returning webhook_id, due_at
    `)}
  `.execute(database);
}

/** Adds probes that have ended, in order. Returns the webhooks that they activated. */
export async function addProbes(tx: Transaction, outcomes: ProbeOutcome[]): Promise<string[]> {
  const healed: string[] = [];
  for (const outcome of outcomes) {
    const probed = await readProbed(tx, outcome.webhookId);
    if (probed && (await addProbe(tx, probed, outcome))) healed.push(outcome.webhookId);
  }
  return healed;
}

type Probed = {
  webhookId: string;
  appId: string;
  url: string;
  exhausted: number;
  lastSuccessAt: Date | null;
  failedProbes: number;
  succeeded: boolean;
};

/** Null if the webhook is not probed any more, or if another probe waits: this one was of an earlier deactivation. */
async function readProbed(tx: Transaction, webhookId: string): Promise<Probed | null> {
  const { rows } = await sql<Probed>`
    select w.id as "webhookId", w.app_id as "appId", w.url, coalesce(health.exhausted_in_a_row, 0) as exhausted,
      -- A mail says from when to replay. An attempt in flight at the deactivation may have succeeded after it.
      case when health.last_success_at > w.deactivated_at then w.deactivated_at else health.last_success_at end as "lastSuccessAt",
      h.failed_probes as "failedProbes", h.succeeded
    from webhooks w join webhook_healing h on h.webhook_id = w.id
      left join webhook_health health on health.webhook_id = w.id
    where w.id = ${webhookId} and not w.active and h.failed_probes is not null
      and not exists (select from pending_deliveries where webhook_id = w.id and trigger = 'probe')
  `.execute(tx);
  return rows[0] ?? null;
}

/** Returns whether it activated the webhook. */
async function addProbe(tx: Transaction, probed: Probed, outcome: ProbeOutcome): Promise<boolean> {
  const { webhookId } = probed;
  const confirm = sql`queue_now() + ${confirmMinutes}::int * interval '1 minute'`;
  // The process stopped, which says nothing about the receiver.
  if (outcome.error === 'interrupted') {
    await scheduleProbe(tx, webhookId, confirm);
    return false;
  }
  const succeeded = outcome.verdict === 'probe_succeeded';
  await auditProbe(tx, probed, succeeded);
  if (succeeded && probed.succeeded) {
    await activate(tx, probed, outcome.statusCode);
    return true;
  }
  const failedProbes = probed.failedProbes + (succeeded ? 0 : 1);
  await sql`
    update webhook_healing set failed_probes = ${failedProbes}, succeeded = ${succeeded} where webhook_id = ${webhookId}
  `.execute(tx);
  const hours = probeHours[failedProbes];
  if (succeeded) await scheduleProbe(tx, webhookId, confirm);
  else if (hours === undefined) await giveUp(tx, probed, outcome);
  else await scheduleProbe(tx, webhookId, sql`queue_now() + ${hours}::float8 * interval '1 hour'`);
  return false;
}

async function activate(tx: Transaction, probed: Probed, statusCode: number | null): Promise<void> {
  const { webhookId, appId, url } = probed;
  await noteHealed(tx, webhookId);
  await sql`
    update webhooks
    set active = true, deactivated_at = null, deactivated_reason = null, updated_at = now()
    where id = ${webhookId}
  `.execute(tx);
  await sql`update webhook_health set exhausted_in_a_row = 0 where webhook_id = ${webhookId}`.execute(
    tx,
  );
  await sql`delete from webhook_outcomes where webhook_id = ${webhookId}`.execute(tx);
  await recordAudit(tx, worker, {
    action: 'webhook.reactivated',
    subject: { kind: 'webhook', id: webhookId },
    appId,
    details: { wasDeactivated: 'failing', cause: 'probes', host: urlHost(url) },
  });
  await notifyOwners(tx, probed, { kind: 'webhook.healed', statusCode, error: null });
}

/** The webhook still has the time of its deactivation. */
async function noteHealed(tx: Transaction, webhookId: string): Promise<void> {
  await sql`
    update webhook_healing h
    set failed_probes = null, succeeded = false,
      healed_at = (healed_at || queue_now()::timestamptz(3))[greatest(cardinality(healed_at) + 2 - ${healsPerWeekMax}::int, 1):],
      replay_since = (
        select case
          when health.last_success_at is null then w.created_at
          -- An attempt in flight at the deactivation may have succeeded after it. A success is dated when it is recorded,
          -- after the failures of the same batch.
          else least(health.last_success_at, w.deactivated_at) - interval '1 minute'
        end
        from webhooks w left join webhook_health health on health.webhook_id = w.id
        where w.id = h.webhook_id and w.replay_after_healing
      )
    where webhook_id = ${webhookId}
  `.execute(tx);
}

async function giveUp(tx: Transaction, probed: Probed, outcome: ProbeOutcome): Promise<void> {
  await endProbes(tx, probed.webhookId);
  const { statusCode, error } = outcome;
  await notifyOwners(tx, probed, { kind: 'webhook.not_healed', statusCode, error });
}

async function auditProbe(
  tx: Transaction,
  { webhookId, appId, url }: Probed,
  succeeded: boolean,
): Promise<void> {
  await recordAudit(tx, worker, {
    action: 'webhook.probed',
    subject: { kind: 'webhook', id: webhookId },
    appId,
    details: { succeeded, host: urlHost(url) },
  });
}

type Notice = Pick<
  Parameters<typeof recordOperationalEvents>[1][number],
  'kind' | 'statusCode' | 'error'
>;

async function notifyOwners(tx: Transaction, probed: Probed, notice: Notice): Promise<void> {
  const { webhookId, appId, url, exhausted, lastSuccessAt } = probed;
  const event = { webhookId, appId, host: urlHost(url), lastSuccessAt, exhaustedInARow: exhausted };
  await recordOperationalEvents(tx, [{ ...event, ...notice, reason: null, cancelled: 0 }]);
}

async function scheduleProbe(
  tx: Transaction,
  webhookId: string,
  dueAt: ReturnType<typeof sql>,
): Promise<void> {
  await sql`with ${insertProbes(sql`select ${webhookId}::uuid, ${dueAt}`)}`.execute(tx);
}

/** Queues a probe for each row of `given`: webhook and time. Part of a `with`. */
function insertProbes(given: ReturnType<typeof sql>) {
  return sql`
    probes (webhook_id, due_at) as (${given}),
    made as materialized (select uuid_v7() as id, uuid_v7() as event_id, webhook_id, due_at from probes),
    event as (
      insert into events (id, name, audience, data, created_at)
      select event_id, 'webhook.probe', 'webhook', '{}', due_at from made
    )
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at)
    select id, event_id, 'webhook.probe', webhook_id, 'probe', due_at from made
  `;
}
