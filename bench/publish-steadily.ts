/** Publishes events at a fixed rate, whether or not the previous one is committed. */
import { setTimeout as wait } from 'node:timers/promises';

export async function publishSteadily(
  publish: (event: number) => Promise<unknown>,
  { events, perSecond }: { events: number; perSecond: number },
): Promise<void> {
  const startedAt = performance.now();
  const publications: Promise<unknown>[] = [];
  for (let event = 0; event < events; event += 1) {
    const dueMs = startedAt + (event * 1000) / perSecond - performance.now();
    if (dueMs > 0) await wait(dueMs);
    publications.push(publish(event));
  }
  await Promise.all(publications);
}
