/** Reads the state of webhooks, each with its latest operational event, for operators. */
import { suspensionOf } from '../../access/suspensions.ts';
import { sql, type Executor, type LeftJoined } from '../../database/database.ts';
import type { OperationalEvent } from '../notifications/operational-events.ts';
import { urlHost } from '../sending/url-host.ts';

export type WebhookState = {
  id: string;
  appId: string;
  host: string;
  state: 'active' | 'failing' | 'deactivated' | 'suspended';
  /** The reason of a deactivation, or what the operator wrote about a suspension. */
  reason: string | null;
  /** When it was deactivated or suspended. */
  since: Date | null;
  exhaustedInARow: number;
  latestEvent: LatestEvent | null;
};
type LatestEvent = { kind: OperationalEvent['kind']; at: Date; mailedAt: Date | null };

/** More webhooks than an app may have. */
export const webhookStatesMax = 1_000;

/** Returns the state of every webhook or those of one app, oldest first, up to a limit. */
export async function listWebhookStates(
  executor: Executor,
  appId: string | null,
): Promise<WebhookState[]> {
  const { rows } = await sql<
    Omit<WebhookState, 'host' | 'latestEvent'> & { url: string } & LeftJoined<LatestEvent>
  >`
    select w.id, w.app_id as "appId", w.url,
      case when s."suspendedAt" is not null then 'suspended' when not w.active then 'deactivated' when h.exhausted_in_a_row > 0 then 'failing' else 'active' end as state,
      coalesce(s."suspendedReason", w.deactivated_reason) as reason, coalesce(s."suspendedAt", w.deactivated_at) as since, coalesce(h.exhausted_in_a_row, 0) as "exhaustedInARow",
      e.kind, e.created_at as at, e.mailed_at as "mailedAt"
    from webhooks w left join webhook_health h on h.webhook_id = w.id
    left join lateral ${suspensionOf('webhook', sql`w.id`, sql`w.app_id`)} s on true
    left join lateral (
      select kind, created_at, mailed_at from operational_events
      where webhook_id = w.id order by created_at desc, id desc limit 1
    ) e on true
    where ${appId}::text is null or w.app_id::text = ${appId}
    order by w.id limit ${webhookStatesMax}
  `.execute(executor);
  return rows.map(({ id, appId: app, url, state, reason, since, exhaustedInARow, ...event }) => ({
    id,
    appId: app,
    host: urlHost(url),
    state,
    reason,
    since,
    exhaustedInARow,
    latestEvent: event.kind && { kind: event.kind, at: event.at, mailedAt: event.mailedAt },
  }));
}
