/**
 * The embedded PostgreSQL: a real server, made and run in DATA_DIR, reached through a socket there.
 * It does not belong to one process: whoever finds it running uses it, the last one out stops it, and
 * what a killed service left behind is taken over. Next: `database.ts`, which talks to it.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import {
  chmod,
  chown,
  mkdir,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import { StartError } from '../errors.ts';
import { isConnectionFault, openClient, type ConnectionSettings } from './database.ts';
import {
  chooseSystemUser,
  locatePrograms,
  requireReachable,
  type SystemUser,
} from './embedded-programs.ts';

export type EmbeddedDatabase = {
  connection: ConnectionSettings;
  /** Whether this call made the database, so that it is empty. */
  created: boolean;
  /** Leaves the database, and stops it where nobody else uses it. May be called twice. */
  close(): Promise<void>;
};

export type EmbeddedOptions = {
  dataDir: string;
  /** `service`: alone in the folder, refused where another service runs. `tool`: beside whoever is there. */
  purpose: 'service' | 'tool';
  /** Called once when the database has died under a service. */
  onLost?: (reason: string) => void;
  /** Settings for tests, such as `fsync=off`. */
  settings?: string[];
};

type Place = {
  dataDir: string;
  clusterDir: string;
  socketDir: string;
  programs: string;
  user: SystemUser;
  password: string;
  settings: string[];
};

const startDeadlineMs = 60_000;
const stopDeadlineMs = 30_000;
const pollMs = 20;
/** Shared by everyone who uses the database; taken alone by whoever stops it. */
const presenceLock = 70420010;
/** Held alone by the service of this folder, and while the database is being stopped. */
const serviceLock = 70420011;

/** Makes the database where there is none, starts it where it does not run, and joins it. */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const clusterDir = join(options.dataDir, 'postgres');
  const user = await prepareFolder(options.dataDir, clusterDir);
  const place: Place = {
    dataDir: options.dataDir,
    clusterDir,
    socketDir: socketFolder(options.dataDir),
    programs: await locatePrograms(options.dataDir, user),
    user,
    password: await readOrCreateSecret(join(options.dataDir, 'database-password')),
    settings: options.settings ?? [],
  };
  const created = await ensureCluster(place);
  const membership = await joinServer(place, options);
  let closing: Promise<void> | undefined;
  return {
    connection: connectionOf(place),
    created,
    close: () => (closing ??= leave(place, membership)),
  };
}

/** Reads a secret of this installation, or makes it: 32 random bytes in base64, in a file only its owner reads. */
export async function readOrCreateSecret(file: string): Promise<string> {
  const existing = await readFile(file, 'utf8').catch(() => null);
  if (existing?.trim()) return existing.trim();
  const unfinished = `${file}.${process.pid}`;
  await writeFile(unfinished, `${randomBytes(32).toString('base64')}\n`, {
    mode: 0o600,
    flush: true,
  });
  await rename(unfinished, file);
  // Two first starts may have raced; what is in the file now is what both use.
  return (await readFile(file, 'utf8')).trim();
}

async function prepareFolder(dataDir: string, clusterDir: string): Promise<SystemUser> {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    const user = await chooseSystemUser(clusterDir);
    // The database's user passes through; only the owner can list it.
    if (user) await chmod(dataDir, 0o711);
    requireReachable(dataDir, user);
    return user;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new StartError(
      `DATA_DIR ${dataDir} cannot be used (${code}); choose a folder that you may write to, for example DATA_DIR=./data`,
      { cause: error },
    );
  }
}

/** A socket's path has at most 103 bytes on macOS, 107 on Linux; a long DATA_DIR moves it to the temporary folder. */
function socketFolder(dataDir: string): string {
  const inside = join(dataDir, 'run');
  if (Buffer.byteLength(join(inside, '.s.PGSQL.5432.lock')) <= 103) return inside;
  return join(
    tmpdir(),
    `orgdir-${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`,
  );
}

function connectionOf(place: Place): ConnectionSettings {
  return {
    host: place.socketDir,
    port: 5432,
    user: 'orgdir',
    password: place.password,
    database: 'orgdir',
  };
}

// --- making the cluster -----------------------------------------------------------------------

async function ensureCluster(place: Place): Promise<boolean> {
  await removeUnfinished(place);
  if (await exists(join(place.clusterDir, 'PG_VERSION'))) {
    await requireSameVersion(place);
    return false;
  }
  // Made aside and renamed when complete: a start that is killed half-way leaves nothing that looks like a database.
  const unfinished = `${place.clusterDir}.${process.pid}.unfinished`;
  await mkdir(unfinished, { mode: 0o700 });
  if (place.user) await chown(unfinished, place.user.uid, place.user.gid);
  initialise(place, unfinished);
  await writeFile(join(unfinished, 'pg_hba.conf'), 'local all orgdir scram-sha-256\n');
  try {
    await rename(unfinished, place.clusterDir);
    return true;
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    if (await exists(join(place.clusterDir, 'PG_VERSION'))) return false;
    throw error;
  }
}

