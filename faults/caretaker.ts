/**
 * Cleans up after a run, however it ended: waits for the end of its standard input, which comes when the run
 * ends or is killed, and then ends the processes that it left, unmounts and removes its folder.
 */
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { childrenOf, isRunning, killAll } from './processes.ts';
import { removeFolder } from './remove-folder.ts';
import { notedProcesses } from './run-folder.ts';

const folder = process.argv[2] ?? '';
const killDeadlineMs = 10_000;
const pollMs = 20;

process.stdin.resume();
await once(process.stdin, 'end');
const noted = notedProcesses(folder);
const left = noted.concat(noted.flatMap(childrenOf));
killAll(left);
const deadline = Date.now() + killDeadlineMs;
while (left.some(isRunning) && Date.now() < deadline) await wait(pollMs);
removeFolder(folder);
