/** Redelivers deliveries that have failed, or were cancelled by a deactivation, since a time. */
import type { Actor } from '../../access/actor.ts';
import { recordAudit } from '../../access/audit-log.ts';
import { sql, type Database, type Executor, type Transaction } from '../../database/database.ts';
import { requeue, recoverable, requireActive } from '../queue/replay/requeue.ts';
import { urlHost } from '../sending/url-host.ts';
import { requireWebhook } from './webhooks.ts';

/** docs/reference/deliveries.md#redeliver-and-recover */
export const recoveredMax = 10_000;

/**
 * Queues at most 10,000 deliveries that ended since then, the oldest first, and returns how many. Throws `not_found`,
 * `conflict`.
 */
export async function recover(
  tx: Transaction,
  actor: Actor,
  appId: string,
  webhookId: string,
  since: Date,
): Promise<number> {
  const { url } = await requireActive(tx, appId, webhookId);
  const chosen = await choose(tx, appId, webhookId, since);
  const count = await requeue(tx, appId, webhookId, chosen, recoverable);
  await recordAudit(tx, actor, {
    action: 'webhook.recovered',
    subject: { kind: 'webhook', id: webhookId },
    appId,
    details: { since, count, host: urlHost(url) },
  });
  return count;
}

/** Counts the deliveries that `recover` would queue now, at most 10,000. Throws `not_found`. */
export async function countRecoverable(
  database: Database,
  appId: string,
  webhookId: string,
  since: Date,
): Promise<number> {
  await requireWebhook(database, appId, webhookId);
  return (await choose(database, appId, webhookId, since)).length;
}

/** Takes no locks, because it may take a while if the app may have only a few of many events. */
async function choose(
  executor: Executor,
  appId: string,
  webhookId: string,
  since: Date,
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select d.id from deliveries d
    left join bindings b on b.app_id = ${appId}
    cross join lateral (
      select e.audience, e.org_id, e.alliance_id, e.created_at, (select listed from orgs o where o.id = e.org_id) as org_listed
      from events e where e.id = d.event_id limit 1
    ) e
    where d.webhook_id = ${webhookId} and ${recoverable} and d.completed_at >= ${since.toISOString()}::timestamptz
      and e.audience <> 'webhook'
      and may_receive(e.audience, e.org_id, e.alliance_id, e.created_at, e.org_listed, b.org_id, b.alliance_id, b.created_at)
    order by d.id limit ${recoveredMax}
  `.execute(executor);
  return rows.map(({ id }) => id);
}
