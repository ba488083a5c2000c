#!/usr/bin/env -S node --max-semi-space-size=4
/**
 * The command `orgdir`. It checks Node before anything that needs it is loaded; `commands/program.ts` has the commands.
 * The young generation is kept small: what a start leaves there stays in memory for good (docs/decisions/0003-reads.md).
 */
const oldestNode = 24;
if (Number(process.versions.node.split('.')[0]) < oldestNode) {
  console.error(
    `orgdir needs Node.js ${oldestNode} or later, and this is ${process.version}; run it through npm (npm start, npx orgdir), which brings its own`,
  );
  process.exit(1);
}
const { run } = await import('./commands/program.ts');
await run(process.argv.slice(2));
