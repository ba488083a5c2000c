/** Processes as Linux shows them: whether one still runs, and what it has started. */
import { readFileSync } from 'node:fs';

/** A process that has ended and waits for its parent to notice runs no more. */
export function isRunning(pid: number): boolean {
  const found = readStat(pid);
  return found !== null && found.state !== 'Z';
}

/** Tells a process from a later one with the same number; null where none runs. */
export function startedAt(pid: number): string | null {
  return readStat(pid)?.startedAt ?? null;
}

export function childrenOf(pid: number): number[] {
  const text = readOr(`/proc/${pid}/task/${pid}/children`, '');
  return text.split(' ').filter(Boolean).map(Number);
}

/** Ends processes as a power cut does. Those that are gone already are none the worse. */
export function killAll(pids: number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }
}

function readStat(pid: number): { state: string; startedAt: string } | null {
  const text = readOr(`/proc/${pid}/stat`, '');
  // The name in brackets may hold anything; what follows it are plain fields, from the third on.
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
