/**
 * One scenario: ten thousand deliveries, most of them published before its faults and some meanwhile. Whatever
 * was broken, in the end everything is delivered or exhausted, and the records say what the receivers saw.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { busiestSecond, findLeaks, readLog } from './check-log.ts';
import { checkLedger } from './check-ledger.ts';
import { addCounts } from './counts.ts';
import { runFolder } from './run-folder.ts';
import { openWorld, type World } from './world.ts';

export type ScenarioOptions = {
  /** Why it is left out on this machine. */
  skip?: string | false;
  /** Called with the folder of the database's files before there are any. */
  mount?: (path: string) => void;
  /** After each event that is published during the faults. */
  publishEveryMs?: number;
  /** What a process of the service may say on standard error. */
  expectedStderr?: RegExp;
  /** Whether its faults must meet attempts in flight: in all as many as there are faults. */
  interrupts?: boolean;
};

const eventsBefore = 160;
const eventsMeanwhile = 40;
const scenarioDeadlineMs = 240_000;
/** An attempt's deadline, and ten seconds in which a batch is tried again. */
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
      // Where the database itself fails, whatever else fails says little.
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
    // A service takes its embedded database with it.
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

/** Resolves when a process has ended; rejects where that takes longer than a stop may. */
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
