/** Measures one load on one system, from the first publish until the last attempt is recorded. */
import { setTimeout as wait } from 'node:timers/promises';
import { quantile } from '../../harness/figures.ts';
import { publishAll, type Load, type Published } from './publish.ts';
import type { Receivers } from './receivers.ts';
import type { System, Work } from './system.ts';
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
  postgresCpuMsPerDelivery: number;
  /** Of the process that delivers, or the busiest of several: the share of a core, until the last attempt is recorded. */
  workerCpuPercent: number;
  postgresCpuPercent: number;
  /** Of all processes of the service, while events are published and delivered. */
  peakMib: number;
  /** From publish to receipt. */
  p50Ms: number;
  p99Ms: number;
  /** Per delivery. */
  work?: Work;
};

const timeoutMs = 180_000;
const sampleMs = 100;

export async function measure(
  load: Load,
  { system, world }: { system: System; world: World },
  { receivers, observesWork }: { receivers: Receivers; observesWork: boolean },
): Promise<Result> {
  const tally = createTally(load);
  receivers.onDelivery = (receiver, body) => tally.received(receiver, body);
  const workBefore = observesWork ? await system.work() : null;
  const cpuBefore = await system.cpu();
  let peakMib = await system.residentMib();
  const sampling = setInterval(() => {
    void system.residentMib().then((mib) => (peakMib = Math.max(peakMib, mib)));
  }, sampleMs);
  const startedAt = performance.now();
  const published = await publishAll(load, { system, world, tally });
  if (published.errors === 0)
    await Promise.race([tally.complete, wait(timeoutMs, undefined, { ref: false })]);
  await system.drained();
  clearInterval(sampling);
  const cpu = await system.cpu();
  const elapsedMs = performance.now() - startedAt;
  const cpuMs = cpu.totalMs - cpuBefore.totalMs;
  const postgresMs = cpu.postgresMs - cpuBefore.postgresMs;
  const { deliveries, duplicates, lastAt, latenciesMs } = tally.counts();
  const seconds = Math.max(lastAt - startedAt, 0) / 1000;
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
    postgresCpuMsPerDelivery: rounded(postgresMs / deliveries),
    workerCpuPercent: rounded(((cpu.workerMs - cpuBefore.workerMs) / elapsedMs) * 100),
    postgresCpuPercent: rounded((postgresMs / elapsedMs) * 100),
    peakMib: rounded(peakMib),
    p50Ms: rounded(quantile(latenciesMs, 0.5)),
    p99Ms: rounded(quantile(latenciesMs, 0.99)),
    ...(workBefore && { work: perDelivery(workBefore, await system.work(), deliveries) }),
  };
}

function perDelivery(before: Work, after: Work, deliveries: number): Work {
  const share = (name: keyof Work) => rounded((after[name] - before[name]) / deliveries);
  return {
    walBytes: share('walBytes'),
    walFlushes: share('walFlushes'),
    fullPages: share('fullPages'),
    blocks: share('blocks'),
    fanOutMs: share('fanOutMs'),
  };
}

function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
