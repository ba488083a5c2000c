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
    await announce(database, 1);
    const committedAt = performance.now();
    const eventId = await fannedOut(database);
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

/** The position and the deliveries become visible together. */
async function fannedOut(database: Database): Promise<string> {
  for (;;) {
    const { rows } = await sql<{ id: string; done: boolean }>`
      select id, position is not null as done from events where name = 'org.created' order by id desc limit 1
    `.execute(database);
    if (rows[0]?.done) return rows[0].id;
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
