/** Reads the memory that a process has resident, in MiB. Null if unknown, as anywhere but on Linux. */
import { readFile } from 'node:fs/promises';

export async function residentMib(pid: number): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  return kib === undefined ? null : Number(kib) / 1024;
}