async function removeUnfinished(place: Place): Promise<void> {
  for (const name of await readdir(place.dataDir)) {
    const pid = /^postgres\.(\d+)\.unfinished$/.exec(name)?.[1];
    if (pid === undefined || isAlive(Number(pid))) continue;
    await rm(join(place.dataDir, name), { recursive: true, force: true, maxRetries: 5 });
  }
}

async function requireSameVersion(place: Place): Promise<void> {
  const major = (await readFile(join(place.clusterDir, 'PG_VERSION'), 'utf8')).trim();
  const { stdout } = spawnSync(join(place.programs, 'bin/postgres'), ['--version'], {
    encoding: 'utf8',
  });
  const ours = /(\d+)/.exec(stdout)?.[1];
  if (ours === major) return;
  throw new StartError(
    `DATA_DIR ${place.dataDir} holds a database of PostgreSQL ${major}, and this version of the service brings ${ours}; start the version that made it, export the directory and import it here`,
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
  // In single-user mode nobody else can connect yet. The superuser never can: the service's role is all there is.
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
  const { status, signal, stderr, error } = spawnSync(join(place.programs, 'bin', program), args, {
    ...asUser(place.user),
    cwd: '/',
    input: `${input}\n`,
    encoding: 'utf8',
    env: { LC_ALL: 'C', TZ: 'UTC' },
  });
  if (status === 0 && !/^(FATAL|ERROR|PANIC)|\b(ERROR|FATAL|PANIC): /m.test(stderr)) return;
  const reason =
    error?.message ?? (stderr.trim().split('\n').at(-1) || `it ended with ${status ?? signal}`);
  throw new StartError(`the embedded database cannot be made: ${program}: ${reason}`);
}

function asUser(user: SystemUser): { uid?: number; gid?: number } {
  return user ? { uid: user.uid, gid: user.gid } : {};
}

// --- joining a running server, or starting it -------------------------------------------------

type Membership = { client: pg.Client; purpose: EmbeddedOptions['purpose']; leaving: boolean };

async function joinServer(place: Place, options: EmbeddedOptions): Promise<Membership> {
  const deadline = Date.now() + startDeadlineMs;
  for (;;) {
    const failure = await startWhereStopped(place);
    const client = failure ? null : await connect(place, options.purpose);
    if (client) return member(place, options, client);
    if (Date.now() > deadline) {
      throw new StartError(
        `the embedded database in ${place.dataDir} does not start: ${failure ?? 'it takes no connections'}; its log is ${logFile(place)}`,
      );
    }
    await wait(pollMs);
  }
}

async function member(
  place: Place,
  options: EmbeddedOptions,
  client: pg.Client,
): Promise<Membership> {
  if (options.purpose === 'service' && !(await tryLock(client, serviceLock))) {
    const holder = await lockHolder(client);
    await client.end();
    throw new StartError(
      `DATA_DIR ${place.dataDir} is in use by another orgdir${holder}; stop it first, or choose another folder, for example DATA_DIR=./data-2`,
    );
  }
  await client.query('select pg_advisory_lock_shared($1)', [presenceLock]);
  const membership: Membership = { client, purpose: options.purpose, leaving: false };
  watch(place, options, membership);
  return membership;
}

/** Returns null when the server runs or has been started, else why it did not start this time. */
async function startWhereStopped(place: Place): Promise<string | null> {
  if (await runningServer(place)) return null;
  await removeForeignPidFile(place);
  await makeSocketFolder(place);
  return start(place);
}

/**
 * After a reboot the number in `postmaster.pid` may be another program's, and PostgreSQL would refuse to start.
 * A dead server's file stays: PostgreSQL reads from it whether one of its old processes still writes.
 */
async function removeForeignPidFile(place: Place): Promise<void> {
  const file = join(place.clusterDir, 'postmaster.pid');
  const pid = Number((await readFile(file, 'utf8').catch(() => '')).split('\n')[0]);
  if (pid > 0 && isAlive(pid)) await rm(file, { force: true });
}

async function makeSocketFolder(place: Place): Promise<void> {
  await mkdir(place.socketDir, { recursive: true, mode: 0o700 });
  if (place.user) await chown(place.socketDir, place.user.uid, place.user.gid);
  const owner = (await stat(place.socketDir)).uid;
  const expected = place.user?.uid ?? process.getuid?.() ?? owner;
  if (owner !== expected)
    throw new StartError(
      `${place.socketDir} belongs to another user; remove it, or choose a shorter DATA_DIR`,
    );
}

/** The server's process id, where `postmaster.pid` names a process that is a server of this cluster. */
async function runningServer(place: Place): Promise<number | null> {
  const text = await readFile(join(place.clusterDir, 'postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number(text.split('\n')[0]);
  if (!(pid > 0) || !isAlive(pid)) return null;
  // After a reboot the number may be another program's.
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => null);
  return command === null || command.includes(place.clusterDir) ? pid : null;
}

async function start(place: Place): Promise<string | null> {
  const log = openSync(logFile(place), 'a', 0o600);
  const server = spawn(join(place.programs, 'bin/postgres'), serverArguments(place), {
    ...asUser(place.user),
    cwd: '/',
    env: { LC_ALL: 'C', TZ: 'UTC' },
    stdio: ['ignore', log, log],
    // A group of its own: Ctrl-C on the terminal reaches the service, which stops the server in its own time.
    detached: true,
  });
  closeSync(log);
  let ended: string | null = null;
  server.once('error', (error) => (ended = error.message));
  server.once('exit', (code, signal) => (ended = `it ended with ${code ?? signal}`));
  server.unref();
  while (ended === null && !(await isReady(place))) await wait(pollMs);
  return ended;
}

function serverArguments(place: Place): string[] {
  const settings = [
    'listen_addresses=',
    `unix_socket_directories=${quoteListItem(place.socketDir)}`,
    'unix_socket_permissions=0700',
    'password_encryption=scram-sha-256',
    'max_connections=120',
    'shared_buffers=128MB',
    'jit=off',
    'random_page_cost=1.1',
    'log_min_messages=warning',
    'log_line_prefix=%m [%p] ',
    ...place.settings,
  ];
  return ['-D', place.clusterDir, ...settings.flatMap((setting) => ['-c', setting])];
}

function quoteListItem(path: string): string {
  return `"${path.replaceAll('"', '""')}"`;
}

function logFile(place: Place): string {
  return join(place.dataDir, 'postgres.log');
}

async function isReady(place: Place): Promise<boolean> {
  const text = await readFile(join(place.clusterDir, 'postmaster.pid'), 'utf8').catch(() => '');
  return text.split('\n')[7]?.trim() === 'ready';
}

/** A connection, or null while the server is starting or stopping. */
async function connect(place: Place, purpose: string): Promise<pg.Client | null> {
  const client = openClient(connectionOf(place), {
    applicationName: `orgdir ${purpose}, pid ${process.pid}`,
    statementTimeoutMs: 0,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    if (isConnectionFault(error)) return null;
    throw new StartError(
      `the embedded database in ${place.dataDir} refuses the service: ${(error as Error).message}`,
      { cause: error },
    );
  }
}

async function tryLock(client: pg.Client, lock: number): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>(
    'select pg_try_advisory_lock($1) as locked',
    [lock],
  );
  return rows[0]?.locked === true;
}

async function lockHolder(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ name: string }>(
    `select application_name as name from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and objid = $1 and granted`,
    [serviceLock],
  );
  return rows[0] ? ` (${rows[0].name.replace(/^orgdir /, '')})` : '';
}

// --- watching and leaving ---------------------------------------------------------------------

const rejoinDeadlineMs = 10_000;

/** The connection that holds the locks tells when the server dies. A server that only restarted its backends is joined again. */
function watch(place: Place, options: EmbeddedOptions, membership: Membership): void {
  membership.client.once('end', () => {
    if (membership.leaving) return;
    void rejoin(place, options, membership).then((reason) => {
      if (reason !== null && !membership.leaving) options.onLost?.(reason);
    });
  });
}

async function rejoin(
  place: Place,
  options: EmbeddedOptions,
  membership: Membership,
): Promise<string | null> {
  const deadline = Date.now() + rejoinDeadlineMs;
  while (Date.now() < deadline && !membership.leaving) {
    if ((await runningServer(place)) === null)
      return `the embedded database has stopped; its log is ${logFile(place)}`;
    const client = await connect(place, options.purpose).catch(() => null);
    if (!client) {
      await wait(pollMs);
      continue;
    }
    return member(place, options, client).then(
      (next) => {
        membership.client = next.client;
        return null;
      },
      (error: Error) => error.message,
    );
  }
  return 'the embedded database takes no connections';
}

async function leave(place: Place, membership: Membership): Promise<void> {
  membership.leaving = true;
  const last = await isLast(membership).catch(() => false);
  const pid = last ? await runningServer(place) : null;
  if (pid !== null) await stopServer(place, pid);
  await membership.client.end().catch(() => {});
}

/** A service stops the database with it. A tool does so when nobody else is there and no service runs. */
async function isLast({ client, purpose }: Membership): Promise<boolean> {
  if (purpose === 'service') return true;
  if (!(await tryLock(client, serviceLock))) return false;
  await client.query('select pg_advisory_unlock_shared($1)', [presenceLock]);
  return tryLock(client, presenceLock);
}

async function stopServer(place: Place, pid: number): Promise<void> {
  // SIGINT is PostgreSQL's fast shutdown: open transactions roll back, everything committed is on disk.
  process.kill(pid, 'SIGINT');
  const deadline = Date.now() + stopDeadlineMs;
  while (isAlive(pid) && (await runningServer(place)) !== null && Date.now() < deadline)
    await wait(pollMs);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null;
}
