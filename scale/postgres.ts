/** Servers of Debian's PostgreSQL 15 on loopback ports: a primary and its standbys, which tests kill, freeze and promote. */
import { execFile } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freezeTree, killTree } from '../faults/processes.ts';
import { recordProcess, runFolder } from '../faults/run-folder.ts';
import { freePort } from '../service/test/support/free-port.ts';
import type { Link } from './machine.ts';

const programs = '/usr/lib/postgresql/15/bin';
/** PostgreSQL refuses to run as root. */
const owner = 'postgres';
const asOwner = ['setpriv', `--reuid=${owner}`, `--regid=${owner}`, '--clear-groups'];
const databaseUser = 'orgdir';
const settings = ['max_connections=200', 'shared_buffers=128MB', 'wal_keep_size=256MB'];

export type PostgresServer = {
  port: number;
  /** Its data folder. */
  data: string;
  /** Starts it as what it is: a primary or a standby. */
  start(): Promise<void>;
  /** Ends it and all its processes with SIGKILL. */
  kill(): Promise<void>;
  /** Stops all its processes with SIGSTOP, like a virtual machine that hangs. Returns how to thaw it. */
  freeze(): () => void;
  /** Resolves when it accepts writes. */
  promote(): Promise<void>;
  /** Makes it a new standby of another server. It must not run. */
  follow(primary: PostgresServer, more?: string[]): Promise<void>;
};

/** Returns a server that has no data yet. It listens on the loopback address, and on that of a link. */
export async function createServer(name: string, link?: Link): Promise<PostgresServer> {
  const folder = mkdtempSync(join(runFolder(), `${name}-`));
  const data = join(folder, 'data');
  const port = await freePort();
  if (isRoot()) await run('chown', owner, folder);
  const addresses = ['127.0.0.1', ...(link ? [link.near] : [])].join();
  const options = [
    `port=${port}`,
    `listen_addresses=${addresses}`,
    `unix_socket_directories=${folder}`,
    ...settings,
  ];
  const control = (...args: string[]) =>
    runProgram('pg_ctl', '-D', data, '-l', join(folder, 'log'), '-w', ...args);
  const pid = () => Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);

  async function start(): Promise<void> {
    try {
      await control('-o', options.map((each) => `-c ${each}`).join(' '), 'start');
    } catch (cause) {
      const lines = readFileSync(join(folder, 'log'), 'utf8').trimEnd().split('\n').slice(-10);
      throw new Error(`PostgreSQL did not start:\n${lines.join('\n')}`, { cause });
    }
    recordProcess(pid());
  }

  return {
    port,
    data,
    start,
    async kill() {
      await killTree(pid());
      // They name a process that nobody may have reaped yet, so PostgreSQL would respect them.
      rmSync(join(data, 'postmaster.pid'));
      rmSync(join(folder, `.s.PGSQL.${port}.lock`));
    },
    freeze() {
      const pids = freezeTree(pid());
      return () => pids.toReversed().forEach((each) => process.kill(each, 'SIGCONT'));
    },
    promote: () => control('promote'),
    async follow(primary, more = []) {
      rmSync(data, { recursive: true, force: true });
      const source = `host=127.0.0.1 port=${primary.port} user=${databaseUser} application_name=${name}`;
      await runProgram('pg_basebackup', '-D', data, '-R', '-c', 'fast', '-d', source);
      options.push(...more);
      await start();
    },
  };
}

/** Creates a primary with an empty database, which the machine at the other end of a link may use too. */
export async function startPrimary(name: string, link?: Link): Promise<PostgresServer> {
  const server = await createServer(name, link);
  const { data } = server;
  await runProgram('initdb', '-D', data, '-U', databaseUser, '-A', 'trust', '-E', 'UTF8', '-N');
  if (link) appendFileSync(join(data, 'pg_hba.conf'), `host all all ${link.far}/32 trust\n`);
  await server.start();
  await runProgram(
    'createdb',
    '-h',
    '127.0.0.1',
    '-p',
    String(server.port),
    '-U',
    databaseUser,
    'orgdir',
  );
  return server;
}

/** The address of one or several servers, as in DATABASE_URL. */
export function urlOf(...servers: PostgresServer[]): string {
  const hosts = servers.map(({ port }) => `127.0.0.1:${port}`).join(',');
  const query = servers.length > 1 ? '?target_session_attrs=read-write' : '';
  return `postgres://${databaseUser}@${hosts}/orgdir${query}`;
}

async function runProgram(program: string, ...args: string[]): Promise<void> {
  const command = [...(isRoot() ? asOwner : []), join(programs, program), ...args];
  await run(...(command as [string]));
}

async function run(program: string, ...args: string[]): Promise<void> {
  await promisify(execFile)(program, args, { cwd: '/' });
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
