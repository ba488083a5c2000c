/** Measures the time from the commit of an event for 10,000 webhooks until all its deliveries exist. */
import { setTimeout as wait } from 'node:timers/promises';
import { sql, type Database } from '../service/src/database/database.ts';
import { announce, drained, hookUrls, createWebhooks, type World } from './delivery-world.ts';
import { quantile, type Figure } from './figure.ts';

const webhooks = 10_000;
const rounds = 5;
const pollMs = 2;

export async function measureFanOut(world: World): Promise<Figure> {
  const { database } = world;
  await createWebhooks(
    world,
    hookUrls(world, webhooks).map((url) => ({ url, events: ['org.created'] })),
  );
  const times: number[] = [];
  // The first event warms up query plans and caches.
  for (let count = 0; count <= rounds; count += 1) {
    await drained(database);
    const last = await newestPosition(database);
    await announce(database, 1);
    const committedAt = performance.now();
    const eventId = await fannedOut(database, last);
    if (count > 0) times.push(performance.now() - committedAt);
    await requireRows(database, eventId);
  }
  await drained(database);
  return {
    name: 'one event to 10,000 webhooks, all rows',
    reached: quantile(times, 0.5),
    unit: 'ms',
    asked: { atMost: 500 },
    note: `slowest of ${rounds}: ${Math.round(Math.max(...times))} ms`,
  };
}

async function newestPosition(database: Database): Promise<number> {
  const { rows } = await sql<{ position: number }>`
    select coalesce(max(position), 0) as position from events
  `.execute(database);
  return rows[0]?.position ?? 0;
}

/** The event and its deliveries become visible together. */
async function fannedOut(database: Database, after: number): Promise<string> {
  for (;;) {
    const { rows } = await sql<{ id: string }>`
      select id from events where position > ${after} order by position limit 1
    `.execute(database);
    if (rows[0]) return rows[0].id;
    await wait(pollMs);
  }
}

async function requireRows(database: Database, eventId: string): Promise<void> {
  const { rows } = await sql<{ count: number }>`
    select (select count(*) from pending_deliveries where event_id = ${eventId})
      + (select count(*) from deliveries where event_id = ${eventId}) as count
  `.execute(database);
  if (rows[0]?.count !== webhooks)
    throw new Error(`the event has ${rows[0]?.count} deliveries, not ${webhooks}`);
}
