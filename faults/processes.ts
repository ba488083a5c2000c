/** Reads from /proc whether processes run, and their children; freezes and kills them. */
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

const endDeadlineMs = 15_000;
const pollMs = 10;

/** A zombie does not count as running. */
export function isRunning(pid: number): boolean {
  const found = readStat(pid);
  return found !== null && found.state !== 'Z';
}

/** The start time, which distinguishes a process from a later one with the same id; null if none runs. */
export function startedAt(pid: number): string | null {
  return readStat(pid)?.startedAt ?? null;
}

export function childrenOf(pid: number): number[] {
  const text = readOr(`/proc/${pid}/task/${pid}/children`, '');
  return text.split(' ').filter(Boolean).map(Number);
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

function readStat(pid: number): { state: string; startedAt: string } | null {
  const text = readOr(`/proc/${pid}/stat`, '');
  // The name in brackets may contain anything; the fields after it are plain.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state = ''] = fields;
  return text === '' ? null : { state, startedAt: fields[19] ?? '' };
}

function readOr(file: string, fallback: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return fallback;
  }
}
