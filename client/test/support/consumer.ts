/** A project that uses the package as it is published, in a folder of its own: what it prints, and what tsc says of it. */
import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { buildPackage } from '../../build/build-package.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

export type Consumer = {
  folder: string;
  /** Where `@orgdir/client` is. */
  packageFolder: string;
  write(file: string, text: string): Promise<void>;
  /** Starts a file of it. It is ended with the test file. */
  start(file: string, options?: { node?: string; env?: Record<string, string> }): Program;
  /** All that tsc has to say; empty where everything fits. */
  check(options: { types: string[]; files: string[] }): Promise<string>;
};
export type Program = {
  output(): string;
  /** Resolves with the match once the output has it; rejects where the program ends without it. */
  prints(pattern: RegExp): Promise<RegExpExecArray>;
  /** Resolves with its exit code. */
  ended: Promise<number | null>;
  stop(): Promise<void>;
};

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
    start: (file, options) => startProgram(folder, file, options),
    check: ({ types, files }) => check(folder, types, files),
  };
}

async function link(target: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await symlink(target, path);
}

function startProgram(
  folder: string,
  file: string,
  { node = process.execPath, env = {} }: { node?: string; env?: Record<string, string> } = {},
): Program {
  const child = spawn(node, [join(folder, file)], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let changed: () => void = () => {};
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      changed();
    });
  let hasEnded = false;
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      hasEnded = true;
      changed();
      resolve(code);
    });
  });
  const stop = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  after(stop);

  async function prints(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(output);
      if (found) return found;
      if (hasEnded) throw new Error(`ended without ${String(pattern)}:\n${output}`);
      await new Promise<void>((resolve) => (changed = resolve));
    }
  }

  return { output: () => output, prints, ended, stop };
}

async function check(folder: string, types: string[], files: string[]): Promise<string> {
  const compilerOptions = {
    target: 'es2022',
    module: 'nodenext',
    lib: ['es2022', ...(types.length === 0 ? ['dom', 'dom.iterable'] : [])],
    types,
    noEmit: true,
    strict: true,
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
