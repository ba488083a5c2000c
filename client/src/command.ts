#!/usr/bin/env node
/** The package's `bin`. Nothing of it is exported, or part of the module for browsers. */
import { run } from './command/run.ts';

await run(process.argv.slice(2));
