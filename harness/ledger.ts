/** All records after a scenario, except those of probes: of the publisher, the service and the receivers. */
import { sql, type Database } from '../service/src/database/database.ts';
import type { Received } from './receivers.ts';

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
  events: { id: string; name: string; allianceId: string }[];
  /** Those of apps that are bound. Each hears one event of one alliance. */
  webhooks: { id: string; event: string; allianceId: string; path: string }[];
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
): Promise<Pick<Ledger, 'events' | 'webhooks' | 'deliveries' | 'attempts' | 'replays' | 'bodies'>> {
  const events = await sql<Ledger['events'][number]>`
    select id, name, alliance_id as "allianceId" from events where name <> 'webhook.probe'
  `.execute(database);
  const webhooks = await sql<Ledger['webhooks'][number]>`
    select w.id, w.events[1] as event, b.alliance_id as "allianceId",
      substring(w.url from '^https?://[^/]+([^?]+)') as path
    from webhooks w join bindings b on b.app_id = w.app_id
  `.execute(database);
  const deliveries = await sql<LedgerDelivery & { body: string }>`
    select d.id, d.event_id as "eventId", d.webhook_id as "webhookId", d.status, d.attempt_count as "attemptCount",
      -- the contract's bytes, put together here a second time
      format('{"id":"%s","event":"%s","createdAt":"%s","data":%s}', d.id, e.name,
        to_char(e.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), e.data) as body
    from (
      select id, event_id, webhook_id, status, attempt_count from deliveries where event <> 'webhook.probe'
      union all
      select id, event_id, webhook_id, 'pending', attempt_count from pending_deliveries where trigger <> 'probe'
    ) d join events e on e.id = d.event_id
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
    webhooks: webhooks.rows,
    deliveries: deliveries.rows,
    attempts: attempts.rows,
    replays: replays.rows[0]?.count ?? 0,
    bodies: new Map(deliveries.rows.map(({ id, body }) => [id, body])),
  };
}
