/** Starts a run of scenarios with its folder and caretaker, and ends it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { runVariable } from './run-folder.ts';

let caretaker: ChildProcess | undefined;

export async function startRun(prefix: string): Promise<void> {
  if (process.platform !== 'linux') throw new Error('the scenarios need Linux: they read /proc');
  const folder = await mkdtemp(prefix);
  await chmod(folder, 0o755);
  process.env[runVariable] = folder;
  caretaker = spawn(process.execPath, [join(import.meta.dirname, 'caretaker.ts'), folder], {
    stdio: ['pipe', 'inherit', 'inherit'],
    // Ctrl-C on the terminal must not end the caretaker.
    detached: true,
  });
}

export function isRunStarted(): boolean {
  return caretaker !== undefined;
}

/** Resolves when nothing of the run is left. */
export async function endRun(): Promise<void> {
  const leaving = caretaker;
  caretaker = undefined;
  if (!leaving) return;
  const ended = once(leaving, 'exit');
  leaving.stdin?.end();
  await ended;
}
