/** Creates the files of the embedded database, once. `embedded-server.ts` runs a server on them. */
import { spawnSync } from 'node:child_process';
import {
  chmod,
  cp,
  lchown,
  mkdir,
  mkdtemp,
  readFile,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { StartError } from '../errors.ts';
import { explainErrors, type Place } from './embedded-place.ts';
import { asUser, type Programs } from './embedded-programs.ts';
import { exists, unfinishedName } from './unfinished.ts';

/** A single step of it takes about a second. */
const stepDeadlineMs = 120_000;

export async function ensureCluster(place: Place): Promise<void> {
  if (await isMade(place)) return requireSameVersion(place);
  if (await exists(place.clusterDir))
    throw new StartError(
      `${place.clusterDir} is there and holds no database; move it away, or choose another DATA_DIR`,
    );
  await explainErrors(place.dataDir, () => makeCluster(place));
}

/**
 * Created under a temporary name and renamed when complete: a start that is killed half-way leaves nothing that looks
 * like a database.
 */
async function makeCluster(place: Place): Promise<void> {
  const unfinished = unfinishedName(place.clusterDir);
  try {
    await mkdir(unfinished, { mode: 0o700 });
    if (place.user) await lchown(unfinished, place.user.uid, place.user.gid);
    await withPlainPath(place, (programs) => initialise({ ...place, programs }, unfinished));
    await writeFile(join(unfinished, 'pg_hba.conf'), 'local all orgdir scram-sha-256\n');
    await rename(unfinished, place.clusterDir);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true, maxRetries: 5 });
    // Another first start was faster, and its database is just as good.
    if (!(await isMade(place))) throw error;
  }
}

/** initdb passes its own path to a shell, in double quotes. */
const specialInShell = /["$`\\]/;

async function withPlainPath(place: Place, act: (programs: Programs) => void): Promise<void> {
  if (!specialInShell.test(place.programs.folder)) return act(place.programs);
  const plain = await mkdtemp('/tmp/orgdir-initdb-');
  try {
    await chmod(plain, 0o755);
    await cp(place.programs.folder, plain, { recursive: true, verbatimSymlinks: true });
    act({ ...place.programs, folder: plain });
  } finally {
    await rm(plain, { recursive: true, force: true });
  }
}

function isMade(place: Place): Promise<boolean> {
  return exists(join(place.clusterDir, 'PG_VERSION'));
}

async function requireSameVersion(place: Place): Promise<void> {
  const major = (await readFile(join(place.clusterDir, 'PG_VERSION'), 'utf8')).trim();
  const ours = place.programs.version.split('.')[0];
  if (ours === major) return;
  throw new StartError(
    `DATA_DIR ${place.dataDir} holds a database of PostgreSQL ${major}, and this version of the service brings ${ours}; start the version that made it, and move its data as docs/operations.md says`,
  );
}

function initialise(place: Place, folder: string): void {
  run(place, 'initdb', [
    '--pgdata',
    folder,
    '--username',
    'postgres',
    '--auth',
    'reject',
    '--encoding',
    'UTF8',
    '--locale-provider',
    'builtin',
    '--builtin-locale',
    'C.UTF-8',
    '--locale',
    'C',
    '--no-instructions',
  ]);
  // In single-user mode nobody else can connect yet. The superuser can never log in; only the service's role can.
  run(
    place,
    'postgres',
    ['--single', '-D', folder, 'postgres'],
    [
      `create role orgdir login createdb createrole password '${place.password}'`,
      'create database orgdir owner orgdir',
    ].join('\n'),
  );
}

function run(place: Place, program: string, args: string[], input = ''): void {
  const { status, signal, stderr, error } = spawnSync(
    join(place.programs.folder, 'bin', program),
    args,
    {
      ...asUser(place.user),
      cwd: '/',
      input: `${input}\n`,
      encoding: 'utf8',
      env: { LC_ALL: 'C', TZ: 'UTC' },
      timeout: stepDeadlineMs,
    },
  );
  if (status === 0 && !/^(FATAL|ERROR|PANIC)|\b(ERROR|FATAL|PANIC): /m.test(stderr)) return;
  const reason =
    error?.message ?? (stderr.trim().split('\n').at(-1) || `it ended with ${status ?? signal}`);
  throw new StartError(`the embedded database cannot be made: ${program}: ${reason}`);
}
