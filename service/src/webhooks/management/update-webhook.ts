/** Changes a webhook's URL, events or active state. Fields that are left out stay. */
import type { Actor } from '../../access/actor.ts';
import { recordAudit } from '../../access/audit-log.ts';
import type { Webhook } from '../../contract/webhook.ts';
import { sql, type Transaction } from '../../database/database.ts';
import { invalid, ServiceError } from '../../errors.ts';
import { cancelPending } from '../queue/cancel-pending.ts';
import { endProbes, startProbes } from '../queue/healing.ts';
import { checkWebhookUrl, type GuardOptions } from './check-webhook-url.ts';
import { urlHost } from '../sending/url-host.ts';
import { checkEvents, distinct, toWebhook, webhookColumns, type WebhookRow } from './webhooks.ts';

export type WebhookChanges = {
  url?: string | undefined;
  /** Null means every event that the app may have. */
  events?: string[] | null | undefined;
  description?: string | null | undefined;
  selfHealing?: boolean | undefined;
  replayAfterHealing?: boolean | undefined;
  /** True activates the webhook and clears its failure count; false deactivates it and cancels pending deliveries. */
  active?: boolean | undefined;
};

/** Returns the changed webhook. Throws `not_found`, `validation_failed`. */
export async function updateWebhook(
  tx: Transaction,
  actor: Actor,
  appId: string,
  id: string,
  changes: WebhookChanges,
  guard: GuardOptions,
): Promise<Webhook> {
  const urlIssue =
    changes.url === undefined ? null : checkWebhookUrl(changes.url, 'body.url', guard);
  const eventIssues = changes.events ? await checkEvents(tx, appId, changes.events) : [];
  const issues = [...(urlIssue ? [urlIssue] : []), ...eventIssues];
  // Checks the owner first, so that a missing webhook gives `not_found` whether or not the body is valid.
  const before = await lockWebhook(tx, appId, id);
  const { rows } = await sql<WebhookRow>`
    update webhooks w set ${sql.join(assignments(changes), sql`, `)}
    where w.id = ${id} and w.app_id = ${appId} returning ${webhookColumns}
  `.execute(tx);
  const [row] = rows;
  if (!row || !before) throw new ServiceError('not_found');
  if (issues.length > 0) throw invalid(...issues);
  await recordChange(tx, actor, appId, before, row);
  // An owner who says whether the webhook is active decides instead of the probes.
  if (changes.active !== undefined || changes.selfHealing === false) await endProbes(tx, id);
  if (changes.selfHealing === true) await startProbes(tx, [id]);
  if (changes.active === false) await cancelPending(tx, [id], 'deactivation');
  // What happened before does not count against a webhook that was activated or moved.
  if (changes.active === true || row.url !== before.url)
    await sql`delete from webhook_outcomes where webhook_id = ${id}`.execute(tx);
  return toWebhook(row);
}

async function lockWebhook(tx: Transaction, appId: string, id: string): Promise<WebhookRow | null> {
  const { rows } = await sql<WebhookRow>`
    select ${webhookColumns} from webhooks w where w.id = ${id} and w.app_id = ${appId} for no key update
  `.execute(tx);
  return rows[0] ?? null;
}

const auditedFields = {
  url: 'url',
  events: 'events',
  description: 'description',
  selfHealing: 'self_healing',
  replayAfterHealing: 'replay_after_healing',
} as const;

async function recordChange(
  tx: Transaction,
  actor: Actor,
  appId: string,
  before: WebhookRow,
  after: WebhookRow,
): Promise<void> {
  const entry = { subject: { kind: 'webhook', id: after.id }, appId } as const;
  const changed = Object.entries(auditedFields).flatMap(([name, column]) =>
    JSON.stringify(before[column]) === JSON.stringify(after[column]) ? [] : [name],
  );
  if (changed.length > 0) {
    const details = { changed, host: urlHost(after.url), events: after.events };
    await recordAudit(tx, actor, { ...entry, action: 'webhook.changed', details });
  }
  if (before.active && !after.active) {
    const details = { reason: after.deactivated_reason, host: urlHost(after.url) };
    await recordAudit(tx, actor, { ...entry, action: 'webhook.deactivated', details });
  }
  if (!before.active && after.active) {
    const details = { wasDeactivated: before.deactivated_reason, host: urlHost(after.url) };
    await recordAudit(tx, actor, { ...entry, action: 'webhook.reactivated', details });
  }
}

function assignments({ url, events, description, active, ...healing }: WebhookChanges) {
  const set = [sql`updated_at = now()`];
  if (url !== undefined) set.push(sql`url = ${url}`);
  if (events !== undefined) set.push(sql`events = ${distinct(events)}::text[]`);
  if (description !== undefined) set.push(sql`description = ${description}`);
  if (healing.selfHealing !== undefined) set.push(sql`self_healing = ${healing.selfHealing}`);
  if (healing.replayAfterHealing !== undefined)
    set.push(sql`replay_after_healing = ${healing.replayAfterHealing}`);
  if (active === true) {
    set.push(
      sql`active = true`,
      sql`deactivated_at = null`,
      sql`deactivated_reason = null`,
      sql`exhausted_in_a_row = 0`,
    );
  }
  // An inactive webhook keeps its time and reason.
  if (active === false) {
    set.push(sql`active = false`, sql`deactivated_at = coalesce(w.deactivated_at, now())`);
    set.push(sql`deactivated_reason = coalesce(w.deactivated_reason, 'owner')`);
  }
  return set;
}
