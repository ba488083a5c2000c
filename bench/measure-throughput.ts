/**
 * Measures deliveries per second, from the commit of the events to the record of the last delivery, as a share of a bare
 * sender with the same requests. Rounds alternate, so that both see the same machine.
 */
import { generateSecret } from '../service/src/webhooks/sending/sign.ts';
import { announce, announcedData, drained, createWebhooks, type World } from './delivery-world.ts';
import { quantile, type Figure } from '../harness/figures.ts';
import type { Tally } from './receiver.ts';

const webhooks = 100;
const deliveries = 40_000;
const warmUp = 10_000;
const rounds = 3;

export async function measureThroughput(world: World): Promise<Figure> {
  const urls = world.receiver.urls(webhooks);
  await createWebhooks(
    world.system,
    urls.map((url) => ({ url, events: ['org.created'] })),
  );
  await engineRound(world, warmUp);
  const data = await announcedData(world.system.database);
  await bareRound(world, urls, data, warmUp);
  const rates: { ours: number; bare: number }[] = [];
  for (let count = 0; count < rounds; count += 1) {
    const bare = await bareRound(world, urls, data, deliveries);
    const ours = await engineRound(world, deliveries);
    rates.push({ ours, bare });
  }
  const median = (pick: (rate: { ours: number; bare: number }) => number) =>
    quantile(rates.map(pick), 0.5);
  return {
    name: '40,000 deliveries to 100 webhooks, share of bare undici and HMAC',
    reached: median(({ ours, bare }) => ours / bare),
    unit: '',
    asked: { atLeast: 0.5 },
    note: `${Math.round(median(({ ours }) => ours))} of ${Math.round(median(({ bare }) => bare))} deliveries/s`,
  };
}

/** Deliveries per second. */
async function engineRound({ system, receiver }: World, count: number): Promise<number> {
  await receiver.ask({ do: 'reset' });
  await announce(system.database, count / webhooks);
  const committedAt = performance.now();
  await receiver.ask<Tally>({ do: 'wait', count });
  await drained(system.database);
  return (count * 1000) / (performance.now() - committedAt);
}

async function bareRound(
  { bare, receiver }: World,
  urls: string[],
  data: string,
  count: number,
): Promise<number> {
  await receiver.ask({ do: 'reset' });
  const { elapsedMs } = await bare.ask<{ elapsedMs: number }>({
    urls,
    count,
    data,
    secret: generateSecret(),
  });
  return (count * 1000) / elapsedMs;
}
