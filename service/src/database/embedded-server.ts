/** Finds the server of the embedded database by `postmaster.pid`, starts it and stops it. */
import { spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync } from 'node:fs';
import { lchown, link, mkdir, mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type Installation, asUser } from './embedded-installation.ts';
import { isAlive, unfinishedName } from './unfinished-files.ts';

export type Server = { pid: number; socketDir: string };

const stopDeadlineMs = 30_000;
const pollMs = 20;
const socketName = '.s.PGSQL.5432';
/** A socket's path has at most 103 bytes on macOS and 107 on Linux, its lock file included. */
const socketPathBytesMax = 103;
const shortSocketDir = /^\/tmp\/orgdir-[A-Za-z0-9]{6}$/;

/** The server that runs on these files, or null. */
export async function findServer(installation: Installation): Promise<Server | null> {
  const file = await readPidFile(installation);
  return file && (await isServer(installation, file.pid)) ? file : null;
}

/**
 * The socket folder of the current or the killed server; null if none ever ran or the last one was stopped, and for the file
 * of another folder's server, which was copied with the data.
 */
export async function lastSocketDir(installation: Installation): Promise<string | null> {
  const file = await readPidFile(installation);
  return file && (await isOfFolder(installation, file)) ? file.socketDir : null;
}

/** Whether the server that runs on these files is not ready yet. After a crash that takes as long as there is to read. */
export async function isStarting(installation: Installation): Promise<boolean> {
  const file = await readPidFile(installation);
  return file?.status === 'starting' && (await isServer(installation, file.pid));
}

/** `isPermanent`: the next try would fail in the same way. */
export type StartFailure = { reason: string; isPermanent: boolean };

/** Starts a server if none runs. Returns the reason why it did not start, or null. */
export async function startIfStopped(
  installation: Installation,
  deadline: number,
  signal?: AbortSignal,
): Promise<StartFailure | null> {
  if (await findServer(installation)) return null;
  await clearPidFile(installation);
  const socketDir = await makeSocketDir(installation);
  const failure = await start(installation, socketDir, deadline, signal);
  if (failure !== null) await removeShortSocketDir(socketDir);
  return failure;
}

/** Everything committed is on disk when it resolves. */
export async function stopServer(
  installation: Installation,
  { pid, socketDir }: Server,
): Promise<void> {
  try {
    // PostgreSQL's fast shutdown: open transactions roll back, connections end.
    process.kill(pid, 'SIGINT');
  } catch {
    // It has ended already.
  }
  const deadline = Date.now() + stopDeadlineMs;
  while ((await isServer(installation, pid)) && Date.now() < deadline) await wait(pollMs);
  await removeShortSocketDir(socketDir);
}

export function logFile(installation: Installation): string {
  return join(installation.dataDir, 'postgres.log');
}

type PidFile = Server & { folder: string; text: string; status: string };

function pidFile(installation: Installation): string {
  return join(installation.clusterDir, 'postmaster.pid');
}

async function readPidFile(installation: Installation): Promise<PidFile | null> {
  const text = await readFile(pidFile(installation), 'utf8').catch(() => '');
  const lines = text.split('\n');
  const pid = Number(lines[0]);
  if (!(pid > 0)) return null;
  const [, folder = '', , , socketDir = '', , , status = ''] = lines;
  return { pid, folder, socketDir, status: status.trim(), text };
}

function isOfFolder(installation: Installation, { folder }: PidFile): Promise<boolean> {
  return isSameFolder(folder, installation.clusterDir);
}

/** Whether a process is the server of these files. After a reboot another program may have its number. */
async function isServer(installation: Installation, pid: number): Promise<boolean> {
  if (!isAlive(pid)) return false;
  if (process.platform !== 'linux') return true;
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  const args = command.split('\0');
  const folder = args.includes('-D') ? args[args.indexOf('-D') + 1] : undefined;
  return folder !== undefined && isSameFolder(folder, installation.clusterDir);
}

/** Compares device and inode, because one folder can have several names through links and mounts. */
async function isSameFolder(one: string, other: string): Promise<boolean> {
  const [first, second] = await Promise.all(
    [one, other].map((path) => stat(path).catch(() => null)),
  );
  return first?.dev === second?.dev && first?.ino === second?.ino;
}

/**
 * PostgreSQL refuses to start if the number in `postmaster.pid` belongs to any living process of its user. A
 * dead server's file stays otherwise: PostgreSQL uses it to detect old processes that still write.
 */
