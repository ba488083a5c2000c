import type { TestDatabase } from './database.ts';
import { sql } from '../../src/database/database.ts';

/** Asks until the answer is truthy; the test's own time limit ends a wait that leads nowhere. Only for what gives no signal. */
export async function eventually<T>(ask: () => Promise<T | null | undefined | false>): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The delivery of an event to a webhook once it has ended. */
export function endedDelivery(
  { database }: Pick<TestDatabase, 'database'>,
  webhookId: string,
): Promise<{ id: string; status: string; attempt_count: number }> {
  return eventually(async () => {
    const { rows } = await sql<{ id: string; status: string; attempt_count: number }>`
      select id, status, attempt_count from deliveries where webhook_id = ${webhookId} order by id desc limit 1
    `.execute(database);
    return rows[0];
  });
}
