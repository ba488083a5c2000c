#!/usr/bin/env node
/** The command `orgdir`. It checks Node before anything that needs it is loaded; `commands/program.ts` has the commands. */
const oldestNode = 24;
if (Number(process.versions.node.split('.')[0]) < oldestNode) {
  console.error(
    `orgdir needs Node.js ${oldestNode} or later, and this is ${process.version}; run it through npm (npm start, npx orgdir), which brings its own`,
  );
  process.exit(1);
}
const { run } = await import('./commands/program.ts');
await run(process.argv.slice(2));
