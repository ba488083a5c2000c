/** Reads from /proc whether processes run, and their children. */
import { readFileSync } from 'node:fs';

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
