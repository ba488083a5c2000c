/**
 * Reads what leased deliveries need to be sent, and checks once more that each webhook may have its event. The check is
 * the last statement before the attempt.
 */
import type { WebhookFormat } from '../../../contract/delivery-rules.ts';
import { arrayLiteral } from '../../../database/array-literal.ts';
import { sql, type Database, type LeftJoined } from '../../../database/database.ts';
import {
  deliverableOf,
  firstOwner,
  lastLatency,
  type Chat,
  type Deliverable,
  type Gate,
  type LeasedDelivery,
  type OfEvent,
} from '../../sending/deliverable.ts';
import { gate } from './chat-limits.ts';

type CancelledBy = 'deactivation' | 'permission' | 'deletion' | 'suspension';
export type Loaded = {
  deliverable: Deliverable[];
  refused: { delivery: LeasedDelivery; cancelledBy: CancelledBy }[];
};

type Webhook = Pick<Deliverable, 'url' | 'secret' | 'previousSecret' | 'ownHeaders' | 'owner'> & {
  format: WebhookFormat;
  sealedUrl: Buffer | null;
};
/** A deleted webhook has no columns. */
type Row = LeftJoined<Webhook> & {
  latencyMs: number | null;
  cancelledBy: CancelledBy | null;
  /** Set only in the first row of each event, and null if the event is gone. */
  data: string | null;
  eventCreatedAt: Date | null;
  template: number | null;
  traceparent: string | null;
  /** Null unless the webhook posts into a chat channel. */
  gate: Gate | null;
};

export async function loadDeliveries(
  database: Database,
  leased: LeasedDelivery[],
): Promise<Loaded> {
  if (leased.length === 0) return { deliverable: [], refused: [] };
  const eventIds = leased.map(({ eventId }) => eventId);
  const { rows } = await sql<Row>`
    -- prepared: load_deliveries
    select w.url, w.secret, w.previous_secret as "previousSecret", w.own_headers as "ownHeaders", w.owner, w.latency_ms as "latencyMs",
      w.format, w.sealed_url as "sealedUrl", w.gate,
      case
        when w.active is null then 'deletion'
        when w.deactivated_reason = 'suspended' then 'suspension'
        when not w.active and e.name is distinct from 'webhook.probe' then 'deactivation'
        -- One that was put back, for example for want of room, after its webhook was suspended or its owner ended the probes.
        when e.name = 'webhook.probe' and (select failed_probes from webhook_healing where webhook_id = g.webhook_id) is null then 'deactivation'
        when not coalesce(may_receive(e.audience, e.org_id, e.alliance_id, e.created_at, e.org_listed,
          w.bound_org, w.bound_alliance, w.bound_at), false) then 'permission'
      end as "cancelledBy",
      case when g.is_first then e.data end as data, case when g.is_first then e.created_at end as "eventCreatedAt",
      case when g.is_first then e.traceparent end as traceparent, case when g.is_first then e.template end as template
    from unnest(
      ${arrayLiteral(eventIds)}::uuid[], ${arrayLiteral(leased.map(({ webhookId }) => webhookId))}::uuid[],
      ${arrayLiteral(eventIds.map((id, index) => eventIds.indexOf(id) === index))}::boolean[]
    ) with ordinality as g(event_id, webhook_id, is_first, place)
    left join lateral (
      select name, audience, org_id, alliance_id, created_at, data, traceparent, template, (select listed from orgs where orgs.id = org_id) as org_listed
      from events where events.id = g.event_id
        -- Parameters, so that only the days of these events are looked at.
        and events.id >= ${smallest(eventIds)}::uuid and events.id <= ${largest(eventIds)}::uuid
      limit 1
    ) e on true
    left join lateral (
      select w.active, w.deactivated_reason, w.url, w.secret, case when w.previous_secret_expires_at > now() then w.previous_secret end as previous_secret,
        w.own_headers, w.format, w.sealed_url, ${gate} as gate, ${firstOwner('w.app_id')} as owner, ${lastLatency('w.id')} as latency_ms,
        b.org_id as bound_org, b.alliance_id as bound_alliance, b.created_at as bound_at
      from webhooks w
      -- A plain join may read all bindings for each delivery.
      left join lateral (select org_id, alliance_id, created_at from bindings where app_id = w.app_id limit 1) b on true
      where w.id = g.webhook_id limit 1
    ) w on true
    order by place
  `.execute(database);
  return sortOut(leased, rows);
}

function sortOut(leased: LeasedDelivery[], rows: Row[]): Loaded {
  const events = new Map<string, { content: OfEvent; template: number }>();
  const loaded: Loaded = { deliverable: [], refused: [] };
  for (const [index, delivery] of leased.entries()) {
    const row = rows[index];
    if (!row) throw new Error('a leased delivery was not loaded');
    const { data, eventCreatedAt, traceparent, template, cancelledBy, latencyMs } = row;
    if (data !== null && eventCreatedAt !== null && template !== null)
      events.set(delivery.eventId, {
        content: { data, eventCreatedAt: eventCreatedAt.toISOString(), traceparent },
        template,
      });
    const event = events.get(delivery.eventId);
    if (cancelledBy === null && event && row.url !== null) {
      const { url, secret, previousSecret, ownHeaders, owner } = row;
      const webhook = { url, secret, previousSecret, ownHeaders, owner, latencyMs };
      const chat = chatOf(row, event.template);
      loaded.deliverable.push(deliverableOf(delivery, webhook, event.content, chat));
    } else loaded.refused.push({ delivery, cancelledBy: cancelledBy ?? 'permission' });
  }
  return loaded;
}

function chatOf({ format, sealedUrl, gate: read }: Row, template: number): Chat | null {
  if (format === null || format === 'json' || sealedUrl === null || read === null) return null;
  return { format, sealedUrl, template, gate: read };
}

const smallest = (ids: string[]) => ids.reduce((a, b) => (a < b ? a : b));
const largest = (ids: string[]) => ids.reduce((a, b) => (a > b ? a : b));
