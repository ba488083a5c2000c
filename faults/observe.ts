/** Questions to the receivers and the database. */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { sql, type Database } from '../service/src/database/database.ts';
import type { Received } from './received.ts';
import type { World } from './world.ts';

const pollMs = 50;

export function isTo(path: string): (one: Received) => boolean {
  return ({ webhookPath }) => webhookPath.startsWith(path);
}

export async function requestsTo({ receivers }: World, path: string): Promise<Received[]> {
  return (await receivers.report()).filter(isTo(path));
}

/** When the event of a body was published, in milliseconds since 1970. */
export function publishedAt(body: string): number {
  return Date.parse((JSON.parse(body) as { createdAt: string }).createdAt);
}

export async function isEmpty(database: Database, query: ReturnType<typeof sql>): Promise<boolean> {
  return (await sql`${query} limit 1`.execute(database)).rows.length === 0;
}

export async function assertNone(database: Database, query: ReturnType<typeof sql>): Promise<void> {
  assert.equal((await query.execute(database)).rows.length, 0);
}

export async function until(
  what: string,
  deadlineMs: number,
  isReached: () => Promise<boolean>,
): Promise<void> {
  const deadline = Date.now() + deadlineMs;
  while (!(await isReached())) {
    if (Date.now() > deadline) assert.fail(`${what} did not come within ${deadlineMs} ms`);
    await wait(pollMs);
  }
}
