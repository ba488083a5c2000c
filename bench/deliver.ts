/**
 * npm run bench:deliver: measures deliveries of the service with its default settings: guard, limits, isolation, capture,
 * logs and durability are on, and the receivers share its two cores. Creates its database in a temporary folder and
 * deletes it. Exits with 1 if a target is missed. `--growth` measures the cost of statements next to a large queue and a long
 * history instead, with `--postgres` on Debian's PostgreSQL 15.
 */
import { spawnSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { chooseSystemUser, locatePrograms } from '../service/src/database/embedded-programs.ts';
import { readOrCreateSecret } from '../service/src/database/secret-file.ts';
import { createSecretBox } from '../service/src/runtime/secret-box.ts';
import type { Figure } from '../harness/figures.ts';
import { growthRetentionDays, growthSettings, measureGrowth } from './measure-growth.ts';
import { measureLatency } from './measure-latency.ts';
import { measureMemory } from './measure-memory.ts';
import { measureThroughput } from './measure-throughput.ts';
import { measureTls } from './measure-tls.ts';
import type { World } from './delivery-world.ts';
import { debian, startPostgres } from './delivery-load/postgres.ts';
import { startProcess } from './start-process.ts';
import { startReceiver } from './start-receiver.ts';
import { makeWorkFolder, openWorkDatabase, runIn } from './work-folder.ts';

const root = join(import.meta.dirname, '..');
const origins = 100;

/** In this order, because later steps leave more rows. */
const steps: Record<string, (world: World) => Promise<Figure | Figure[]>> = {
  latency: measureLatency,
  throughput: measureThroughput,
  tls: measureTls,
  memory: measureMemory,
};
/** `npm run bench:deliver -- latency` runs only that step. */
const isGrowth = process.argv.includes('--growth');
const only = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));

const folder = await makeWorkFolder();
const env: Record<string, string> & { DATA_DIR: string } = {
  DATA_DIR: join(folder, 'data'),
  PORT: '0',
  INTERNAL_PORT: '0',
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  WEBHOOK_ALLOW_HTTP: 'true',
};
await runIn(folder, isGrowth ? runGrowth : () => run(measureAll));

/** Its server counts the time of each statement, which the service does not ask of the embedded one. */
async function runGrowth(): Promise<Figure[]> {
  await mkdir(env.DATA_DIR);
  const { folder: embedded } = await locatePrograms(folder, await chooseSystemUser(folder));
  const programs = process.argv.includes('--postgres') ? debian : join(embedded, 'bin');
  const server = await startPostgres(join(folder, 'postgres'), growthSettings, programs);
  env['DATABASE_URL'] = server.url;
  env['RETENTION_DAYS'] = String(growthRetentionDays);
  return run(measureGrowth).finally(() => server.stop());
}

async function run(measure: (world: World) => Promise<Figure[]>): Promise<Figure[]> {
  importOrgs();
  const databaseUrl = env['DATABASE_URL'] ?? null;
  const opened = await openWorkDatabase(env.DATA_DIR, databaseUrl);
  const secretKey = await readOrCreateSecret(join(env.DATA_DIR, 'secret-key'));
  env['SECRET_KEY'] = secretKey;
  const secretBox = createSecretBox([Buffer.from(secretKey, 'base64')]);
  await using cleanUps = new AsyncDisposableStack();
  const receiver = await startReceiver(origins, cleanUps);
  const bare = await startProcess(join(import.meta.dirname, 'bare-sender.ts'), { listens: false });
  const service = await startProcess(join(root, 'service/bin/orgdir.js'), {
    args: ['serve', '--no-demo'],
    runsItself: true,
    env,
    listens: true,
    logFile: join(folder, 'service.log'),
  });
  const { database } = opened;
  const { ports } = receiver;
  const world: World = { database, databaseUrl, secretBox, receiver, ports, bare, service };
  try {
    return await measure(world);
  } finally {
    await service.stop();
    await bare.stop();
    await opened.close();
  }
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

function importOrgs(): void {
  for (const kind of ['alliances', 'orgs']) {
    const { status, stderr } = spawnSync('npx', ['orgdir', 'import', kind, `demo/${kind}.ndjson`], {
      cwd: root,
      env: { ...process.env, ...env },
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`orgdir import ${kind} failed: ${stderr}`);
  }
}
