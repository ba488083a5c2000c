/**
 * Runs a scenario: a large one with ten thousand deliveries, most of them published before its faults and some meanwhile,
 * or a small one with its own receivers. In the end of each, no process may have logged what it must not.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mixedKinds } from './behaviours.ts';
import { busiestSecond, findLeaks, readLog } from './check-log.ts';
import { checkLedger } from './check-ledger.ts';
import { addCounts } from './counts.ts';
import { runFolder } from './run-folder.ts';
import { sized } from './sized.ts';
import { openWorld, type World, type WorldOptions } from './world.ts';

export type ScenarioOptions = Pick<WorldOptions, 'mount'> & {
  /** Why it is skipped on this machine. */
  skip?: string | false;
  /** Called after each event that is published during the faults. */
  publishEveryMs?: number;
  /** The output that is allowed on standard error. */
  expectedStderr?: RegExp;
  /** Whether at least as many attempts as faults must have been in flight at a fault. */
  interrupts?: boolean;
};

const eventsBefore = 160;
const eventsMeanwhile = 40;
const scenarioDeadlineMs = sized(240_000, 3_600_000);
/** The deadline of an attempt, and ten seconds to retry a batch. */
const stopDeadlineMs = 15_000;
const linesPerSecondMax = 50;
const wrongShownMax = 10;

/** In the end every delivery must have succeeded or used all attempts, and the records must match what the receivers got. */
export function scenario(
  name: string,
  options: ScenarioOptions,
  act: (world: World) => Promise<void>,
): void {
  const large = { kinds: mixedKinds, mount: options.mount };
  inWorld(name, { world: large, skip: options.skip ?? false }, async (world) => {
    await world.publisher.publish(eventsBefore);
    const publishing = world.publisher.publishSlowly(eventsMeanwhile, options.publishEveryMs ?? 50);
    await act(world);
    world.publisher.hurry();
    await publishing;
    await endWell(name, world, options);
  });
}

/** `act` publishes, breaks and asserts; it may call `endWell`. */
export function smallScenario(
  name: string,
  options: WorldOptions,
  act: (world: World) => Promise<void>,
): void {
  inWorld(name, { world: options, skip: false }, async (world) => {
    await act(world);
    assertNothing([...checkOutputs(world, {}), ...world.store.crashes()]);
  });
}

/** Waits until nothing is pending, stops the workers, and compares all records. */
export async function endWell(
  name: string,
  world: World,
  options: Pick<ScenarioOptions, 'expectedStderr' | 'interrupts'> & { drainMs?: number } = {},
): Promise<void> {
  await world.drained(options.drainMs);
  await stopWorkers(world);
  // A service stops its embedded database.
  await world.store.start();
  const { counts, wrong } = checkLedger(await world.ledger());
  const seconds = Math.round((Date.now() - world.openedAt) / 100) / 10;
  addCounts(runFolder(), { scenario: name, ...counts, seconds });
  assertNothing([...wrong, ...checkOutputs(world, options), ...world.store.crashes()]);
  if (options.interrupts)
    assert.ok(counts.interrupted >= counts.faults, 'faults that meet nothing show nothing');
}

function inWorld(
  name: string,
  options: { world: WorldOptions; skip: string | false },
  act: (world: World) => Promise<void>,
): void {
  const only = process.env['FAULTS_ONLY'] ?? '';
  const skip = name.includes(only) ? options.skip : 'FAULTS_ONLY leaves it out';
  test(name, { timeout: scenarioDeadlineMs, skip }, async (t) => {
    const world = await openWorld(name.replaceAll(/[^a-z]+/g, '-').slice(0, 30), options.world);
    t.after(async () => {
      // If PostgreSQL itself crashes, other errors mean little.
      for (const crash of world.store.crashes()) t.diagnostic(crash);
      await world.close();
    });
    await act(world);
  });
}

function assertNothing(wrong: string[]): void {
  assert.equal(wrong.length, 0, wrong.slice(0, wrongShownMax).join('\n'));
}

/** Resolves when a process has ended; rejects if that takes too long. */
export async function endsInTime(ended: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`it has not ended after ${stopDeadlineMs} ms`)),
      stopDeadlineMs,
    );
  });
  await Promise.race([ended, late]).finally(() => clearTimeout(timer));
}

export async function stopWorkers({ workers }: World): Promise<void> {
  const running = workers.filter((worker) => !worker.hasEnded());
  for (const worker of running) worker.signal('SIGTERM');
  for (const worker of running) {
    await endsInTime(worker.ended);
    assert.deepEqual(await worker.ended, { code: 0, signal: null });
  }
}

function checkOutputs(
  world: World,
  { expectedStderr }: Pick<ScenarioOptions, 'expectedStderr'>,
): string[] {
  const { password } = world.store.connection;
  const secrets = [world.secretKey, String(password)];
  return world.workers.flatMap((worker) => {
    const [stdout, stderr] = [worker.stdout(), worker.stderr()];
    const lines = readLog(stdout);
    const loudest = Math.max(0, ...world.faults.map((fault) => busiestSecond(lines, fault)));
    const surprises = expectedStderr ? stderr.replaceAll(expectedStderr, '') : stderr;
    return [
      ...findLeaks(stdout + stderr, secrets),
      ...(surprises.trim() === '' ? [] : [`standard error says: ${surprises.slice(0, 2000)}`]),
      ...(loudest <= linesPerSecondMax ? [] : [`${loudest} lines in one second of a fault`]),
    ];
  });
}
