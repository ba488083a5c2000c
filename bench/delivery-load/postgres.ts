/** Runs a PostgreSQL server with the settings with which the other systems were measured. */
import { spawnSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../service/test/support/free-port.ts';
import { openClient } from '../../service/src/database/database.ts';

export const debian = '/usr/lib/postgresql/15/bin';
const user = 'postgres';
const settings = ['shared_buffers=128MB', 'max_connections=300', 'listen_addresses=127.0.0.1'];

/** Resolves when it accepts connections. It is Debian's PostgreSQL 15, or the one with these programs. */
export async function startPostgres(
  folder: string,
  more: string[],
  programs = debian,
): Promise<{ url: string; stop(): void }> {
  await mkdir(folder);
  if (isRoot()) run(['chown', user, folder]);
  const data = join(folder, 'data');
  const port = await freePort();
  const all = [`port=${port}`, `unix_socket_directories=${folder}`, ...settings, ...more];
  const server = ['-D', data, '-l', join(folder, 'postgres.log'), '-w'];
  runProgram(
    programs,
    'initdb',
    '-D',
    data,
    '-U',
    user,
    '-A',
    'trust',
    '-E',
    'UTF8',
    '--locale=C.UTF-8',
  );
  runProgram(
    programs,
    'pg_ctl',
    ...server,
    '-o',
    all.map((each) => `-c ${each}`).join(' '),
    'start',
  );
  const url = `postgres://${user}@127.0.0.1:${port}`;
  await createDatabase(url);
  return {
    url: `${url}/orgdir`,
    stop: () => runProgram(programs, 'pg_ctl', ...server, '-m', 'fast', 'stop'),
  };
}

async function createDatabase(url: string): Promise<void> {
  const client = openClient(
    { connectionString: `${url}/postgres` },
    { applicationName: 'orgdir bench' },
  );
  await client.connect();
  await client.query('create database orgdir');
  await client.end();
}

/** PostgreSQL refuses to run as root. */
function runProgram(programs: string, program: string, ...args: string[]): void {
  const asUser = ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups'];
  run([...(isRoot() ? asUser : []), join(programs, program), ...args]);
}

function run([program = '', ...args]: string[]): void {
  const { status, stderr, error } = spawnSync(program, args, { cwd: '/', encoding: 'utf8' });
  if (status !== 0) throw new Error(`${[program, ...args].join(' ')}: ${error?.message ?? stderr}`);
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
