/** A reader who has the client, Node.js and the command `orgdir`, and runs programs in an empty folder. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after } from 'node:test';
import { promisify } from 'node:util';

export const root = fileURLToPath(new URL('../../../', import.meta.url));
/** Longer than any program takes, on a busy machine too. */
const timeout = 120_000;
const bin = [join(root, 'node_modules/.bin'), dirname(process.execPath)];
const execute = promisify(execFile);

export type Reader = {
  write(name: string, text: string): Promise<void>;
  /** Returns the standard output. Rejects if the program fails. */
  run(command: string, args: string[], env: Record<string, string>): Promise<string>;
};

export async function createReader(): Promise<Reader> {
  const folder = await mkdtemp(join(tmpdir(), 'orgdir-reader-'));
  after(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, 'node_modules'));
  await symlink(join(root, 'node_modules/@orgdir'), join(folder, 'node_modules/@orgdir'));
  return {
    write: (name, text) => writeFile(join(folder, name), text),
    async run(command, args, env) {
      const path = [...bin, process.env['PATH']].join(delimiter);
      const options = { cwd: folder, timeout, env: { ...environment, PATH: path, ...env } };
      return (await execute(command, args, options)).stdout;
    },
  };
}

/** Go keeps its cache in the home folder. */
const environment = { HOME: process.env['HOME'] ?? tmpdir() };

/** The reason to skip a test that needs a command, or false. */
export function unless(command: string, argument: string): string | false {
  const { status } = spawnSync(command, [argument], { stdio: 'ignore' });
  return status === 0 ? false : `${command} is not installed`;
}
