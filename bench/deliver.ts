/**
 * npm run bench:deliver: measures deliveries of the service with its default settings: guard, limits, isolation, capture,
 * logs and durability are on, and the receivers share its two cores. Creates its database in a temporary folder and
 * deletes it. Exits with 1 if a target is missed. `--growth` measures the cost of statements next to a large queue and a long
 * history instead, with `--postgres` on Debian's PostgreSQL 15.
 */
import { join } from 'node:path';
import { rm } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { chooseSystemUser, locatePrograms } from '../service/src/database/embedded-installation.ts';
import { isReached, printFigures, type Figure } from '../harness/figures.ts';
import { debian } from './delivery-load/postgres.ts';
import { startSystem, type SystemOptions } from './delivery-load/system.ts';
import type { World } from './delivery-world.ts';
import { growthRetentionDays, growthSettings, measureGrowth } from './measure-growth.ts';
import { measureLatency } from './measure-latency.ts';
import { measureMemory } from './measure-memory.ts';
import { measureThroughput } from './measure-throughput.ts';
import { measureTls } from './measure-tls.ts';
import { runUntilInterrupted } from './run-until-interrupted.ts';
import { startProcess } from './start-process.ts';
import { startReceiver } from './start-receiver.ts';
import { makeWorkFolder } from './work-folder.ts';

const { values: options, positionals: only } = parseArgs({
  options: {
    growth: { type: 'boolean', default: false },
    postgres: { type: 'boolean', default: false },
  },
  /** `npm run bench:deliver -- latency` runs only that step. */
  allowPositionals: true,
});

const root = join(import.meta.dirname, '..');
const origins = 100;
/** In this order, because later steps leave more rows. */
const steps: Record<string, (world: World) => Promise<Figure | Figure[]>> = {
  latency: measureLatency,
  throughput: measureThroughput,
  tls: measureTls,
  memory: measureMemory,
};

type Differing = Pick<SystemOptions, 'postgresSettings' | 'programs' | 'observesWork' | 'env'>;

const ordinaryOptions: Differing = {
  postgresSettings: null,
  observesWork: false,
  env: { LOG_LEVEL: 'info' },
};

const cleanUps = new AsyncDisposableStack();
await runUntilInterrupted(cleanUps, run);

async function run(): Promise<void> {
  const folder = await makeWorkFolder();
  cleanUps.defer(() => rm(folder, { recursive: true, force: true }));
  const receiver = await startReceiver(origins, cleanUps);
  const bare = await startProcess(join(import.meta.dirname, 'bare-sender.ts'), { listens: false });
  cleanUps.defer(() => bare.stop());
  const system = await startSystem(
    {
      name: 'here',
      checkout: root,
      folder: join(folder, 'here'),
      workers: 1,
      ...(options.growth ? await growthOptions(folder) : ordinaryOptions),
    },
    cleanUps,
  );
  for (const kind of ['alliances', 'orgs'])
    await system.run('import', kind, join(root, `demo/${kind}.ndjson`));
  const world: World = { system, receiver, bare };
  const figures = await (options.growth ? measureGrowth(world) : measureAll(world));
  printFigures(figures);
  if (!figures.every(isReached)) process.exitCode = 1;
}

/** Its server counts the time of each statement, which the service does not ask of the embedded one. */
async function growthOptions(folder: string): Promise<Differing> {
  const { folder: embedded } = await locatePrograms(folder, await chooseSystemUser(folder));
  return {
    postgresSettings: growthSettings,
    programs: options.postgres ? debian : join(embedded, 'bin'),
    observesWork: true,
    env: { LOG_LEVEL: 'info', RETENTION_DAYS: String(growthRetentionDays) },
  };
}

async function measureAll(world: World): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [step, measure] of Object.entries(steps)) {
    if (only.length > 0 && !only.includes(step)) continue;
    console.error(`… ${step}`);
    figures.push(...[await measure(world)].flat());
  }
  return figures;
}
