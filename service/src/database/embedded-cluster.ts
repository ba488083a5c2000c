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
import {
  withDataDirErrors,
  type Installation,
  asUser,
  type Programs,
} from './embedded-installation.ts';
import { exists, unfinishedName } from './unfinished.ts';

/** One step takes about a second. */
const stepDeadlineMs = 120_000;

export async function ensureCluster(installation: Installation): Promise<void> {
  if (await isInitialised(installation)) return requireSameVersion(installation);
  if (await exists(installation.clusterDir))
    throw new StartError(
      `${installation.clusterDir} exists but has no database; move it away, or choose another DATA_DIR`,
    );
  await withDataDirErrors(installation.dataDir, () => createCluster(installation));
}

/**
 * Created under a temporary name and renamed when complete: a start that is killed half-way leaves nothing that looks
 * like a database.
 */
async function createCluster(installation: Installation): Promise<void> {
  const unfinished = unfinishedName(installation.clusterDir);
  try {
    await mkdir(unfinished, { mode: 0o700 });
    if (installation.user) await lchown(unfinished, installation.user.uid, installation.user.gid);
    await withPlainPath(installation, (programs) =>
      initialise({ ...installation, programs }, unfinished),
    );
    await writeFile(join(unfinished, 'pg_hba.conf'), 'local all orgdir scram-sha-256\n');
    await rename(unfinished, installation.clusterDir);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true, maxRetries: 5 });
    // Another first start was faster, and its database is just as good.
    if (!(await isInitialised(installation))) throw error;
  }
}

/** initdb passes its own path to a shell, in double quotes. */
const specialInShell = /["$`\\]/;

async function withPlainPath(
  installation: Installation,
  act: (programs: Programs) => void,
): Promise<void> {
  if (!specialInShell.test(installation.programs.folder)) return act(installation.programs);
  const plain = await mkdtemp('/tmp/orgdir-initdb-');
  try {
    await chmod(plain, 0o755);
    await cp(installation.programs.folder, plain, { recursive: true, verbatimSymlinks: true });
    act({ ...installation.programs, folder: plain });
  } finally {
    await rm(plain, { recursive: true, force: true });
  }
}

function isInitialised(installation: Installation): Promise<boolean> {
  return exists(join(installation.clusterDir, 'PG_VERSION'));
}

async function requireSameVersion(installation: Installation): Promise<void> {
  const major = (await readFile(join(installation.clusterDir, 'PG_VERSION'), 'utf8')).trim();
  const ours = installation.programs.version.split('.')[0];
  if (ours === major) return;
  throw new StartError(
    `DATA_DIR ${installation.dataDir} holds a database of PostgreSQL ${major}, and this version of the service includes ${ours}; start the version that created it, and move its data as described in docs/operations.md`,
  );
}

function initialise(installation: Installation, folder: string): void {
  run(installation, 'initdb', [
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
    installation,
    'postgres',
    ['--single', '-D', folder, 'postgres'],
    [
      `create role orgdir login createdb createrole password '${installation.password}'`,
      'create database orgdir owner orgdir',
    ].join('\n'),
  );
}

function run(installation: Installation, program: string, args: string[], input = ''): void {
  const { status, signal, stderr, error } = spawnSync(
    join(installation.programs.folder, 'bin', program),
    args,
    {
      ...asUser(installation.user),
      cwd: '/',
      input: `${input}\n`,
      encoding: 'utf8',
      env: { LC_ALL: 'C', TZ: 'UTC' },
      timeout: stepDeadlineMs,
    },
  );
  const fault = /^.*\b(?:error|ERROR|FATAL|PANIC): .*$/m.exec(stderr)?.[0];
  if (status === 0 && fault === undefined) return;
  // After the first fault there are those that follow from it, such as EPIPE, and what was done about it.
  const reason =
    fault ??
    error?.message ??
    (stderr.trim().split('\n').at(-1) || `it ended with ${status ?? signal}`);
  throw new StartError(`the embedded database cannot be created: ${program}: ${reason}`);
}
