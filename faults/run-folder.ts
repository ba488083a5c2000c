/** The folder of a run of all scenarios. It has all their files and the ids of their processes. */
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startedAt } from './processes.ts';

export const runVariable = 'ORGDIR_FAULTS_RUN';

/** Node's compile cache, which halves the start of a worker. */
export function compileCache(): string {
  return join(runFolder(), 'compile-cache');
}

export function runFolder(): string {
  const folder = process.env[runVariable];
  if (!folder) throw new Error('run the scenarios with npm run test:faults: it prepares them');
  return folder;
}

/** The caretaker kills the processes listed here, even if this process is killed. */
export function recordProcess(pid: number): void {
  appendFileSync(notesIn(runFolder()), `${pid} ${startedAt(pid)}\n`);
}

/** The listed processes that still run. */
export function recordedProcesses(folder: string): number[] {
  let text = '';
  try {
    text = readFileSync(notesIn(folder), 'utf8');
  } catch {
    // Nothing was started.
  }
  const notes = text.split('\n').map((line) => line.split(' '));
  return notes
    .filter(([pid, time]) => pid !== '' && startedAt(Number(pid)) === time)
    .map(([pid]) => Number(pid));
}

function notesIn(folder: string): string {
  return join(folder, 'processes');
}
