/** Runs `orgdir` as its users do: a process of its own, over the environment. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const command = fileURLToPath(new URL('../../bin/orgdir.js', import.meta.url));

export type CommandResult = { code: number | null; stdout: string; stderr: string };

/** `env` is all that the command sees, beside PATH. */
export async function runCommand(
  args: string[],
  env: Record<string, string>,
  input: string | Buffer = '',
): Promise<CommandResult> {
  const child = spawn(process.execPath, [command, ...args], {
    env: { PATH: process.env['PATH'], INTERNAL_PORT: '0', ...env },
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => (output[name] += text));
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { code, ...output };
}
