/** Measures one load on one system, from the first publish until the last attempt is recorded. */
import { setTimeout as wait } from 'node:timers/promises';
import { quantile } from '../figure.ts';
import { publishAll, type Load, type Published } from './publish.ts';
import type { Receivers } from './receivers.ts';
import type { System } from './system.ts';
import { createTally } from './tally.ts';
import type { World } from './world.ts';

export type Result = Published & {
  system: string;
  load: string;
  events: number;
  deliveries: number;
  missing: number;
  duplicates: number;
  /** From the first publish to the last receipt. */
  seconds: number;
  deliveriesPerSecond: number;
  /** Of the service and its database, until the last attempt is recorded. */
  cpuSeconds: number;
  cpuMsPerDelivery: number;
  /** From publish to receipt. */
  p50Ms: number;
  p99Ms: number;
};

const timeoutMs = 180_000;

export async function measure(
  load: Load,
  { system, world }: { system: System; world: World },
  receivers: Receivers,
): Promise<Result> {
  const tally = createTally(load);
  receivers.onDelivery = (receiver, body) => tally.received(receiver, body);
  const cpuBeforeMs = await system.cpuMs();
  const startedAt = performance.now();
  const published = await publishAll(load, { system, world, tally });
  if (published.errors === 0)
    await Promise.race([tally.complete, wait(timeoutMs, undefined, { ref: false })]);
  await system.drained();
  const cpuMs = (await system.cpuMs()) - cpuBeforeMs;
  const { deliveries, duplicates, lastAt, latenciesMs } = tally.counts();
  const seconds = (lastAt - startedAt) / 1000;
  return {
    system: system.name,
    load: load.name,
    events: load.events,
    deliveries,
    missing: load.events * load.webhooks - deliveries,
    duplicates,
    ...published,
    seconds: rounded(seconds),
    deliveriesPerSecond: rounded(deliveries / seconds),
    cpuSeconds: rounded(cpuMs / 1000),
    cpuMsPerDelivery: rounded(cpuMs / deliveries),
    p50Ms: rounded(quantile(latenciesMs, 0.5)),
    p99Ms: rounded(quantile(latenciesMs, 0.99)),
  };
}

function rounded(value: number): number {
  return Number(value.toFixed(3));
}