async function clearPidFile(installation: Installation): Promise<void> {
  const found = await readPidFile(installation);
  // Another start may have put its own there just now.
  if (!found || (await isServer(installation, found.pid))) return;
  if (isAlive(found.pid)) {
    await removePidFile(installation, found.text);
    // It names the same program.
    await rm(join(installation.dataDir, 'run', `${socketName}.lock`), { force: true });
  }
  if (await isOfFolder(installation, found)) await removeShortSocketDir(found.socketDir);
}

/** If another start has put its own file there in the meantime, it is put back. */
async function removePidFile(installation: Installation, expected: string): Promise<void> {
  const aside = unfinishedName(pidFile(installation));
  await rename(pidFile(installation), aside).catch(() => {});
  const text = await readFile(aside, 'utf8').catch(() => expected);
  if (text !== expected) await link(aside, pidFile(installation)).catch(() => {});
  await rm(aside, { force: true });
}

/** Next to the data, or, if that path is too long, in a folder in /tmp with an unpredictable name. */
async function makeSocketDir(installation: Installation): Promise<string> {
  const inside = join(installation.dataDir, 'run');
  const fits = Buffer.byteLength(join(inside, `${socketName}.lock`)) <= socketPathBytesMax;
  const folder = fits ? inside : await mkdtemp('/tmp/orgdir-');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (installation.user) await lchown(folder, installation.user.uid, installation.user.gid);
  return folder;
}

async function removeShortSocketDir(socketDir: string): Promise<void> {
  if (shortSocketDir.test(socketDir)) await rm(socketDir, { recursive: true, force: true });
}

async function start(
  installation: Installation,
  socketDir: string,
  deadline: number,
  signal?: AbortSignal,
): Promise<StartFailure | null> {
  const log = openSync(logFile(installation), 'a', 0o600);
  const logStart = fstatSync(log).size;
  const server = spawn(
    join(installation.programs.folder, 'bin/postgres'),
    serverArguments(installation, socketDir),
    {
      ...asUser(installation.user),
      cwd: '/',
      env: { LC_ALL: 'C', TZ: 'UTC' },
      stdio: ['ignore', log, log],
      // A separate process group: Ctrl-C on the terminal then reaches only the service, which stops the server when it
      // no longer needs it.
      detached: true,
    },
  );
  closeSync(log);
  let ended: string | null = null;
  server.once('error', (error) => (ended = error.message));
  server.once('exit', (code, killedBy) => (ended = `it ended with ${code ?? killedBy}`));
  server.unref();
  while (ended === null && !(await isReady(installation, server.pid))) {
    // Nobody can have joined it yet.
    if (signal?.aborted) server.kill('SIGINT');
    else if (Date.now() > deadline && !(await isStarting(installation)))
      return { reason: 'it does not become ready', isPermanent: false };
    await wait(pollMs);
  }
  if (ended === null) return null;
  const line = await readFatalLine(installation, logStart);
  return line === null
    ? { reason: ended, isPermanent: false }
    : { reason: line, isPermanent: !endsByItself.test(line) };
}

/** Another server starts, or the processes of a killed one still end. */
const endsByItself = /lock file ".*" already exists|pre-existing shared memory block/;

/** The last line of the server's log that says why it ended; null if it says nothing. */
async function readFatalLine(installation: Installation, logStart: number): Promise<string | null> {
  const text = (await readFile(logFile(installation))).subarray(logStart).toString();
  // Those about the database system are for clients that came too early.
  const lines = text.match(/(FATAL|PANIC): +(?!the database system is ).*/g);
  return lines?.at(-1) ?? null;
}

async function isReady(installation: Installation, pid: number | undefined): Promise<boolean> {
  const file = await readPidFile(installation);
  return file?.pid === pid && file?.status === 'ready';
}

function serverArguments(installation: Installation, socketDir: string): string[] {
  const settings = [
    'listen_addresses=',
    `unix_socket_directories=${quoteListItem(socketDir)}`,
    'unix_socket_permissions=0700',
    'password_encryption=scram-sha-256',
    'max_connections=125',
    // A statement without an id of its events locks every day of history: docs/operations.md
    'max_locks_per_transaction=128',
    'shared_buffers=128MB',
    'random_page_cost=1.1',
    'log_min_messages=warning',
    'log_line_prefix=%m [%p] ',
    ...installation.settings,
  ];
  return ['-D', installation.clusterDir, ...settings.flatMap((setting) => ['-c', setting])];
}

function quoteListItem(path: string): string {
  return `"${path.replaceAll('"', '""')}"`;
}
