/**
 * npm run bench:search: measures searches that nobody has made before in a directory with 100,000 organisations and 100,000
 * blueprints; `--against DIR` also those of another checkout, with the same data. Exits with 1 if a target is missed.
 * `--quality` measures instead what is found of queries whose answer is known, which `--seed` makes from real names, next to
 * other engines. See docs/decisions/0032-search.md.
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { openClient } from '../../service/src/database/database.ts';
import { openEmbedded } from '../../service/src/database/embedded.ts';
import { createRandom } from '../../harness/random.ts';
import type { Figure } from '../../harness/figures.ts';
import { startPostgres } from '../delivery-load/postgres.ts';
import { makeDirectory, readNames, type DirectoryFiles } from '../directory-data.ts';
import {
  directoryEnv,
  importAll,
  log,
  makeKey,
  runOrgdir,
  type DirectoryEnv,
} from '../directory-world.ts';
import { loadCore, moveTo, serverCore, startProcess } from '../start-process.ts';
import { makeWorkFolder, openWorkDatabase, runIn } from '../work-folder.ts';
import {
  openFuse,
  openMiniSearch,
  openOrama,
  openOwn,
  openPostgres,
  type Engine,
} from './engines.ts';
import { figuresOf, measureQuality, showScores } from './measure-quality.ts';
import { measureSpeed } from './measure-speed.ts';
import { makeQueries } from './queries.ts';

const { values: options } = parseArgs({
  options: {
    against: { type: 'string' },
    orgs: { type: 'string', default: '100000' },
    quality: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    /** Queries of each kind. */
    queries: { type: 'string', default: '40' },
  },
});
const root = join(import.meta.dirname, '../..');
const firstOrgs = 30_000;
const blueprints = 100_000;

const folder = await makeWorkFolder();
await runIn(folder, options.quality ? compareEngines : compareCheckouts);

async function compareEngines(): Promise<Figure[]> {
  const random = createRandom(Number(options.seed));
  const names = [...new Set(await readNames())];
  const { stored, queries } = makeQueries(names, { perKind: Number(options.queries), random });
  const server = await startPostgres(join(folder, 'postgres'), []);
  const client = openClient({ connectionString: server.url }, { applicationName: 'orgdir bench' });
  await client.connect();
  try {
    const engines: Engine[] = [
      openOwn(stored),
      openMiniSearch(stored),
      await openOrama(stored),
      openFuse(stored),
      await openPostgres(client, stored),
    ];
    const scores = [];
    for (const engine of engines) {
      log(engine.name);
      scores.push(await measureQuality(engine, queries));
    }
    console.log(`${showScores(scores).join('\n')}\n`);
    return figuresOf(scores);
  } finally {
    await client.end();
    server.stop();
  }
}

async function compareCheckouts(): Promise<Figure[]> {
  log('making names');
  const files = await makeDirectory(folder, { orgs: Number(options.orgs), firstOrgs, blueprints });
  const env = directoryEnv(folder);
  const imported = importAll(files, root, env);
  const other = options.against === undefined ? null : importOther(files, options.against);
  moveTo(loadCore);
  const figures = other ? await measureOther(files, other) : [];
  const opened = await openWorkDatabase(env.DATA_DIR);
  try {
    const key = await makeKey(opened.database);
    return [...figures, ...(await measure(files, key, root, env)), imported];
  } finally {
    await opened.close();
  }
}

type Other = { checkout: string; env: DirectoryEnv; imported: Figure };

function importOther(files: DirectoryFiles, directory: string): Other {
  const checkout = resolve(directory);
  const env = { ...directoryEnv(folder), DATA_DIR: join(folder, 'other') };
  return { checkout, env, imported: importAll(files, checkout, env) };
}

/** Its commands make the key, because its database must not be migrated. */
async function measureOther(files: DirectoryFiles, other: Other): Promise<Figure[]> {
  const { checkout, env } = other;
  const server = await openEmbedded({ dataDir: env.DATA_DIR, purpose: 'tool' });
  try {
    const run = (...args: string[]) =>
      JSON.parse(runOrgdir(checkout, env, ...args, '--json')) as { id: string; key: string };
    const app = run('apps', 'create', '--name', 'Bench', '--owner', 'bench@example.org');
    const { key } = run('keys', 'create', '--app', app.id, '--scope', 'read:directory');
    const figures = [...(await measure(files, key, checkout, env)), other.imported];
    for (const figure of figures) figure.name += ', other checkout';
    return figures;
  } finally {
    await server.close();
  }
}

async function measure(
  files: DirectoryFiles,
  key: string,
  checkout: string,
  env: DirectoryEnv,
): Promise<Figure[]> {
  log('searches');
  const server = await startProcess(join(checkout, 'bench/cold-server.ts'), {
    env,
    core: serverCore,
    listens: true,
  });
  try {
    return await measureSpeed({ port: server.port ?? 0, key }, files, createRandom(5));
  } finally {
    await server.stop();
  }
}
