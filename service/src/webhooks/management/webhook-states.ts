/** Reads the state of webhooks, each with its latest operational event, for operators. */
import type { WebhookFormat } from '../../contract/delivery-rules.ts';
import type { WebhookHealth } from '../../contract/webhook.ts';
import { sql, type Executor, type LeftJoined, asUuid, pageOf } from '../../database/database.ts';
import type { OperationalEvent } from '../notifications/operational-events.ts';
import { urlHost } from '../sending/url-host.ts';
import { healthJoins, webhookHealth } from '../notifications/webhook-health.ts';

export type WebhookState = {
  id: string;
  appId: string;
  appName: string;
  host: string;
  format: WebhookFormat;
  health: WebhookHealth;
  /** The health, with `active` for those that are neither failing, deactivated nor suspended. */
  state: 'active' | 'failing' | 'deactivated' | 'suspended';
  /** What is suspended: the webhook itself, or else its app. */
  suspended: 'webhook' | 'app' | null;
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

type Row = Omit<WebhookState, 'host' | 'state' | 'latestEvent'> & {
  url: string;
} & LeftJoined<LatestEvent>;

/** One page of all webhooks, or of those with this id, of one app or of this health, oldest first. */
export async function listWebhookStates(
  executor: Executor,
  {
    id = null,
    appId = null,
    health: only = null,
    page = 1,
    limit = webhookStatesMax,
  }: {
    id?: string | null;
    appId?: string | null;
    health?: WebhookHealth | null;
    page?: number;
    limit?: number;
  },
): Promise<{ webhooks: WebhookState[]; total: number }> {
  const { rows } = await sql<{ total: number } & LeftJoined<Row>>`
    with found as materialized (
      select w.id from webhooks w ${only === null ? sql`` : healthJoins}
      where ${appId === null ? sql`true` : sql`w.app_id = ${asUuid(appId)}`}
        and (${id}::uuid is null or w.id = ${id}::uuid)
        and ${only === null ? sql`true` : sql`${webhookHealth} = ${only}`}
    )
    select totals.total, page.* from (select count(*) as total from found) totals
    left join (
      select w.id, w.app_id as "appId", a.name as "appName", w.url, w.format, ${webhookHealth} as health,
        case when s."isOfApp" then 'app' when s."suspendedAt" is not null then 'webhook' end as suspended,
        coalesce(s."suspendedReason", w.deactivated_reason) as reason, coalesce(s."suspendedAt", w.deactivated_at) as since,
        coalesce(h.exhausted_in_a_row, 0) as "exhaustedInARow", e.kind, e.created_at as at, e.mailed_at as "mailedAt"
      from (select id from found order by id limit ${limit} offset ${(page - 1) * limit}) f
      join webhooks w on w.id = f.id join apps a on a.id = w.app_id ${healthJoins}
      left join lateral (
        select kind, created_at, mailed_at from operational_events
        where webhook_id = w.id order by created_at desc, id desc limit 1
      ) e on true
    ) page on true
    order by page.id
  `.execute(executor);
  const { entries, total } = pageOf<Row>(rows);
  return { webhooks: entries.map(toState), total };
}

function toState({ url, kind, at, mailedAt, ...row }: Row): WebhookState {
  const { health } = row;
  return {
    ...row,
    host: urlHost(url),
    state: health === 'retrying' || health === 'new' || health === 'healthy' ? 'active' : health,
    latestEvent: kind && { kind, at, mailedAt },
  };
}
