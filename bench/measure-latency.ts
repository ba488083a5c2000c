/**
 * Measures the time from the commit of an event to its receipt, at 100 events per second. Nobody is notified of events
 * that are recorded in a transaction, as by SQL and syncs; `bench:load` measures those published over HTTP.
 */
import { createWebhooks, publishStampedFor, type World } from './delivery-world.ts';
import { quantile, type Figure } from '../harness/figures.ts';
import type { Tally } from './receiver.ts';

const eventsPerSecond = 100;
const warmUpSeconds = 3;
const seconds = 20;

export async function measureLatency(world: World): Promise<Figure[]> {
  const [url = ''] = world.receiver.urls(1);
  await createWebhooks(world.system, [{ url, events: ['application.created'] }]);
  await latencies(world, warmUpSeconds);
  const measured = await latencies(world, seconds);
  const figure = (share: number, atMost: number): Figure => ({
    name: `recorded in a transaction to receipt at ${eventsPerSecond} events/s, p${share * 100}`,
    reached: quantile(measured, share),
    unit: 'ms',
    asked: { atMost },
  });
  return [figure(0.5, 100), figure(0.99, 200)];
}

async function latencies(world: World, durationSeconds: number): Promise<number[]> {
  await world.receiver.ask({ do: 'reset' });
  const count = await publishStampedFor(world.system, eventsPerSecond, durationSeconds);
  const { latenciesMs } = await world.receiver.ask<Tally>({ do: 'wait', count });
  if (latenciesMs.length !== count)
    throw new Error('not every delivery said when it was published');
  return latenciesMs;
}
