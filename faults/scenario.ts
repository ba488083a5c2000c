/**
 * Runs a scenario with ten thousand deliveries, most of them published before its faults and some meanwhile. In the end,
 * every delivery must have succeeded or used all attempts, and the records must match what the receivers got.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { busiestSecond, findLeaks, readLog } from './check-log.ts';
import { checkLedger } from './check-ledger.ts';
import { addCounts } from './counts.ts';
import { runFolder } from './run-folder.ts';
import { openWorld, type World } from './world.ts';

export type ScenarioOptions = {
  /** Why it is skipped on this machine. */
  skip?: string | false;
  /** Called with the data folder before the database is created. */
  mount?: (path: string) => void;
  /** Called after each event that is published during the faults. */
  publishEveryMs?: number;
  /** The output that is allowed on standard error. */
  expectedStderr?: RegExp;
  /** Whether at least as many attempts as faults must have been in flight at a fault. */
  interrupts?: boolean;
};

const eventsBefore = 160;
const eventsMeanwhile = 40;
const scenarioDeadlineMs = 240_000;
/** The deadline of an attempt, and ten seconds to retry a batch. */
const stopDeadlineMs = 15_000;
const linesPerSecondMax = 50;
const wrongShownMax = 10;

export function scenario(
  name: string,
  options: ScenarioOptions,
  act: (world: World) => Promise<void>,
): void {
  const only = process.env['FAULTS_ONLY'] ?? '';
  const skip = name.includes(only) ? (options.skip ?? false) : 'FAULTS_ONLY leaves it out';
  test(name, { timeout: scenarioDeadlineMs, skip }, async (t) => {
    const began = Date.now();
    const world = await openWorld(name.replaceAll(/[^a-z]+/g, '-').slice(0, 30), options.mount);
    t.after(async () => {
      // If PostgreSQL itself crashes, other errors mean little.
      for (const crash of world.store.crashes()) t.diagnostic(crash);
      await world.close();
    });
    await world.publisher.publish(eventsBefore);
    const publishing = world.publisher.publishSlowly(eventsMeanwhile, options.publishEveryMs ?? 50);
    await act(world);
    world.publisher.hurry();
    await publishing;
    await world.drained();
    await stopWorkers(world);
    // A service stops its embedded database.
    await world.store.start();
    const { counts, wrong } = checkLedger(await world.ledger());
    const seconds = Math.round((Date.now() - began) / 100) / 10;
    addCounts(runFolder(), { scenario: name, ...counts, seconds });
    const all = [...wrong, ...checkOutputs(world, options), ...world.store.crashes()];
    assert.equal(all.length, 0, all.slice(0, wrongShownMax).join('\n'));
    if (options.interrupts)
      assert.ok(counts.interrupted >= counts.faults, 'faults that meet nothing show nothing');
  });
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

async function stopWorkers({ workers }: World): Promise<void> {
  const running = workers.filter((worker) => !worker.hasEnded());
  for (const worker of running) worker.signal('SIGTERM');
  for (const worker of running) {
    await endsInTime(worker.ended);
    assert.deepEqual(await worker.ended, { code: 0, signal: null });
  }
}

function checkOutputs(world: World, { expectedStderr }: ScenarioOptions): string[] {
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
