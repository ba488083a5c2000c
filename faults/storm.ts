/**
 * A storm: a scenario of one group of webhooks next to a bystander, which has its own owner, hears another event and responds
 * at once. Nothing may be lost or doubled, and the bystander's deliveries go on all the time: what is published for it in the
 * first half of a storm starts before the storm ends, which does not depend on how fast the machine is. How long it takes is
 * only printed here: `npm run bench:isolation` compares that with the time before, on a quiet machine.
 */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { sql } from '../service/src/database/database.ts';
import { quantile } from '../harness/figures.ts';
import { commonEvent, rareEvent } from '../harness/publisher.ts';
import type { Behaviour, Kind, Received } from '../harness/receivers.ts';
import {
  delayMs,
  endWell,
  publishedAt,
  requestsTo,
  sized,
  smallScenario,
  type Scene,
} from './scenario.ts';

export type StormOptions = {
  /** The webhooks in trouble. Their paths begin with `/storm`. */
  webhooks: number;
  /** Default: prompt. */
  behaviour?: Behaviour;
  settings?: Record<string, string>;
  /** Default: two in CI, four otherwise. */
  workers?: number;
  /** Runs before the workers start. */
  prepare?: (scene: Scene) => Promise<void>;
};

export const stormPath = '/storm';
const bystanderPath = '/bystander';
const quietMs = sized(2_000, 10_000);
const pauseMs = 100;
const drainMs = sized(50_000, 600_000);

/** `act` may return when the storm began, or when a database was back: what was published before does not count. */
export function storm(
  name: string,
  options: StormOptions,
  act: (scene: Scene) => Promise<number | void>,
): void {
  const { webhooks, behaviour = 'prompt', settings = {}, workers = sized(2, 4) } = options;
  const kinds: Kind[] = [
    { name: stormPath.slice(1), behaviour, webhooks, event: commonEvent },
    { name: bystanderPath.slice(1), behaviour: 'prompt', webhooks: 5, event: rareEvent },
  ];
  smallScenario(name, { kinds, settings }, async (scene) => {
    await options.prepare?.(scene);
    await scene.startWorkers(workers);
    const ending = new AbortController();
    const publishing = publishForBystander(scene, ending.signal);
    const begun = Date.now() + quietMs;
    let from = begun;
    let ended = begun;
    try {
      await wait(quietMs);
      from = (await act(scene)) ?? begun;
      ended = Date.now();
    } finally {
      ending.abort();
      await publishing;
    }
    await endWell(name, scene, { drainMs });
    await assertUnaffected(scene, { name, begun, from, ended });
  });
}

/** Goes on while the database is away. */
async function publishForBystander({ publisher }: Scene, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    await publisher.publishOne(rareEvent).catch(() => {});
    await wait(pauseMs);
  }
}

/** The first attempts count, except those of workers that were frozen or killed. */
async function assertUnaffected(
  scene: Scene,
  { name, begun, from, ended }: { name: string; begun: number; from: number; ended: number },
): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    select delivery_id as id from attempts where error = 'interrupted'
  `.execute(scene.database);
  const counted = new Set(rows.map(({ id }) => id));
  const received = (await requestsTo(scene, bystanderPath)).filter(({ deliveryId }) => {
    const isFirst = !counted.has(deliveryId);
    counted.add(deliveryId);
    return isFirst;
  });
  const p99 = (some: Received[]) => {
    assert.ok(some.length > 0, 'the bystander got nothing');
    return quantile(some.map(delayMs), 0.99);
  };
  const during = p99(received.filter((one) => publishedAt(one) >= from));
  const before = p99(received.filter((one) => publishedAt(one) < begun));
  console.log(`${name}: bystander's p99 ${before} ms before, ${during} ms during the storm`);
  const firstHalf = received.filter(
    (one) => publishedAt(one) >= from && publishedAt(one) < (from + ended) / 2,
  );
  assert.ok(firstHalf.length > 0, 'nothing was published for the bystander during the storm');
  const late = firstHalf.filter((one) => publishedAt(one) + delayMs(one) > ended);
  assert.ok(
    late.length <= firstHalf.length / 100,
    `${late.length} of ${firstHalf.length} waited for the storm's end`,
  );
}
