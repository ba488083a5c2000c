/** Compares the service's memory during the last and the first tenth of 500,000 deliveries. */
import { announce, drained, createWebhooks, type World } from './delivery-world.ts';
import { quantile, type Figure } from '../harness/figures.ts';
import type { Tally } from './receiver.ts';

const webhooks = 100;
const deliveries = 500_000;
const parts = 10;
const sampleMs = 200;

/** Linux only; empty elsewhere. */
export async function measureMemory(world: World): Promise<Figure[]> {
  if (process.platform !== 'linux') return [];
  await createWebhooks(
    world.system,
    world.receiver.urls(webhooks).map((url) => ({ url, events: ['org.created'] })),
  );
  // Deliveries that earlier steps left for receivers that never respond.
  await drained(world.system.database);
  const medians: number[] = [];
  const startedAt = performance.now();
  for (let part = 0; part < parts; part += 1) medians.push(await partMib(world));
  const perSecond = (deliveries * 1000) / (performance.now() - startedAt);
  const [first = 0] = medians;
  const last = medians.at(-1) ?? 0;
  return [
    {
      name: 'memory over the last tenth of 500,000 deliveries, times the first',
      reached: last / first,
      unit: '',
      asked: { atMost: 1.2 },
      note: `${Math.round(first)} to ${Math.round(last)} MiB; ${Math.round(perSecond)} deliveries/s`,
    },
  ];
}

async function partMib({ system, receiver }: World): Promise<number> {
  const samples: number[] = [];
  const timer = setInterval(() => {
    void system.residentMib().then((mib) => samples.push(mib));
  }, sampleMs);
  const count = deliveries / parts;
  await receiver.ask({ do: 'reset' });
  await announce(system.database, count / webhooks);
  await receiver.ask<Tally>({ do: 'wait', count });
  await drained(system.database);
  clearInterval(timer);
  return quantile(samples, 0.5);
}
