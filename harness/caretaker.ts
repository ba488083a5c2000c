/**
 * Cleans up after a run, even a killed one: when its standard input closes, it kills the remaining processes, and unmounts
 * and removes the folder.
 */
import { once } from 'node:events';
import { childrenOf, gone, killAll } from './processes.ts';
import { recordedProcesses, removeFolder } from './run.ts';

const folder = process.argv[2] ?? '';

process.stdin.resume();
await once(process.stdin, 'end');
const noted = recordedProcesses(folder);
const left = noted.concat(noted.flatMap(childrenOf));
killAll(left);
await gone(left).catch(() => {});
removeFolder(folder);
