/** One process of a test run: takes a test file that no other process has taken, runs it, and takes the next. */
import { closeSync, existsSync, openSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { chooseRandomValues } from '../service/test/support/random-values.ts';
import { testFile } from './node-test.ts';

/** Of all tests of a file. */
const timeoutMs = 1_200_000;
const lookMs = 1_000;

const [folder = '', filesMax = '', ...files] = process.argv.slice(2);

const replacement = new URL('node-test.ts', import.meta.url).href;
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'node:test' ? { url: replacement, shortCircuit: true } : next(specifier, context),
});
chooseRandomValues(Number(process.env['TEST_SEED']));
// Each file leaves some listeners, and Node's warning of that would stand in what a test compares.
process.setMaxListeners(0);
// A test may wait for nothing that keeps a process alive, and the next file has to follow, unless the run has ended.
const keepAlive = setInterval(() => existsSync(folder) || process.exit(1), lookMs);
let taken = 0;
for (const [index, file] of files.entries()) {
  if (taken === Number(filesMax)) break;
  if (!isFree(index)) continue;
  taken += 1;
  await testFile(file, timeoutMs, () => import(join('..', file)));
}
clearInterval(keepAlive);

function isFree(index: number): boolean {
  try {
    closeSync(openSync(join(folder, String(index)), 'wx'));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
