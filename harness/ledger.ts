/** All records after a scenario, except those of probes: of the publisher, the service and the receivers. */
import { sql, type Database } from '../service/src/database/database.ts';
import type { WebhookFormat } from '../service/src/contract/delivery-rules.ts';
import type { SecretBox } from '../service/src/runtime/secret-box.ts';
import { urlOwner } from '../service/src/webhooks/sending/chat-platforms.ts';
import { renderMessage } from '../service/src/webhooks/sending/render-message.ts';
import type { Received } from './receivers.ts';

/** `requestId` is in the data of common events. */
type LedgerEvent = { id: string; name: string; allianceId: string; requestId: string | null };
/** Of an app that is bound. It hears one event of one alliance. */
export type LedgerWebhook = {
  id: string;
  event: string;
  allianceId: string;
  path: string;
  /** Its filter lets only such requests pass. */
  idPrefix: string | null;
  hasOwnHeader: boolean;
  isChat: boolean;
};
export type LedgerDelivery = {
  id: string;
  eventId: string;
  webhookId: string;
  status: 'pending' | 'succeeded' | 'failed' | 'cancelled';
  attemptCount: number;
};
export type LedgerAttempt = {
  deliveryId: string;
  number: number;
  startedAt: number;
  durationMs: number;
  statusCode: number | null;
  error: string | null;
};
/** The time of a fault, in milliseconds since 1970. */
export type Fault = { from: number; until: number };

export type Ledger = {
  committed: ReadonlySet<string>;
  uncertain: ReadonlySet<string>;
  events: LedgerEvent[];
  webhooks: LedgerWebhook[];
  deliveries: LedgerDelivery[];
  attempts: LedgerAttempt[];
  /** How often a replay or a recovery may have sent a delivery again. */
  replays: number;
  /** The expected body of each delivery. */
  bodies: ReadonlyMap<string, string>;
  received: Received[];
  faults: Fault[];
};

/** The records in the database. */
export async function readRecords(
  database: Database,
  secretBox: SecretBox,
): Promise<Pick<Ledger, 'events' | 'webhooks' | 'deliveries' | 'attempts' | 'replays' | 'bodies'>> {
  const events = await sql<Ledger['events'][number]>`
    select id, name, alliance_id as "allianceId", data::json->'request'->>'id' as "requestId" from events where name <> 'webhook.probe'
  `.execute(database);
  const webhooks = await sql<
    Omit<LedgerWebhook, 'path' | 'isChat'> & { url: string; sealedUrl: Buffer | null }
  >`
    select w.id, w.events[1] as event, b.alliance_id as "allianceId", w.url, w.sealed_url as "sealedUrl",
      w.filters->w.events[1]->'request'->'id'->>'$startsWith' as "idPrefix", w.own_headers is not null as "hasOwnHeader"
    from webhooks w join bindings b on b.app_id = w.app_id
  `.execute(database);
  const deliveries = await sql<LedgerDelivery & Content>`
    select d.id, d.event_id as "eventId", d.webhook_id as "webhookId", d.status, d.attempt_count as "attemptCount",
      coalesce(w.format, 'json') as format, e.template, e.name as event, e.data,
      to_char(e.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt"
    from (
      select id, event_id, webhook_id, status, attempt_count from deliveries where event <> 'webhook.probe'
      union all
      select id, event_id, webhook_id, 'pending', attempt_count from pending_deliveries where trigger <> 'probe'
    ) d join events e on e.id = d.event_id left join webhooks w on w.id = d.webhook_id
  `.execute(database);
  const attempts = await sql<LedgerAttempt>`
    select delivery_id as "deliveryId", number, extract(epoch from started_at)::float8 * 1000 as "startedAt",
      duration_ms as "durationMs", status_code as "statusCode", error
    from attempts where trigger <> 'test' order by delivery_id, number
  `.execute(database);
  const replays = await sql<{ count: number }>`
    select count(*) from audit_log where action in ('webhook.replayed', 'webhook.recovered')
  `.execute(database);
  return {
    events: events.rows,
    webhooks: webhooks.rows.map(({ url, sealedUrl, ...webhook }) =>
      Object.assign(webhook, {
        path: new URL(sealedUrl ? secretBox.open(sealedUrl, urlOwner(webhook.id)) : url).pathname,
        isChat: sealedUrl !== null,
      }),
    ),
    deliveries: deliveries.rows,
    attempts: attempts.rows,
    replays: replays.rows[0]?.count ?? 0,
    bodies: new Map(deliveries.rows.map((row) => [row.id, bodyOf(row)])),
  };
}

type Content = {
  format: WebhookFormat;
  template: number;
  event: string;
  createdAt: string;
  data: string;
};

/** The contract's bytes, put together here a second time; a chat message as the service writes it. */
function bodyOf({ id, format, template, ...content }: LedgerDelivery & Content): string {
  const { event, createdAt, data } = content;
  if (format !== 'json') return renderMessage(format, content, template) ?? '';
  return `{"id":"${id}","event":"${event}","createdAt":"${createdAt}","data":${data}}`;
}
