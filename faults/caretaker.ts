/**
 * Cleans up after a run, even a killed one: when its standard input closes, it kills the remaining processes, and unmounts
 * and removes the folder.
 */
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { childrenOf, isRunning, killAll } from './processes.ts';
import { removeFolder } from './remove-folder.ts';
import { recordedProcesses } from './run-folder.ts';

const folder = process.argv[2] ?? '';
const killDeadlineMs = 10_000;
const pollMs = 20;

process.stdin.resume();
await once(process.stdin, 'end');
const noted = recordedProcesses(folder);
const left = noted.concat(noted.flatMap(childrenOf));
killAll(left);
const deadline = Date.now() + killDeadlineMs;
while (left.some(isRunning) && Date.now() < deadline) await wait(pollMs);
removeFolder(folder);
