/** The command `orgdir` as its users run it: a process of its own, with a DATA_DIR of its own. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openClient, openDatabase } from '../../src/database/database.ts';
import { openEmbedded } from '../../src/database/embedded.ts';
import { migrate } from '../../src/database/migrate.ts';
import { eventually } from './eventually.ts';
import { databasesPlace, runFolder } from './run-folder.ts';

const commandFile = fileURLToPath(new URL('../../bin/orgdir.js', import.meta.url));

const dataDirPrefix = 'orgdir-lifecycle-';

/** For tests about the embedded database: why they do not run a second time on a server of the operator's. */
export const embeddedOnly = process.env['DATABASE_URL']
  ? 'about the embedded database, which DATABASE_URL leaves out; the run without it has these'
  : false;

export type Ended = { code: number | null; signal: NodeJS.Signals | null };
export type Command = {
  pid: number;
  stdout: string;
  stderr: string;
  /** Resolves with the match once the output has it; rejects where the command ends without it. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  /** To this process alone, or to its whole group, as Ctrl-C on a terminal does. */
  signal(signal: NodeJS.Signals, to?: 'group'): void;
  /** Writes this to its standard input, which stays open. */
  write(input: string): void;
  /** Ends its standard input with this. */
  end(input: string): void;
  /** Reads its standard output no further. */
  closeOutput(): void;
  ended: Promise<Ended>;
};

export type CommandOptions = {
  env?: Record<string, string>;
  input?: string | undefined;
  uid?: number;
  /** The file of another release, or of another command. */
  command?: string;
  /** Another Node.js than the one of this run. */
  node?: string;
};

/** Starts `orgdir ...args` with nothing in its environment but what is given. */
export function startCommand(args: string[], options: CommandOptions = {}): Command {
  const child = spawn(options.node ?? process.execPath, [options.command ?? commandFile, ...args], {
    env: { PATH: process.env['PATH'] ?? '', PORT: '0', INTERNAL_PORT: '0', ...options.env },
    cwd: '/',
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
  });
  const command: Command = {
    pid: child.pid ?? 0,
    stdout: '',
    stderr: '',
    waitFor: (pattern) => waitFor(child, command, pattern),
    signal: (signal, to) => process.kill(to === 'group' ? -command.pid : command.pid, signal),
    write: (input) => child.stdin.write(input),
    end: (input) => child.stdin.end(input),
    closeOutput: () => child.stdout.destroy(),
    ended: once(child, 'close').then(([code, signal]) => ({ code, signal })),
  };
  child.stdout.on('data', (chunk: Buffer) => (command.stdout += String(chunk)));
  child.stderr.on('data', (chunk: Buffer) => (command.stderr += String(chunk)));
  child.stdin.on('error', () => {});
  if (options.input !== undefined) child.stdin.end(options.input);
  return command;
}

/** Runs a command to its end. */
export async function runCommand(
  args: string[],
  options: CommandOptions = {},
): Promise<Ended & { stdout: string; stderr: string }> {
  const command = startCommand(args, { input: '', ...options });
  const ended = await command.ended;
  return { ...ended, stdout: command.stdout, stderr: command.stderr };
}

function waitFor(child: ChildProcess, command: Command, pattern: RegExp): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const found = pattern.exec(command.stdout) ?? pattern.exec(command.stderr);
      if (found) resolve(found);
    };
    child.stdout?.on('data', look);
    child.stderr?.on('data', look);
    child.once('close', () =>
      reject(new Error(`ended without ${String(pattern)}:\n${command.stdout}${command.stderr}`)),
    );
    look();
  });
}

/** The output of a service with an embedded database and demo data once it is ready. */
export async function ready(service: Command): Promise<{ url: string; key: string }> {
  const [, url = ''] = await service.waitFor(/^Serving at (\S+)/m);
  const [, key = ''] = await service.waitFor(/^Demo key: +(\S+)/m);
  await service.waitFor(/^Try it: .*\n/m);
  return { url, key };
}

/** A path for a DATA_DIR that does not exist yet, below a folder that every user may enter. Free it with `removeDataDir`. */
export async function newDataDir(name = 'data'): Promise<string> {
  const folder = await mkdtemp(join(databasesPlace(), dataDirPrefix));
  await chmod(folder, 0o755);
  return join(folder, name);
}

/** The same with what `orgdir migrate` makes in it: for tests that are not about that. */
export async function newMigratedDataDir(): Promise<string> {
  const template = join(runFolder(), 'migrated');
  if (!existsSync(template)) await makeMigrated(template);
  const dataDir = await newDataDir();
  // Keeps owners and modes, which the database depends on.
  await promisify(execFile)('cp', ['-a', template, dataDir]);
  return dataDir;
}

async function makeMigrated(template: string): Promise<void> {
  const dataDir = `${template}-${process.pid}`;
  const server = await openEmbedded({ dataDir, purpose: 'tool', settings: ['fsync=off'] });
  const database = openDatabase(server.connection, {
    applicationName: 'test',
    statementTimeoutMs: 0,
  });
  await migrate(database);
  await database.destroy();
  await server.close();
  // One copy of the programs, which root has, is enough.
  for (const name of (await readdir(dataDir)).filter((each) => each.startsWith('programs-'))) {
    await rename(join(dataDir, name), `${dataDir}-${name}`);
    await symlink(`${dataDir}-${name}`, join(dataDir, name));
  }
  // If another test file was first, its own is the same.
  await rename(dataDir, template).catch(() => {});
}

export async function removeDataDir(dataDir: string): Promise<void> {
  await killServer(dataDir);
  const end = dataDir.indexOf('/', dataDir.indexOf(dataDirPrefix));
  const folder = dataDir.slice(0, end);
  await rm(folder, { recursive: true, force: true, maxRetries: 10 });
}

/** The embedded server's process id, or null where none runs. */
export async function serverPid(dataDir: string): Promise<number | null> {
  const text = await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number(text.split('\n')[0]);
  return pid > 0 && isAlive(pid) ? pid : null;
}

/** Ends the embedded server as a crash does, and resolves when it is gone. */
export async function killServer(dataDir: string): Promise<void> {
  const pid = await serverPid(dataDir);
  if (pid === null) return;
  process.kill(pid, 'SIGQUIT');
  await eventually(async () => !isAlive(pid));
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** A connection into the embedded database of a DATA_DIR, as the service connects. The caller ends it. */
export async function connectInto(dataDir: string) {
  const file = await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8');
  const client = openClient(
    {
      host: file.split('\n')[4] ?? '',
      port: 5432,
      user: 'orgdir',
      password: (await readFile(join(dataDir, 'database-password'), 'utf8')).trim(),
      database: 'orgdir',
    },
    { applicationName: 'test' },
  );
  client.on('error', () => {});
  await client.connect();
  return client;
}
