/** Runs Debian's PostgreSQL 15 with the settings with which the other systems were measured. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';

const programs = '/usr/lib/postgresql/15/bin';
const user = 'postgres';
const settings = ['shared_buffers=128MB', 'max_connections=300', 'listen_addresses=127.0.0.1'];

/** Resolves when it accepts connections. */
export async function startPostgres(
  folder: string,
  more: string[],
): Promise<{ url: string; stop(): void }> {
  await mkdir(folder);
  if (isRoot()) run(['chown', user, folder]);
  const data = join(folder, 'data');
  const port = await freePort();
  const all = [`port=${port}`, `unix_socket_directories=${folder}`, ...settings, ...more];
  const server = ['-D', data, '-l', join(folder, 'postgres.log'), '-w'];
  runProgram('initdb', '-D', data, '-U', user, '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8');
  runProgram('pg_ctl', ...server, '-o', all.map((each) => `-c ${each}`).join(' '), 'start');
  runProgram('createdb', '-h', '127.0.0.1', '-p', String(port), '-U', user, 'orgdir');
  return {
    url: `postgres://${user}@127.0.0.1:${port}/orgdir`,
    stop: () => runProgram('pg_ctl', ...server, '-m', 'fast', 'stop'),
  };
}

/** PostgreSQL refuses to run as root. */
function runProgram(program: string, ...args: string[]): void {
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
