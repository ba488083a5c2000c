/**
 * Measures how 100 receivers that accept and never respond affect 100 others: the healthy ones' p99 from publishing to
 * receipt, with and without the dead ones.
 */
import { hookUrls, createWebhooks, type WebhookInput, type World } from './delivery-world.ts';
import { quantile, type Figure } from './figure.ts';
import { publishSteadily } from './publish-steadily.ts';
import type { Tally } from './receiver.ts';

const healthy = 100;
const eventsPerSecond = 10;
/** Long enough for the dead receivers to take their whole share, and to reach their deadline. */
const warmUpSeconds = 12;
const seconds = 15;

export async function measureIsolation(world: World): Promise<Figure> {
  const events = ['application.created'];
  const well = hookUrls(world, healthy).map((url) => ({ url, events }));
  const dead = hookUrls(world, healthy, '/silent').map((url) => ({ url, events }));
  const alone = await p99(world, well);
  const beside = await p99(world, [...well, ...dead]);
  return {
    name: 'p99 of 100 webhooks beside 100 that never answer, times that without them',
    reached: beside / alone,
    unit: '',
    asked: { atMost: 2 },
    note: `${Math.round(beside)} ms and ${Math.round(alone)} ms at ${eventsPerSecond * healthy} deliveries/s`,
  };
}

async function p99(world: World, webhooks: WebhookInput[]): Promise<number> {
  await createWebhooks(world, webhooks);
  await run(world, warmUpSeconds);
  return quantile(await run(world, seconds), 0.99);
}

async function run(world: World, durationSeconds: number): Promise<number[]> {
  await world.receiver.ask({ do: 'reset' });
  const count = await publishSteadily(world, eventsPerSecond, durationSeconds);
  const { latenciesMs } = await world.receiver.ask<Tally>({ do: 'wait', count: count * healthy });
  return latenciesMs;
}
