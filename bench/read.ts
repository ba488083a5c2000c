/**
 * npm run bench:read: measures reads of a directory with 100,000 organisations and 100,000 blueprints. Creates its data
 * and database in a temporary folder, runs the service, and deletes the folder. Exits with 1 if a target is missed. See
 * docs/decisions/0003-reads.md and 0032-search.md. `--search` measures searches only; `--against DIR` also measures those
 * of another checkout, with the same data.
 */
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createApp } from '../service/src/access/apps.ts';
import { createKey } from '../service/src/access/keys.ts';
import type { Database } from '../service/src/database/database.ts';
import { openEmbedded } from '../service/src/database/embedded.ts';
import { cpuMs } from './cpu-time.ts';
import { makeDirectory, type DirectoryFiles } from './directory-data.ts';
import type { Figure } from '../harness/figures.ts';
import { createClient } from './http-client.ts';
import { measureCold } from './measure-cold.ts';
import { measureSearch } from './measure-search.ts';
import { measureWarm } from './measure-warm.ts';
import { createRandom } from '../harness/random.ts';
import { residentMib } from './resident-memory.ts';
import { loadCore, moveTo, serverCore, startProcess } from './start-process.ts';
import { makeWorkFolder, openWorkDatabase, runIn } from './work-folder.ts';

const { values: options } = parseArgs({
  options: {
    against: { type: 'string' },
    search: { type: 'boolean', default: false },
    orgs: { type: 'string', default: '100000' },
  },
});
const size = { orgs: Number(options.orgs), firstOrgs: 30_000, blueprints: 100_000 };
const root = join(import.meta.dirname, '..');
/** The service has warmed up by then: two polls and two garbage collections have passed. Its processor time is measured for as long again. */
const idleMs = 20_000;

const folder = await makeWorkFolder();
const env = {
  DATA_DIR: join(folder, 'data'),
  PORT: '0',
  LOG_LEVEL: 'warn',
  // High enough to reject nothing, but every request is counted.
  RATE_LIMIT_PER_MINUTE: '1000000000',
};
await runIn(folder, measure);

async function measure(): Promise<Figure[]> {
  log('making names');
  const files = await makeDirectory(folder, size);
  const imported = importAll(files, root, env);
  const other = options.against === undefined ? null : importOther(files, options.against);
  moveTo(loadCore);
  const figures = other ? await measureOther(files, other) : [];
  const opened = await openWorkDatabase(env.DATA_DIR);
  try {
    const key = await makeKey(opened.database);
    if (!options.search) figures.push(...(await cold(files, key)));
    figures.push(...(await search(files, key, root, env)));
    if (!options.search) figures.push(...(await warm(key)));
    return [...figures, imported];
  } finally {
    await opened.close();
  }
}

type Other = { checkout: string; env: typeof env; imported: Figure };

function importOther(files: DirectoryFiles, directory: string): Other {
  const checkout = resolve(directory);
  const otherEnv = { ...env, DATA_DIR: join(folder, 'other') };
  return { checkout, env: otherEnv, imported: importAll(files, checkout, otherEnv) };
}

/** Measures searches of another checkout. Its commands make the key, because its database must not be migrated. */
async function measureOther(files: DirectoryFiles, other: Other): Promise<Figure[]> {
  const { checkout } = other;
  const server = await openEmbedded({ dataDir: other.env.DATA_DIR, purpose: 'tool' });
  try {
    const run = (...args: string[]) =>
      JSON.parse(runOrgdir(checkout, other.env, ...args, '--json')) as { id: string; key: string };
    const app = run('apps', 'create', '--name', 'Bench', '--owner', 'bench@example.org');
    const { key } = run('keys', 'create', '--app', app.id, '--scope', 'read:directory');
    const figures = [...(await search(files, key, checkout, other.env)), other.imported];
    for (const figure of figures) figure.name += ', other checkout';
    return figures;
  } finally {
    await server.close();
  }
}

