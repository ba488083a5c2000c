/**
 * npm run bench:isolation: what bystanders notice of other webhooks' troubles, of locks and of settings. Each measurement has
 * a new service on real processes and sockets, and compares the latencies of bystanders during the trouble with
 * those before it. Prints one line of JSON per measurement, then a table of medians, and exits with 1 if a bystander waited
 * more than twice as long as before, and more than 500 ms. Linux only.
 */
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { makeWorkFolder } from '../work-folder.ts';
import { type Latency } from './bystanders.ts';
import { storms } from './storms.ts';
import { areAllReached, summarize, type Result } from './summarize.ts';
import { troubles, type Trouble } from './troubles.ts';
import { createWorld, type SetUp } from './world.ts';
import { runUntilInterrupted } from '../run-until-interrupted.ts';

const { values: options } = parseArgs({
  options: {
    /** A part of the names of those to measure. */
    only: { type: 'string', multiple: true, default: [''] },
    /** `postgres-1`, `postgres-4`, `embedded-1` or `embedded-4`: the database and the worker processes. */
    setup: { type: 'string', multiple: true, default: [''] },
    /** Another checkout, whose service is measured instead of this one's. */
    checkout: { type: 'string', default: join(import.meta.dirname, '../..') },
    /** How often each trouble is measured. The table has the medians. */
    rounds: { type: 'string', default: '3' },
    /** How long a transaction stays open in a storm; a snapshot is held for twice as long. */
    'held-minutes': { type: 'string', default: '1' },
  },
});

const setUps: Record<string, SetUp> = {
  'postgres-1': { postgresSettings: [], workers: 1 },
  'postgres-4': { postgresSettings: [], workers: 4 },
  'embedded-1': { postgresSettings: null, workers: 1 },
  'embedded-4': { postgresSettings: null, workers: 4 },
};
const stormSetUp = { postgresSettings: ['max_prepared_transactions=5'], workers: 4 };
/** Long enough for the slowest group to answer, and for the limits of all to be known. */
const warmUpSeconds = 8;
const seconds = 16;

const cleanUps = new AsyncDisposableStack();
await runUntilInterrupted(cleanUps, run);

async function run(): Promise<void> {
  const folder = await makeWorkFolder();
  cleanUps.defer(() => rm(folder, { recursive: true, force: true }));
  const results: Result[] = [];
  const measureEach = async (among: Record<string, Trouble>, setUp: string, system: SetUp) => {
    for (const [name, trouble] of chosen(among, options.only)) {
      const startedAt = performance.now();
      const measured = await measureIn(join(folder, String(results.length)), system, trouble);
      const tookSeconds = Math.round((performance.now() - startedAt) / 1000);
      const result = { trouble: name, setUp, ...measured, tookSeconds };
      console.log(JSON.stringify({ ...result, passes: areAllReached([result]) }));
      results.push(result);
    }
  };
  for (let round = 0; round < Number(options.rounds); round += 1)
    for (const [setUp, system] of chosen(setUps, options.setup))
      await measureEach(troubles, setUp, system);
  for (const [setUp, system] of chosen({ 'postgres-4': stormSetUp }, options.setup))
    await measureEach(storms, setUp, system);
  console.log(summarize(results));
  if (!areAllReached(results)) process.exitCode = 1;
}

function chosen<T>(named: Record<string, T>, parts: string[]): [string, T][] {
  return Object.entries(named).filter(([name]) => parts.some((part) => name.includes(part)));
}

/** A service that does not start again says why; that is a result, too. */
async function measureIn(
  folder: string,
  setUp: SetUp,
  trouble: Trouble,
): Promise<Pick<Result, 'before' | 'during' | 'fault'>> {
  const own = new AsyncDisposableStack();
  cleanUps.defer(() => own.disposeAsync());
  let before: Latency[] = [];
  try {
    const world = await createWorld(
      {
        ...setUp,
        checkout: resolve(options.checkout),
        folder,
        heldSeconds: Number(options['held-minutes']) * 60,
      },
      own,
    );
    const { strike, seconds: duringSeconds = seconds } = await trouble(world);
    await world.system.analyze();
    await world.bystanders.measure(world.publisher, warmUpSeconds);
    before = await world.bystanders.measure(world.publisher, seconds);
    await strike();
    const during = await world.bystanders.measure(world.publisher, duringSeconds);
    return { before, during, fault: null };
  } catch (error) {
    return { before, during: [], fault: String(error) };
  } finally {
    await own.disposeAsync();
    await rm(folder, { recursive: true, force: true });
  }
}
