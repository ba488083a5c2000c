/** The command `psql`, as a platform's own code may speak to PostgreSQL: nothing of ours is between. */
import { spawn, spawnSync } from 'node:child_process';
import type { ConnectionSettings } from '../../src/database/database.ts';
import { toUrl } from './database.ts';

const candidates = [
  'psql',
  ...[18, 17, 16, 15].map((major) => `/usr/lib/postgresql/${major}/bin/psql`),
];
const found = candidates.find((program) => spawnSync(program, ['--version']).status === 0);

/** Why tests with it are left out, or false. */
export const withoutPsql = found ? false : 'there is no psql on this machine';

/** Runs a script and stops at its first error. Prints rows alone, a line each. */
export async function psql(
  connection: ConnectionSettings,
  script: string,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const flags = ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-d', toUrl(connection)];
  const child = spawn(found ?? 'psql', flags, { env: { PATH: process.env['PATH'] } });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => (output[name] += text));
  child.stdin.end(script);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { code, ...output };
}
