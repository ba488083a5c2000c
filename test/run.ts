/**
 * npm run test:all and test:database: run the test files that match the given patterns in a few processes (`lane.ts`).
 * What every file needs is loaded once per process, which takes half the processor time of a process per file.
 */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { rowTypesVariable } from '../service/test/support/row-types/observe.ts';

const root = join(import.meta.dirname, '..');
/** At once. A test that waits for a timer leaves its processor to another process. */
const lanes = 2 * availableParallelism();
/** What a file has loaded and started is never freed as a whole, and collecting garbage then takes a third of a process's time. */
const filesPerProcess = 18;
/** Files that failed run once more, alone, if they are no more than this: a machine that others use may be too slow for four. */
const againMax = Number(process.env['TEST_AGAIN'] ?? 0);

/** In the order of the patterns, so that the longest can begin first. */
const files = [
  ...new Set(
    process.argv.slice(2).flatMap((pattern) => globSync(pattern, { cwd: root }).toSorted()),
  ),
];
if (files.length === 0) throw new Error('No test file matches: name files or patterns');
/** More than the files need, so that the last ones are not left to a few. */
const processes = 2 * lanes * Math.ceil(files.length / filesPerProcess / lanes);
const folder = mkdtempSync(join(tmpdir(), 'orgdir-lanes-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
// Files that run again meet the same random values, and so does a run with this in its environment.
process.env['TEST_SEED'] ??= String(randomInt(2 ** 30));
console.log(`Random values: TEST_SEED=${process.env['TEST_SEED']}`);
process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules/.cache/tests');

/** Ctrl-C, or a CI that ends the run: its database must not outlive it. `node --test` does the same by itself. */
const interrupt = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    interrupt.abort();
    // Node does not end those that it was about to start (`lane.ts`).
    rmSync(folder, { recursive: true, force: true });
  });

// Apart from the call, because Node's types do not know `globalSetupPath`.
const options = {
  files: Array.from({ length: Math.min(processes, files.length) }, () =>
    join(import.meta.dirname, 'lane.ts'),
  ),
  argv: [folder, String(filesPerProcess), ...files],
  concurrency: lanes,
  cwd: root,
  signal: interrupt.signal,
  globalSetupPath: join(root, 'service/test/support/global-setup.ts'),
};
/** Names of files; of a process that ended early, and what it left out is not known. */
const failed: string[] = [];
const output = run(options)
  .on('test:fail', ({ name, nesting }) => {
    if (nesting === 0) failed.push(name);
  })
  .compose(new spec());
output.pipe(process.stdout);
await finished(output);
if (interrupt.signal.aborted) process.exitCode = 1;
else if (failed.length > 0) process.exitCode = (await passAlone(failed)) ? 0 : 1;

async function passAlone(names: string[]): Promise<boolean> {
  if (names.length > againMax || !names.every((name) => files.includes(name))) return false;
  // Rows are compared only of what this file calls: the others have been.
  const env: NodeJS.ProcessEnv = { ...process.env, TEST_AGAIN: '0', ROW_TYPES: 'some' };
  // The folder of this run, which makes another for itself.
  delete env[rowTypesVariable];
  for (const name of names) {
    const alone = spawn(process.execPath, [import.meta.filename, name], { env, stdio: 'inherit' });
    const [status] = await once(alone, 'close');
    if (status !== 0) return false;
  }
  process.stdout.write(`\nFAILED AT FIRST, PASSED ALONE: ${names.join(', ')}\n`);
  return true;
}
