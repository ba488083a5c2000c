/** The queue's steps, as a process without a worker calls them. */
import { randomUUID } from 'node:crypto';
import { sql, type Database } from '../../src/database/database.ts';
import { fanOut, type FanOut } from '../../src/webhooks/queue/fan-out/fan-out.ts';
import type { LeaseRoom } from '../../src/webhooks/queue/dispatch/room.ts';
import { eventually } from './eventually.ts';

/** Room for any number of events and no delivery. */
const noRoom: LeaseRoom = {
  total: 50_000,
  unknown: 0,
  perWebhook: 0,
  atFirst: 0,
  place: 0,
  workers: 1,
  full: [],
};

/** Fans out what waits. Leases nothing: each delivery is parked. */
export function fanOutParked(database: Database, floor = '0'): Promise<FanOut> {
  return fanOut(database, {
    lease: { token: randomUUID(), ms: 30_000 },
    room: noRoom,
    floor,
    minAgeMs: 0,
    deliveriesPerEvent: 1,
  });
}

/** All events, those that wait for fan-out included: `from ${recordedEvents}`. */
export const recordedEvents = sql`(
  select id, name, audience, org_id, alliance_id, data, created_at, position from events
  union all
  select id, name, audience, org_id, alliance_id, data, created_at, null from outbox
) events`;

/** Resolves when no event, delivery or outcome waits, except probes. */
export async function queueDrained(database: Database): Promise<void> {
  await eventually(async () => {
    const { rows } = await sql<{ drained: boolean }>`
      select not exists (select from outbox) and not exists (select from broadcasts) and not exists (select from pending_deliveries where trigger <> 'probe')
        and not exists (select from webhook_outcomes) as drained
    `.execute(database);
    return rows[0]?.drained;
  });
}
