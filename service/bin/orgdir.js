#!/usr/bin/env -S node --min-semi-space-size=8 --max-semi-space-size=32
/**
 * The command `orgdir`; `commands/program.ts` has the commands. Plain JavaScript, so that any Node can say what is wrong
 * with it, and so that Node reads the rest from its cache without a compiler for TypeScript in memory.
 */
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import v8 from 'node:v8';

// Before anything is loaded: npx may be told to stop meanwhile (src/commands/serve-command.ts).
const parent = process.ppid;

const oldestNode = 24;
if (Number(process.versions.node.split('.')[0]) < oldestNode) {
  console.error(
    `orgdir needs Node.js ${oldestNode} or later, and this is ${process.version}; install it, or add it to this folder with "npm install node-${process.platform}-${process.arch}@${oldestNode}" and run npx orgdir (a clone has it: run npm start or npx orgdir)`,
  );
  process.exit(1);
}
// The young generation keeps what it grew to in a start for good (docs/decisions/0003-reads.md). So it keeps its first
// size, until there are so many deliveries that growing pays (src/runtime/heap.ts).
v8.setFlagsFromString('--semi-space-growth-factor=1');
// Next to the installed packages, which belong to its owner. If that is not writable, as in an image, nothing is cached.
const cache = new URL('../../node_modules/.cache/orgdir', import.meta.url);
module.enableCompileCache(fileURLToPath(cache));
const { run } = await import('../src/commands/program.ts');
await run(process.argv.slice(2), parent);
