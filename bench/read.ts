/**
 * npm run bench:read: measures reads of a directory with 100,000 organisations and 100,000 blueprints. Creates its data
 * and database in a temporary folder, runs the service, and deletes the folder. Exits with 1 if a target is missed. See
 * docs/decisions/0003-reads.md.
 */
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { cpuMs } from './cpu-time.ts';
import { makeDirectory, type DirectoryFiles } from './directory-data.ts';
import { directoryEnv, importAll, log, makeKey } from './directory-world.ts';
import type { Figure } from '../harness/figures.ts';
import { createClient } from './http-client.ts';
import { measureCold } from './measure-cold.ts';
import { measureWarm } from './measure-warm.ts';
import { createRandom } from '../harness/random.ts';
import { residentMib } from './resident-memory.ts';
import { loadCore, moveTo, serverCore, startProcess } from './start-process.ts';
import { makeWorkFolder, openWorkDatabase, runIn } from './work-folder.ts';

const { values: options } = parseArgs({
  options: {
    orgs: { type: 'string', default: '100000' },
  },
});
const size = { orgs: Number(options.orgs), firstOrgs: 30_000, blueprints: 100_000 };
const root = join(import.meta.dirname, '..');
/** The service has warmed up by then: two polls and two garbage collections have passed. Its processor time is measured for as long again. */
const idleMs = 20_000;

const folder = await makeWorkFolder();
const env = directoryEnv(folder);
await runIn(folder, measure);

async function measure(): Promise<Figure[]> {
  log('making names');
  const files = await makeDirectory(folder, size);
  const imported = importAll(files, root, env);
  moveTo(loadCore);
  const opened = await openWorkDatabase(env.DATA_DIR);
  try {
    const key = await makeKey(opened.database);
    return [...(await cold(files, key)), ...(await warm(key)), imported];
  } finally {
    await opened.close();
  }
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
