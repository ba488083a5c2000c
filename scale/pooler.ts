/** PgBouncer with the settings of docs/operations.md, in front of a server of a test. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { PostgresServer } from '../harness/postgres.ts';
import { makeFolder } from '../harness/run.ts';
import { startProcess, type Started } from '../harness/start-process.ts';
import { openClient } from '../service/src/database/database.ts';
import { freePort } from '../service/test/support/free-port.ts';

const program = process.env['PGBOUNCER'] ?? 'pgbouncer';
const documents = join(import.meta.dirname, '../docs/operations.md');
const pollMs = 20;

export type Pooler = {
  /** As in DATABASE_URL. */
  url: string;
  start: () => Promise<void>;
  /** Ends it with SIGKILL. */
  kill: () => Promise<void>;
  /** Runs a command of its console, such as `pause`. */
  command(command: string): Promise<void>;
};

/** Why the tests of the pooler cannot run here, or false. */
export function isPoolerMissing(): string | false {
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  const [, major, minor] = /^PgBouncer (\d+)\.(\d+)/.exec(stdout ?? '') ?? [];
  if (Number(major) * 100 + Number(minor) >= 121) return false;
  return `they need PgBouncer 1.21 or later: set PGBOUNCER to its path (found: ${stdout?.split('\n')[0] || 'none'})`;
}

/** `changes` replace lines of pgbouncer.ini, by their names. */
export async function createPooler(
  name: string,
  server: Pick<PostgresServer, 'port'>,
  changes: Record<string, string> = {},
  connectQuery?: string,
): Promise<Pooler> {
  const folder = makeFolder(name);
  const port = await freePort();
  const file = join(folder, 'pgbouncer.ini');
  const lines = {
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    auth_type: 'trust',
    auth_file: join(folder, 'userlist.txt'),
    unix_socket_dir: '',
    admin_users: 'orgdir',
    ...changes,
  };
  writeFileSync(lines.auth_file, '"orgdir" ""\n', { mode: 0o644 });
  writeFileSync(file, settingsOf(server.port, lines, connectQuery), { mode: 0o644 });
  let running: Started | undefined;

  return {
    url: `postgres://orgdir@127.0.0.1:${port}/orgdir`,
    async start() {
      // It refuses to run as root.
      const asNobody = process.getuid?.() === 0 ? ['--user=nobody'] : [];
      running = startProcess(program, { args: ['--quiet', ...asNobody, file] });
      while (!(await accepts(port))) await wait(pollMs);
    },
    kill: async () => running?.kill(),
    async command(command) {
      // As behind a pooler: without settings of a session, which the console refuses.
      const console = { host: '127.0.0.1', port, user: 'orgdir', database: 'pgbouncer' };
      const client = openClient({ ...console, direct: {} }, { applicationName: 'harness' });
      await client.connect();
      try {
        await client.query(command);
      } finally {
        await client.end();
      }
    },
  };
}

/** The documented settings, with those of the test. */
function settingsOf(serverPort: number, changes: Record<string, string>, connectQuery?: string) {
  const text = /```ini\n([^`]*)```/.exec(readFileSync(documents, 'utf8'))?.[1] ?? '';
  const kept = text
    .split('\n')
    .filter((line) => !Object.keys(changes).some((name) => line.startsWith(`${name} =`)))
    .join('\n')
    .replace('host=database port=5432', `host=127.0.0.1 port=${serverPort}`);
  const own = Object.entries(changes).map(([name, value]) => `${name} = ${value}\n`);
  const settings = `${kept}${own.join('')}`;
  return connectQuery === undefined
    ? settings
    : settings.replace(/connect_query=.*/, `connect_query='${connectQuery}'`);
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
