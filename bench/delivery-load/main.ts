/**
 * npm run bench:load: publishes to running services over HTTP as a platform does, and measures the rate of deliveries,
 * their latency, and the processor time of the service and its database together. It knows a checkout only by its
 * commands and APIs, so `--against DIR` compares two of them in one run. Prints one line of JSON per measurement, then a
 * table. Linux only.
 */
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { makeWorkFolder } from '../work-folder.ts';
import { measure, type Result } from './measure.ts';
import type { Load } from './publish.ts';
import { openReceivers, type Receivers } from './receivers.ts';
import { summarize } from './summarize.ts';
import { startSystem, type System, type SystemOptions } from './system.ts';
import { createWorld, type World } from './world.ts';
import { runUntilInterrupted } from '../run-until-interrupted.ts';

const { values: options } = parseArgs({
  options: {
    /** Another checkout, measured in turns with this one. */
    against: { type: 'string' },
    /** Debian's PostgreSQL 15 instead of the embedded database. */
    postgres: { type: 'boolean', default: false },
    /** `WORKERS` of the service. */
    workers: { type: 'string', default: '1' },
    /** `--no-analyze` (needs `--postgres`): the planner never gets statistics, because autovacuum is off too. */
    analyze: { type: 'boolean', default: true },
    /** Also measures what PostgreSQL writes and how long fan-out runs; 22 s more per load. Needs `--postgres`. */
    work: { type: 'boolean', default: false },
    /** How long receivers take to respond, in milliseconds. */
    delay: { type: 'string', default: '0' },
    /** How often everything is measured. The table has the medians. */
    rounds: { type: 'string', default: '1' },
    /** Events of each load: to 100 webhooks, to one webhook, and per second. 0 leaves it out. */
    fan: { type: 'string', default: '300' },
    one: { type: 'string', default: '5000' },
    rate: { type: 'string', default: '50' },
    /** Webhooks that one event goes to at the end, twenty of each app, such as 100000. */
    broadcast: { type: 'string', default: '0' },
    /** Seconds in which nothing happens. 0 leaves it out. */
    idle: { type: 'string', default: '30' },
  },
  allowNegative: true,
});
const workers = Number(options.workers);
const autovacuum = `autovacuum=${options.analyze ? 'on' : 'off'}`;
const postgresSettings = options.postgres ? [autovacuum] : null;
const perSecond = Number(options.rate);
const latencySeconds = 10;
const warmUps: Load[] = [
  { name: 'warm-up', events: 20, webhooks: 100, to: 'fanOrg', publishers: 4 },
  { name: 'warm-up', events: 500, webhooks: 1, to: 'singleOrgs', publishers: 16 },
];
const allLoads: Load[] = [
  { name: 'fan', events: Number(options.fan), webhooks: 100, to: 'fanOrg', publishers: 4 },
  { name: 'one', events: Number(options.one), webhooks: 1, to: 'singleOrgs', publishers: 32 },
  { name: 'latency', events: perSecond * latencySeconds, webhooks: 1, to: 'singleOrgs', perSecond },
];
const loads = allLoads.filter(({ events }) => events > 0);
const idleMs = Number(options.idle) * 1000;
if (idleMs > 0) loads.push({ name: 'idle', events: 0, webhooks: 1, to: 'singleOrgs', idleMs });
const broadcast = Number(options.broadcast);
if (broadcast > 0)
  loads.push({
    name: 'broadcast',
    events: 1,
    webhooks: broadcast,
    to: 'broadcastOrg',
    publishers: 1,
  });
if (!options.postgres && (!options.analyze || options.work))
  throw new Error('--no-analyze and --work need --postgres');

type Side = { system: System; world: World };

const root = join(import.meta.dirname, '../..');
const checkouts = [{ name: 'here', checkout: root }];
if (options.against) checkouts.push({ name: 'against', checkout: resolve(options.against) });
const cleanUps = new AsyncDisposableStack();
await runUntilInterrupted(cleanUps, run);

async function run(): Promise<void> {
  const folder = await makeWorkFolder();
  cleanUps.defer(() => rm(folder, { recursive: true, force: true }));
  const receivers = await openReceivers(Number(options.delay));
  const sides: Side[] = [];
  for (const { name, checkout } of checkouts) {
    const system = { name, checkout, folder: join(folder, name), postgresSettings, workers };
    sides.push(await prepare({ ...system, observesWork: options.work }, receivers));
  }
  console.log(summarize(await measureRounds(sides, receivers)));
}

async function prepare(systemOptions: SystemOptions, receivers: Receivers): Promise<Side> {
  const system = await startSystem(systemOptions, cleanUps);
  const world = await createWorld(system, receivers.urls, broadcast).catch(
    async (error: unknown) => {
      throw new Error(`${system.name}: the service logged\n${await system.readLog()}`, {
        cause: error,
      });
    },
  );
  const side = { system, world };
  for (const load of warmUps) await measure(load, side, { receivers, observesWork: false });
  if (options.analyze) await system.analyze();
  return side;
}

async function measureRounds(sides: Side[], receivers: Receivers): Promise<Result[]> {
  const results: Result[] = [];
  for (let round = 0; round < Number(options.rounds); round += 1) {
    // Every other round begins with the other side, so that neither is always first.
    const order = round % 2 === 0 ? sides : sides.toReversed();
    for (const load of loads)
      for (const side of order) {
        const result = await measure(load, side, { receivers, observesWork: options.work });
        console.log(JSON.stringify(result));
        results.push(result);
      }
  }
  return results;
}
