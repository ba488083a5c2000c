/** Reads the CPU time that processes have used. Linux only. */
import { readFile } from 'node:fs/promises';

/** Returns user and system time of a process, or null if unknown. */
export async function cpuMs(pid: number): Promise<number | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (text === null) return null;
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  // In hundredths of a second.
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
