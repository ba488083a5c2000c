/**
 * Suspends and restores a webhook, or an app with all its webhooks. A suspended webhook is inactive; the reason
 * `suspended` of its deactivation says that it was active before, and is activated when nothing suspends it any more.
 */
import type { Actor } from '../../access/actor.ts';
import {
  lockSuspendable,
  restore,
  suspend,
  type SuspensionSubject,
} from '../../access/suspensions.ts';
import { sql, type Transaction, asUuid } from '../../database/database.ts';
import { ServiceError } from '../../errors.ts';
import { cancelPending } from '../queue/cancel-pending.ts';
import { pauseProbes, resumeProbes } from '../queue/health/healing.ts';
import { queueChannel } from '../../events/queue-channel.ts';
import { urlHost } from '../sending/url-host.ts';

type Target = { kind: 'app' | 'webhook'; id: string };
type Outcome = { subject: SuspensionSubject; changed: boolean };
/** A webhook that is active again, and since when it has missed events. */
type Missed = { webhookId: string; since: Date };

/**
 * Also changes the reason. `cancelled`: the pending deliveries; the rest of very many is cancelled when it is their turn.
 * Throws `not_found`, `validation_failed`.
 */
export async function suspendWebhooks(
  tx: Transaction,
  actor: Actor,
  target: Target,
  reason: string,
): Promise<Outcome & { cancelled: number }> {
  const subject = await lockTarget(tx, target);
  const changed = await suspend(tx, actor, subject, reason);
  await sql`
    update webhooks set active = false, deactivated_at = now(), deactivated_reason = 'suspended', updated_at = now()
    where ${isOf(subject)} and active
  `.execute(tx);
  const ids = await listIds(tx, subject);
  await pauseProbes(tx, ids);
  const { counts } = await cancelPending(tx, ids, 'suspension');
  return { subject, changed, cancelled: [...counts.values()].reduce((sum, n) => sum + n, 0) };
}

/** `withReplay`: the worker replays what the webhooks missed. Throws `not_found`. */
export async function restoreWebhooks(
  tx: Transaction,
  actor: Actor,
  target: Target,
  withReplay: boolean,
): Promise<Outcome & { active: Missed[] }> {
  const subject = await lockTarget(tx, target);
  if (!(await restore(tx, actor, subject))) return { subject, changed: false, active: [] };
  const { rows: active } = await sql<Missed>`
    update webhooks set active = true, deactivated_at = null, deactivated_reason = null, updated_at = now()
    from (select id as "webhookId", deactivated_at as since from webhooks) before
    where id = "webhookId" and ${isOf(subject)} and deactivated_reason = 'suspended'
      and not exists (select from suspensions s where s.webhook_id = webhooks.id or s.app_id = webhooks.app_id)
    returning before.*
  `.execute(tx);
  await resumeProbes(tx, await listIds(tx, subject));
  if (withReplay) {
    await sql`
      insert into webhook_healing (webhook_id, replay_since)
      select * from unnest(${active.map(({ webhookId }) => webhookId)}::uuid[], ${active.map(({ since }) => since.toISOString())}::timestamptz[])
      -- An earlier replay may still be owed.
      on conflict (webhook_id) do update set replay_since = least(webhook_healing.replay_since, excluded.replay_since)
    `.execute(tx);
    await sql`select pg_notify(${queueChannel}, '')`.execute(tx);
  }
  return { subject, changed: true, active };
}

/** Locks the webhooks in the workers' order, and before the app, as deleting an app does. */
async function lockTarget(tx: Transaction, { kind, id }: Target): Promise<SuspensionSubject> {
  const { rows } = await sql<{ id: string; appId: string; url: string }>`
    select id, app_id as "appId", url from webhooks
    where ${sql.ref(kind === 'app' ? 'app_id' : 'id')} = ${asUuid(id)} order by id for update
  `.execute(tx);
  if (kind === 'app') return lockSuspendable(tx, 'app', id);
  const [webhook] = rows;
  if (!webhook) throw new ServiceError('not_found', `There is no webhook with the id ${id}.`);
  const details = { host: urlHost(webhook.url) };
  return { kind, id: webhook.id, appId: webhook.appId, details };
}

function isOf({ kind, id }: SuspensionSubject) {
  return sql`webhooks.${sql.ref(kind === 'app' ? 'app_id' : 'id')} = ${id}`;
}

/** In the workers' order. */
async function listIds(tx: Transaction, subject: SuspensionSubject): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from webhooks where ${isOf(subject)} order by id
  `.execute(tx);
  return rows.map(({ id }) => id);
}
