/**
 * Runs a scenario: a large one with ten thousand deliveries, most of them published before its faults and some meanwhile,
 * or a small one with its own receivers. In the end of each, no process may have logged what it must not.
 */
import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { checkLedger } from '../harness/check-ledger.ts';
import { createEmbedded, type EmbeddedServer } from '../harness/embedded.ts';
import { mixedKinds } from '../harness/publisher.ts';
import { randomOf, type Random } from '../harness/random.ts';
import type { Received } from '../harness/receivers.ts';
import { cleanUpsOf, removeFolder } from '../harness/run.ts';
import type { Service } from '../harness/service.ts';
import { openWorld, type World, type WorldOptions } from '../harness/world.ts';
import { openDatabase } from '../service/src/database/database.ts';
import { busiestSecond, findLeaks, readLog } from './check-log.ts';
import { countsFile } from './global-setup.ts';

export type Scene = World & {
  store: EmbeddedServer;
  random: Random;
  /** Starts a worker on the database, or on another address of it. Does not wait until it is ready. */
  startWorker(url?: string): Service;
  /** Starts so many workers, and resolves when they are ready. */
  startWorkers(count: number): Promise<Service[]>;
  /** Waits for a random time up to this. */
  moment(mostMs: number): Promise<void>;
  /** After so many more requests and a short moment, records the duration of `act` as the time of a fault. */
  faultAfter(requests: number, act: () => Promise<unknown>): Promise<void>;
};

type SceneOptions = WorldOptions & {
  /** Called with the data folder before the database is created. */
  mount?: (path: string) => void;
};

export type ScenarioOptions = Pick<SceneOptions, 'mount'> & {
  /** Why it is skipped on this machine. */
  skip?: string | false;
  /** Called after each event that is published during the faults. */
  publishEveryMs?: number;
  /** The output that is allowed on standard error. */
  expectedStderr?: RegExp;
  /** Whether at least as many attempts as faults must have been in flight at a fault. */
  interrupts?: boolean;
};

/** The longest of short moments. */
export const shortMs = 150;
const eventsBefore = 160;
const eventsMeanwhile = 40;
const scenarioDeadlineMs = sized(240_000, 3_600_000);
const linesPerSecondMax = 50;
const wrongShownMax = 10;

/** The size of a storm: short in CI, full with FAULTS_FULL=1. */
export function sized(short: number, full: number): number {
  return process.env['FAULTS_FULL'] === '1' ? full : short;
}

/** In the end every delivery must have succeeded or used all attempts, and the records must match what the receivers got. */
export function scenario(
  name: string,
  options: ScenarioOptions,
  act: (scene: Scene) => Promise<void>,
): void {
  const { mount, skip = false, publishEveryMs = 50 } = options;
  inScene(name, { kinds: mixedKinds, ...(mount && { mount }), skip }, async (scene) => {
    const { publisher } = scene;
    await publisher.publish(eventsBefore);
    const publishing = publisher.publishSlowly(eventsMeanwhile, publishEveryMs);
    await act(scene);
    publisher.hurry();
    await publishing;
    await endWell(name, scene, options);
  });
}

/** `act` publishes, breaks and asserts; it may call `endWell`. */
export function smallScenario(
  name: string,
  options: SceneOptions,
  act: (scene: Scene) => Promise<void>,
): void {
  inScene(name, options, async (scene) => {
    await act(scene);
    assertNothing([...checkOutputs(scene, {}), ...scene.store.crashes()]);
  });
}

/** Waits until nothing is pending, stops the workers, and compares all records. */
export async function endWell(
  name: string,
  scene: Scene,
  options: Pick<ScenarioOptions, 'expectedStderr' | 'interrupts'> & { drainMs?: number } = {},
): Promise<void> {
  await scene.drained(options.drainMs);
  await stopWorkers(scene);
  // A service stops its embedded database.
  await scene.store.start();
  const { counts, wrong } = checkLedger(await scene.ledger());
  const seconds = Math.round((Date.now() - scene.openedAt) / 100) / 10;
  appendFileSync(countsFile(), `${JSON.stringify({ scenario: name, ...counts, seconds })}\n`);
  assertNothing([...wrong, ...checkOutputs(scene, options), ...scene.store.crashes()]);
  if (options.interrupts)
    assert.ok(counts.interrupted >= counts.faults, 'faults that meet nothing show nothing');
}

