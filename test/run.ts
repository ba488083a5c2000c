/**
 * npm run test:all and test:database: run the test files that match the given patterns in a few processes (`lane.ts`).
 * What every file needs is loaded once per process, which takes half the processor time of a process per file.
 */
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const root = join(import.meta.dirname, '..');
/** A test that waits for a timer leaves its processor to another process. */
const lanes = 2 * availableParallelism();

/** In the order of the patterns, so that the longest can begin first. */
const files = [
  ...new Set(
    process.argv.slice(2).flatMap((pattern) => globSync(pattern, { cwd: root }).toSorted()),
  ),
];
if (files.length === 0) throw new Error('No test file matches: name files or patterns');
const folder = mkdtempSync(join(tmpdir(), 'orgdir-lanes-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules/.cache/tests');

// Apart from the call, because Node's types do not know `globalSetupPath`.
const options = {
  files: Array.from({ length: Math.min(lanes, files.length) }, () =>
    join(import.meta.dirname, 'lane.ts'),
  ),
  argv: [folder, ...files],
  concurrency: lanes,
  cwd: root,
  globalSetupPath: join(root, 'service/test/support/global-setup.ts'),
};
run(options)
  .on('test:fail', () => {
    process.exitCode = 1;
  })
  .compose(new spec())
  .pipe(process.stdout);
