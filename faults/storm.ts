/**
 * A storm: a scenario of one group of webhooks next to a bystander, which has its own owner, hears another event and responds
 * at once. Nothing may be lost or doubled, and the bystander's deliveries go on all the time.
 */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { sql } from '../service/src/database/database.ts';
import { commonEvent, rareEvent, type Behaviour, type Kind } from './behaviours.ts';
import { publishedAt, requestsTo } from './observe.ts';
import { endWell, smallScenario } from './scenario.ts';
import { sized } from './sized.ts';
import type { World } from './world.ts';

export type StormOptions = {
  /** The webhooks in trouble. Their paths begin with `/storm`. */
  webhooks: number;
  /** Default: prompt. */
  behaviour?: Behaviour;
  settings?: Record<string, string>;
  /** Default: two in CI, four otherwise. */
  workers?: number;
  /** Runs before the workers start. */
  prepare?: (world: World) => Promise<void>;
};

export const stormPath = '/storm';
const bystanderPath = '/bystander';
const bystanderWebhooks = 5;
const quietMs = sized(2_000, 10_000);
const pauseMs = 100;
/** A delivery starts within 2 s, and other scenarios on the machine may take as long again. */
const startsWithinMs = 4_000;
/** A machine that is busy with other programs delays the bystander before the storm, too. */
const busyFactor = 10;
const drainMs = sized(50_000, 600_000);

/** `act` may return when the storm began, or when a database was back: what was published before does not count. */
export function storm(
  name: string,
  options: StormOptions,
  act: (world: World) => Promise<number | void>,
): void {
  const { webhooks, behaviour = 'prompt', settings = {}, workers = sized(2, 4) } = options;
  const kinds: Kind[] = [
    { name: stormPath.slice(1), behaviour, webhooks, event: commonEvent },
    {
      name: bystanderPath.slice(1),
      behaviour: 'prompt',
      webhooks: bystanderWebhooks,
      event: rareEvent,
    },
  ];
  smallScenario(name, { kinds, settings }, async (world) => {
    await options.prepare?.(world);
    const started = Array.from({ length: workers }, () => world.startWorker().started);
    await Promise.all(started);
    const bystander = startBystander(world);
    const begun = Date.now() + quietMs;
    let from = begun;
    try {
      await wait(quietMs);
      from = (await act(world)) ?? begun;
    } finally {
      await bystander.stop();
    }
    await endWell(name, world, { drainMs });
    await assertUnaffected(world, { name, begun, from });
  });
}

/** Publishes for the bystander, also while the database is away. */
function startBystander({ publisher }: World): { stop(): Promise<void> } {
  let stopped = false;
  const publishing = (async () => {
    while (!stopped) {
      await publisher.publishOne(rareEvent).catch(() => {});
      await wait(pauseMs);
    }
  })();
  return {
    async stop() {
      stopped = true;
      await publishing;
    },
  };
}

/** The first attempts count, except those of workers that were frozen or killed. */
async function assertUnaffected(
  world: World,
  { name, begun, from }: { name: string; begun: number; from: number },
): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    select delivery_id as id from attempts where error = 'interrupted'
  `.execute(world.database);
  const counted = new Set(rows.map(({ id }) => id));
  const received = (await requestsTo(world, bystanderPath)).filter(({ deliveryId }) => {
    const isFirst = !counted.has(deliveryId);
    counted.add(deliveryId);
    return isFirst;
  });
  const waits = received.map(({ at, body }) => ({
    at: publishedAt(body),
    ms: at - publishedAt(body),
  }));
  const during = percentile(waits.filter(({ at }) => at >= from));
  const before = percentile(waits.filter(({ at }) => at < begun));
  console.log(`${name}: bystander's p99 ${before} ms before, ${during} ms during the storm`);
  assert.ok(
    during < startsWithinMs + busyFactor * before,
    `the bystander's p99 is ${during} ms, not ${before} ms`,
  );
}

function percentile(waits: { ms: number }[]): number {
  const sorted = waits.map(({ ms }) => ms).sort((a, b) => a - b);
  assert.ok(sorted.length > 0, 'the bystander got nothing');
  return sorted[Math.floor(sorted.length * 0.99)] ?? 0;
}
