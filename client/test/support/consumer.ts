/** A project in a separate folder that uses the published package: its output, and tsc's. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { buildPackage } from '../../build/build-package.ts';
import { startProgram, type Program, type ProgramOptions } from './program.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

export type Consumer = {
  folder: string;
  /** The folder of `@orgdir/client`. */
  packageFolder: string;
  write(file: string, text: string): Promise<void>;
  /** Starts a file of it. It is ended with the test file. */
  start(file: string, options?: ProgramOptions): Program;
  /** The output of tsc; empty without errors. */
  check(options: Check): Promise<string>;
};
type Check = { types: string[]; files: string[]; module?: string };

export async function makeConsumer(): Promise<Consumer> {
  const folder = await mkdtemp(join(tmpdir(), 'orgdir-consumer-'));
  after(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }\n');
  const packageFolder = join(folder, 'node_modules/@orgdir/client');
  await buildPackage(packageFolder);
  await link(join(root, 'node_modules/@types'), join(folder, 'node_modules/@types'));
  await link(join(root, 'node_modules/undici-types'), join(folder, 'node_modules/undici-types'));
  return {
    folder,
    packageFolder,
    write: (file, text) => writeFile(join(folder, file), text),
    start: (file, options) => startProgram(join(folder, file), { cwd: folder, ...options }),
    check: (options) => check(folder, options),
  };
}

async function link(target: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await symlink(target, path);
}

async function check(
  folder: string,
  { types, files, module = 'nodenext' }: Check,
): Promise<string> {
  const compilerOptions = {
    target: 'es2022',
    module,
    lib: ['es2022', ...(types.length === 0 ? ['dom', 'dom.iterable'] : [])],
    types,
    noEmit: true,
    strict: true,
    allowJs: true,
    exactOptionalPropertyTypes: true,
  };
  const config = JSON.stringify({ compilerOptions, files });
  await writeFile(join(folder, 'tsconfig.json'), config);
  const tsc = join(root, 'node_modules/.bin/tsc');
  return promisify(execFile)(process.execPath, [tsc, '--project', folder]).then(
    ({ stdout }) => stdout,
    ({ stdout }: { stdout: string }) => stdout,
  );
}
