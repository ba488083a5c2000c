/** Puts deliveries into the queue by SQL, many more than could be published in the time of a scenario. */
import { isEmpty } from '../harness/world.ts';
import { sql, type Database } from '../service/src/database/database.ts';
import type { Scene } from './scenario.ts';

export type Filling = {
  /** The webhooks, by the beginning of their paths. */
  path: string;
  /** Deliveries of each webhook. */
  count: number;
  /** Each falls due at a random moment of this many milliseconds from now, or until now if negative; at once by default. */
  dueWithinMs?: number;
  /** Leased for an hour to a process that does not exist. */
  leased?: boolean;
};

/** Each statement stays far below the statement timeout. */
const countMax = 250;

/** The deliveries are of the oldest event. If there is none yet, call it while no worker runs. */
export async function fillQueue(
  { database, publisher }: Pick<Scene, 'database' | 'publisher'>,
  { path, count, dueWithinMs = 0, leased = false }: Filling,
): Promise<void> {
  if (await isEmpty(database, sql`select from events`)) {
    await publisher.publish(1);
    await storeEvents(database);
  }
  for (let left = count; left > 0; left -= countMax)
    await sql`
      insert into pending_deliveries (id, event_id, event, webhook_id, trigger, created_at, due_at, lease_token, leased_at,
        attempt_count, cycle_attempts)
      select uuid_v7(), e.id, e.name, w.id, 'event', now(),
        case when l.leased then now() + interval '1 hour'
          else now() + random() * ${dueWithinMs}::int * interval '1 millisecond' end,
        case when l.leased then gen_random_uuid() end, case when l.leased then now() end, l.leased::int, l.leased::int
      from (select id, name from events order by id limit 1) e, webhooks w, generate_series(1, ${Math.min(left, countMax)}::int), (select ${leased}::boolean as leased) l
      where w.url like '%://%' || ${path}::text || '/%'
    `.execute(database);
}

/** Parks a delivery of each stored event to each webhook whose path begins like this. */
export async function parkAll(database: Database, path: string): Promise<void> {
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, created_at, due_at, parked)
    select uuid_v7(), e.id, e.name, w.id, 'event', now(), now(), true from events e, webhooks w
    where w.url like '%://%' || ${path}::text || '/%'
  `.execute(database);
}

/** Stores the published events without deliveries, as if nobody had subscribed. Call it while no worker runs. */
export async function storeEvents(database: Database): Promise<void> {
  await sql`
    with moved as (delete from outbox returning id, name, audience, org_id, alliance_id, data, created_at)
    insert into events (id, name, audience, org_id, alliance_id, data, created_at, position)
    select moved.*, nextval('event_positions') from moved
  `.execute(database);
}