export async function stopWorkers({ processes }: World): Promise<void> {
  const running = processes.filter((each) => !each.hasEnded());
  for (const ended of await Promise.all(running.map((each) => each.stop())))
    assert.deepEqual(ended, { code: 0, signal: null });
}

export function isTo(path: string): (one: Received) => boolean {
  return ({ webhookPath }) => webhookPath.startsWith(path);
}

export async function requestsTo({ receivers }: World, path: string): Promise<Received[]> {
  return (await receivers.report()).filter(isTo(path));
}

/** When the event of a body was published, in milliseconds since 1970. */
export function publishedAt({ body }: Received): number {
  return Date.parse((JSON.parse(body) as { createdAt: string }).createdAt);
}

/** How long a request came after its event was published. */
export function delayMs(one: Received): number {
  return one.at - publishedAt(one);
}

function inScene(
  name: string,
  { skip = false, ...options }: SceneOptions & { skip?: string | false },
  act: (scene: Scene) => Promise<void>,
): void {
  const only = process.env['FAULTS_ONLY'] ?? '';
  const why = name.includes(only) ? skip : 'FAULTS_ONLY leaves it out';
  test(name, { timeout: scenarioDeadlineMs, skip: why }, async (t) => {
    const cleanUps = cleanUpsOf(t);
    const scene = await openScene(name.replaceAll(/[^a-z]+/g, '-').slice(0, 30), options, cleanUps);
    // If PostgreSQL itself crashes, other errors mean little.
    cleanUps.defer(() => scene.store.crashes().forEach((crash) => t.diagnostic(crash)));
    await act(scene);
  });
}

async function openScene(
  name: string,
  { mount, ...options }: SceneOptions,
  cleanUps: AsyncDisposableStack,
): Promise<Scene> {
  const store = await createEmbedded(name, mount);
  await store.start();
  const database = openDatabase(store.connection, { applicationName: 'faults harness' });
  cleanUps.defer(async () => {
    await database.destroy();
    await store.kill();
    removeFolder(store.dataDir);
  });
  const random = randomOf(name);
  const world = await openWorld(database, options, cleanUps);
  const startWorker = (url = store.url) => world.start({ ROLES: 'worker', DATABASE_URL: url });
  const moment = (mostMs: number) => wait(random.below(mostMs));
  return {
    ...world,
    store,
    random,
    startWorker,
    async startWorkers(count) {
      const workers = Array.from({ length: count }, () => startWorker());
      await Promise.all(workers.map(({ started }) => started));
      return workers;
    },
    moment,
    async faultAfter(requests, act) {
      await world.receivers.more(requests);
      await moment(shortMs);
      await world.fault(act);
    },
  };
}

function assertNothing(wrong: string[]): void {
  assert.equal(wrong.length, 0, wrong.slice(0, wrongShownMax).join('\n'));
}

function checkOutputs(
  { store, secretKey, processes, faults }: Scene,
  { expectedStderr }: Pick<ScenarioOptions, 'expectedStderr'>,
): string[] {
  const secrets = [secretKey, String(store.connection.password)];
  return processes.flatMap((process) => {
    const [stdout, stderr] = [process.stdout(), process.stderr()];
    const lines = readLog(stdout);
    const loudest = Math.max(0, ...faults.map((fault) => busiestSecond(lines, fault)));
    const surprises = expectedStderr ? stderr.replaceAll(expectedStderr, '') : stderr;
    return [
      ...findLeaks(stdout + stderr, secrets),
      ...(surprises.trim() === '' ? [] : [`standard error says: ${surprises.slice(0, 2000)}`]),
      ...(loudest <= linesPerSecondMax ? [] : [`${loudest} lines in one second of a fault`]),
    ];
  });
}
