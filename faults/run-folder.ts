/** The folder of one run of all scenarios: everything that they make is in it, and whatever they start is noted there. */
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startedAt } from './processes.ts';

export const runVariable = 'ORGDIR_FAULTS_RUN';

/** Where Node keeps what it has compiled: half of a worker's start is otherwise the same work again. */
export function compileCache(): string {
  return join(runFolder(), 'compile-cache');
}

export function runFolder(): string {
  const folder = process.env[runVariable];
  if (!folder) throw new Error('run the scenarios with npm run test:faults: it prepares them');
  return folder;
}

/** Whatever becomes of this process, the caretaker ends what is noted here. */
export function noteProcess(pid: number): void {
  appendFileSync(notesIn(runFolder()), `${pid} ${startedAt(pid)}\n`);
}

/** Of the processes noted, those that still run, and are not others with the same number. */
export function notedProcesses(folder: string): number[] {
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
