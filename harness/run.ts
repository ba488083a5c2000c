/**
 * A run has a folder with all its files and the ids of its processes. Its caretaker removes them at the end, even if the run
 * is killed.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { mountsIn, startedAt } from './processes.ts';

/** The processes of tests find the folder by it. */
const variable = 'ORGDIR_RUN';
let caretaker: ChildProcess | undefined;

export function startRun(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `orgdir-${name}-`));
  // As root, the database runs as another user, who must be able to pass through.
  chmodSync(folder, 0o755);
  process.env[variable] = folder;
  caretaker = spawn(process.execPath, [join(import.meta.dirname, 'caretaker.ts'), folder], {
    stdio: ['pipe', 'inherit', 'inherit'],
    // Ctrl-C on the terminal must not end the caretaker.
    detached: true,
  });
  return folder;
}

/** Resolves when nothing of the run is left. May be called twice. */
export async function endRun(): Promise<void> {
  const leaving = caretaker;
  caretaker = undefined;
  if (!leaving) return;
  const ended = once(leaving, 'exit');
  leaving.stdin?.end();
  await ended;
}

export function isRunStarted(): boolean {
  return caretaker !== undefined;
}

export function runFolder(): string {
  const folder = process.env[variable];
  if (!folder) throw new Error('npm run test:faults or test:scale prepares what this needs');
  return folder;
}

/** A new folder in that of the run, which every user can enter. */
export function makeFolder(name: string): string {
  const folder = mkdtempSync(join(runFolder(), `${name}-`));
  chmodSync(folder, 0o755);
  return folder;
}

/** The caretaker kills the processes listed here. */
export function recordProcess(pid: number): void {
  appendFileSync(notesIn(runFolder()), `${pid} ${startedAt(pid)}\n`);
}

/** The listed processes that still run. */
export function recordedProcesses(folder: string): number[] {
  const file = notesIn(folder);
  const notes = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return [...notes.matchAll(/^(\d+) (\d+)$/gm)]
    .filter(([, pid, time]) => startedAt(Number(pid)) === time)
    .map(([, pid]) => Number(pid));
}

/** Unmounts everything in a folder and removes it. */
export function removeFolder(folder: string): void {
  // Lazily: a process that is just ending may still hold a file there.
  for (const mount of mountsIn(folder)) spawnSync('umount', ['--lazy', mount]);
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
}

/** Ends what a test starts, in reverse order. */
export function cleanUpsOf(t: TestContext): AsyncDisposableStack {
  // The caretaker ends the process of a test file whose run was killed.
  recordProcess(process.pid);
  const cleanUps = new AsyncDisposableStack();
  t.after(() => cleanUps.disposeAsync());
  return cleanUps;
}

function notesIn(folder: string): string {
  return join(folder, 'processes');
}
