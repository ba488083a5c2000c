/** Reads the CPU time that processes have used. Linux only. */
import { readFile } from 'node:fs/promises';

/** Returns user and system time of a process, or null if unknown. */
export async function cpuMs(pid: number): Promise<number | null> {
  const fields = await readStat(pid);
  return fields && toMs(fields.slice(11, 13));
}

/** Returns the time of a process and all its descendants, including those that have ended; 0 if it has ended. */
export async function treeCpuMs(pid: number): Promise<number> {
  const fields = await readStat(pid);
  if (!fields) return 0;
  const each = await Promise.all((await childPids(pid)).map(treeCpuMs));
  return each.reduce((sum, ms) => sum + ms, toMs(fields.slice(11, 15)));
}

export async function childPids(pid: number): Promise<number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return children.split(' ').filter(Boolean).map(Number);
}

export async function parentPid(pid: number): Promise<number> {
  const fields = await readStat(pid);
  return Number(fields?.[1]);
}

/** The fields of `/proc/PID/stat` from the third one, which is the state. */
async function readStat(pid: number): Promise<string[] | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  return text === null ? null : text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** From hundredths of a second. */
function toMs(ticks: string[]): number {
  return ticks.reduce((sum, each) => sum + Number(each) * 10, 0);
}
