import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import type { TestDatabase } from './database.ts';
import { sql } from '../../src/database/database.ts';

/** Longer than anything that a test waits for, on a busy machine too. */
const giveUpAfterMs = 60_000;
/** Without a pause, asking takes the processor from the work that the test waits for. */
const pauseMs = 10;
/** The longer it takes, the less a pause adds to it. */
const pauseMsMax = 50;

/** Asks until the answer is truthy. Only for what gives no signal. */
export async function eventually<T>(
  ask: () => Promise<T | null | undefined | false>,
  longestPauseMs = pauseMsMax,
): Promise<T> {
  const startedAt = Date.now();
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    const waitedMs = Date.now() - startedAt;
    // Otherwise the test's process would outlive the test.
    if (waitedMs > giveUpAfterMs) throw new Error(`still waiting for: ${ask.toString()}`);
    await wait(Math.min(Math.max(waitedMs / 10, pauseMs), longestPauseMs));
  }
}

export const withinASecond = (ask: () => Promise<boolean>) => within(1_000, ask);

/** For a change that takes effect within this time, apart from pauses that a busy machine prolongs. */
export async function within(limitMs: number, ask: () => Promise<boolean>): Promise<void> {
  const startedAt = performance.now();
  let prolongedMs = 0;
  let pausedAt = startedAt - pauseMs;
  /** When the last ask began whose answer was no. */
  let notBefore = startedAt;
  await eventually(async () => {
    const askedAt = performance.now();
    prolongedMs += askedAt - pausedAt - pauseMs;
    const answer = await ask();
    if (!answer) notBefore = askedAt - prolongedMs;
    pausedAt = performance.now();
    return answer;
  }, pauseMs);
  const tookMs = Math.round(notBefore - startedAt);
  assert.ok(tookMs < limitMs, `not yet after ${tookMs} ms`);
}

/** The delivery of an event to a webhook once it has ended. */
export function endedDelivery(
  { database }: Pick<TestDatabase, 'database'>,
  webhookId: string,
): Promise<{ id: string; event_id: string; status: string; attempt_count: number }> {
  return eventually(async () => {
    const { rows } = await sql<{
      id: string;
      event_id: string;
      status: string;
      attempt_count: number;
    }>`
      select id, event_id, status, attempt_count from deliveries where webhook_id = ${webhookId} order by id desc limit 1
    `.execute(database);
    return rows[0];
  });
}
