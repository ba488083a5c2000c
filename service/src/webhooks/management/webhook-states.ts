/** Reads the state of webhooks, each with its latest operational event, for operators. */
import type { WebhookHealth } from '../../contract/webhook.ts';
import { sql, type Executor, type LeftJoined } from '../../database/database.ts';
import type { OperationalEvent } from '../notifications/operational-events.ts';
import { urlHost } from '../sending/url-host.ts';
import { healthJoins, webhookHealth } from '../notifications/webhook-health.ts';

export type WebhookState = {
  id: string;
  appId: string;
  host: string;
  health: WebhookHealth;
  /** The health, with `active` for those that are neither failing, deactivated nor suspended. */
  state: 'active' | 'failing' | 'deactivated' | 'suspended';
  /** A `DeactivatedReason`, or what the operator wrote about a suspension. */
  reason: string | null;
  /** When it was deactivated or suspended. */
  since: Date | null;
  exhaustedInARow: number;
  latestEvent: LatestEvent | null;
};
type LatestEvent = { kind: OperationalEvent['kind']; at: Date; mailedAt: Date | null };

/** More webhooks than an app may have. */
export const webhookStatesMax = 1_000;

/** Returns the state of every webhook, or those of one app or of this health, oldest first, up to a limit. */
export async function listWebhookStates(
  executor: Executor,
  appId: string | null,
  only: WebhookHealth | null = null,
): Promise<WebhookState[]> {
  const { rows } = await sql<
    Omit<WebhookState, 'host' | 'state' | 'latestEvent'> & { url: string } & LeftJoined<LatestEvent>
  >`
    select w.id, w.app_id as "appId", w.url, ${webhookHealth} as health,
      coalesce(s."suspendedReason", w.deactivated_reason) as reason, coalesce(s."suspendedAt", w.deactivated_at) as since, coalesce(h.exhausted_in_a_row, 0) as "exhaustedInARow",
      e.kind, e.created_at as at, e.mailed_at as "mailedAt"
    from webhooks w ${healthJoins}
    left join lateral (
      select kind, created_at, mailed_at from operational_events
      where webhook_id = w.id order by created_at desc, id desc limit 1
    ) e on true
    where (${appId}::text is null or w.app_id::text = ${appId}) and (${only}::text is null or ${webhookHealth} = ${only})
    order by w.id limit ${webhookStatesMax}
  `.execute(executor);
  return rows.map(({ id, appId: app, url, health, reason, since, exhaustedInARow, ...event }) => ({
    id,
    appId: app,
    host: urlHost(url),
    health,
    state: health === 'retrying' || health === 'new' || health === 'healthy' ? 'active' : health,
    reason,
    since,
    exhaustedInARow,
    latestEvent: event.kind && { kind: event.kind, at: event.at, mailedAt: event.mailedAt },
  }));
}