async function search(
  files: DirectoryFiles,
  key: string,
  checkout: string,
  processEnv: typeof env,
): Promise<Figure[]> {
  log('searches');
  const server = await startProcess(join(checkout, 'bench/cold-server.ts'), {
    env: processEnv,
    core: serverCore,
    listens: true,
  });
  try {
    return await measureSearch({ port: server.port ?? 0, key }, files, createRandom(5));
  } finally {
    await server.stop();
  }
}

function importAll(files: DirectoryFiles, checkout: string, processEnv: typeof env): Figure {
  const run = (...args: string[]) => runOrgdir(checkout, processEnv, ...args);
  run('import', 'alliances', files.alliances);
  const startedAt = performance.now();
  run('import', 'orgs', files.firstOrgs);
  const seconds = (performance.now() - startedAt) / 1000;
  // Some of the made-up names are those of the first file.
  run('import', 'orgs', files.otherOrgs, '--allow-duplicates');
  run('import', 'blueprints', files.blueprints);
  return {
    name: 'import of 30,000 organisations',
    reached: seconds,
    unit: 's',
    asked: { atMost: 15 },
  };
}

function runOrgdir(checkout: string, processEnv: typeof env, ...args: string[]): string {
  log(`orgdir ${args.slice(0, 2).join(' ')}`);
  const { status, stdout, stderr } = spawnSync('npx', ['orgdir', ...args], {
    cwd: checkout,
    env: { ...process.env, ...processEnv },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`orgdir ${args.join(' ')} failed: ${stderr}`);
  return stdout;
}

async function makeKey(database: Database): Promise<string> {
  const actor = { kind: 'system', id: null, name: 'bench' } as const;
  const { key } = await database.transaction().execute(async (tx) => {
    const appId = await createApp(tx, actor, { name: 'Bench', owner: 'bench@example.org' });
    return createKey(tx, actor, {
      appId,
      name: 'bench',
      scopes: ['read:directory'],
      expiresAt: null,
    });
  });
  return key;
}

async function cold(files: DirectoryFiles, key: string): Promise<Figure[]> {
  log('cold reads');
  const server = await startProcess(join(import.meta.dirname, 'cold-server.ts'), {
    env,
    core: serverCore,
    listens: true,
  });
  const client = createClient(server.port ?? 0, key);
  try {
    return await measureCold(client, files, createRandom(4));
  } finally {
    client.close();
    await server.stop();
  }
}

async function warm(key: string): Promise<Figure[]> {
  log('idle memory and processor time');
  const service = await startProcess(join(root, 'service/bin/orgdir.js'), {
    args: ['serve', '--no-demo'],
    runsItself: true,
    env,
    core: serverCore,
    listens: true,
  });
  const bare = await startProcess(join(import.meta.dirname, 'bare-server.ts'), {
    core: serverCore,
    listens: true,
  });
  const load = await startProcess(join(import.meta.dirname, 'load.ts'), {
    core: loadCore,
    listens: false,
  });
  const client = createClient(service.port ?? 0, key);
  try {
    await wait(idleMs);
    const idle = [...(await idleMemory(service.pid)), ...(await idleTime(service.pid))];
    log('warm reads');
    return [...(await measureWarm({ service, bare, load, client, key })), ...idle];
  } finally {
    client.close();
    await Promise.all([load.stop(), bare.stop(), service.stop()]);
  }
}

/** The memory of the service's process, without the database. Linux only. */
async function idleMemory(pid: number): Promise<Figure[]> {
  const reached = await residentMib(pid);
  if (reached === null) return [];
  return [
    {
      name: 'idle memory of the service',
      reached,
      unit: 'MiB',
      asked: { atMost: 150 },
    },
  ];
}

/** The processor time of the service's process, which serves, delivers and looks for work. Linux only. */
async function idleTime(pid: number): Promise<Figure[]> {
  const before = await cpuMs(pid);
  await wait(idleMs);
  const after = await cpuMs(pid);
  if (before === null || after === null) return [];
  const reached = ((after - before) / idleMs) * 100;
  return [
    {
      name: 'idle processor time of the service',
      reached,
      unit: '% of a core',
      asked: { atMost: 1 },
    },
  ];
}

function log(step: string): void {
  console.error(`… ${step}`);
}
