/** Servers of Debian's PostgreSQL 15 on loopback ports: a primary and its standbys, to kill, freeze and promote. */
import { execFile } from 'node:child_process';
import { appendFileSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openClient } from '../service/src/database/database.ts';
import { freePort } from '../service/test/support/free-port.ts';
import { freezeTree, killTree } from './processes.ts';
import { makeFolder, recordProcess } from './run.ts';

const debian = '/usr/lib/postgresql/15/bin';
/** PostgreSQL refuses to run as root. */
const owner = 'postgres';
const asOwner = ['setpriv', `--reuid=${owner}`, `--regid=${owner}`, '--clear-groups'];
const user = 'orgdir';

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
  follow(primary: { port: number }, more?: string[]): Promise<void>;
};

export type PostgresOptions = {
  /** By default those of a primary that standbys follow. */
  settings?: string[];
  /** Of another PostgreSQL. */
  programs?: string;
  /** `near`: another address to listen on. `far`: the machine that may use it. */
  link?: { near: string; far: string };
};

/** Returns a server that has no data yet. */
export async function createServer(
  name: string,
  { settings = ['wal_keep_size=256MB'], programs = debian, link }: PostgresOptions = {},
): Promise<PostgresServer> {
  const folder = makeFolder(name);
  const data = join(folder, 'data');
  const port = await freePort();
  if (isRoot()) await run('chown', owner, folder);
  const options = [
    `port=${port}`,
    `listen_addresses=${['127.0.0.1', ...(link ? [link.near] : [])].join()}`,
    `unix_socket_directories=${folder}`,
    'max_connections=300',
    'shared_buffers=128MB',
    ...settings,
  ];
  const control = (...args: string[]) =>
    runProgram(programs, 'pg_ctl', '-D', data, '-l', join(folder, 'log'), '-w', ...args);
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
      const source = `host=127.0.0.1 port=${primary.port} user=${user} application_name=${name}`;
      await runProgram(programs, 'pg_basebackup', '-D', data, '-R', '-c', 'fast', '-d', source);
      options.push(...more);
      await start();
    },
  };
}

/** Creates a primary with an empty database. */
export async function startPrimary(
  name: string,
  options: PostgresOptions = {},
): Promise<PostgresServer> {
  const { programs = debian, link } = options;
  const server = await createServer(name, options);
  const { data } = server;
  const cluster = ['-D', data, '-U', user, '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '-N'];
  await runProgram(programs, 'initdb', ...cluster);
  if (link) appendFileSync(join(data, 'pg_hba.conf'), `host all all ${link.far}/32 trust\n`);
  await server.start();
  const connection = { connectionString: urlOf(server).replace(/orgdir$/, 'postgres') };
  const client = openClient(connection, { applicationName: 'harness' });
  await client.connect();
  await client.query('create database orgdir');
  await client.end();
  return server;
}

/** The address of one or several servers, as in DATABASE_URL. */
export function urlOf(...servers: Pick<PostgresServer, 'port'>[]): string {
  const hosts = servers.map(({ port }) => `127.0.0.1:${port}`).join(',');
  const query = servers.length > 1 ? '?target_session_attrs=read-write' : '';
  return `postgres://${user}@${hosts}/orgdir${query}`;
}

async function runProgram(programs: string, program: string, ...args: string[]): Promise<void> {
  const [first = '', ...rest] = [...(isRoot() ? asOwner : []), join(programs, program), ...args];
  await run(first, ...rest);
}

async function run(program: string, ...args: string[]): Promise<void> {
  await promisify(execFile)(program, args, { cwd: '/' });
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
