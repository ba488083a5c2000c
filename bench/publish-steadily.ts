/** Publishes events at a fixed rate, whether or not the previous one is committed. */
import { setTimeout as wait } from 'node:timers/promises';
import { publishStamped, type World } from './delivery-world.ts';

export async function publishSteadily(
  { database }: Pick<World, 'database'>,
  perSecond: number,
  seconds: number,
): Promise<number> {
  const count = perSecond * seconds;
  const startedAt = performance.now();
  const under: Promise<void>[] = [];
  for (let index = 0; index < count; index += 1) {
    const dueMs = startedAt + (index * 1000) / perSecond - performance.now();
    if (dueMs > 0) await wait(dueMs);
    under.push(publishStamped(database));
  }
  await Promise.all(under);
  return count;
}
