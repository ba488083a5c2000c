/** Reads from /proc which processes run, and freezes and kills them. */
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

const endDeadlineMs = 15_000;
const pollMs = 10;

/** A zombie does not count as running. */
function isRunning(pid: number): boolean {
  const [state = 'Z'] = readStat(pid);
  return state !== 'Z';
}

/** The start time, which distinguishes a process from a later one with the same id; undefined if none runs. */
export function startedAt(pid: number): string | undefined {
  return readStat(pid)[19];
}

export function childrenOf(pid: number): number[] {
  const text = readText(`/proc/${pid}/task/${pid}/children`);
  return text.split(' ').filter(Boolean).map(Number);
}

/** Everything that is mounted below a folder. */
export function mountsIn(folder: string): string[] {
  const lines = readText('/proc/mounts').split('\n');
  return lines
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => path.startsWith(`${folder}/`));
}

/** Kills processes with SIGKILL. */
export function killAll(pids: number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has already ended.
    }
  }
}

/** Resolves when none of them runs. */
export async function gone(pids: number[]): Promise<void> {
  const deadline = Date.now() + endDeadlineMs;
  while (pids.some(isRunning)) {
    if (Date.now() > deadline) throw new Error('a process does not end');
    await wait(pollMs);
  }
}

/** Stops a process and all its children at once, so that it starts none meanwhile. Returns their ids. */
export function freezeTree(pid: number): number[] {
  process.kill(pid, 'SIGSTOP');
  const pids = [pid, ...childrenOf(pid)];
  for (const each of pids) process.kill(each, 'SIGSTOP');
  return pids;
}

export async function killTree(pid: number): Promise<void> {
  const pids = freezeTree(pid);
  killAll(pids);
  await gone(pids);
}

/** The fields of `/proc/PID/stat` from the third one, which is the state. */
function readStat(pid: number): string[] {
  const text = readText(`/proc/${pid}/stat`);
  // The name in brackets may contain anything; the fields after it are plain.
  return text === '' ? [] : text.slice(text.lastIndexOf(')') + 2).split(' ');
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
