/** Names files that are renamed when complete, and removes those that killed starts left behind. */
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Longer than a first start can take on any machine. */
const unfinishedMaxAgeMs = 600_000;
/** In a container a process may get the id of an earlier one, so the names of this process are remembered. */
const created = new Set<string>();
let createdCount = 0;

/** A temporary name next to `finished`, for a file or folder that is renamed when it is complete. */
export function unfinishedName(finished: string): string {
  createdCount += 1;
  const name = `${finished}.${process.pid}.${createdCount}.unfinished`;
  created.add(name);
  return name;
}

/** Removes files that killed starts left behind. A failed removal is ignored: the next start tries again. */
export async function removeUnfinished(dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    const pid = /\.(\d+)\.[0-9a-f]+\.unfinished$/.exec(name)?.[1];
    const path = join(dataDir, name);
    if (pid === undefined || created.has(path) || !(await isAbandoned(path, Number(pid)))) continue;
    await rm(path, { recursive: true, force: true, maxRetries: 5 }).catch(() => {});
  }
}

async function isAbandoned(path: string, pid: number): Promise<boolean> {
  if (pid === process.pid || !isAlive(pid)) return true;
  const found = await lstat(path).catch(() => null);
  return found !== null && Date.now() - found.mtimeMs > unfinishedMaxAgeMs;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

export async function exists(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => null)) !== null;
}
