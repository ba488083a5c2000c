/** Unmounts everything in a folder and removes it. */
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';

export function removeFolder(folder: string): void {
  // Lazily: a process that is just ending may still hold a file there.
  for (const mount of mountsIn(folder)) spawnSync('umount', ['--lazy', mount]);
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
}

function mountsIn(folder: string): string[] {
  const lines = readFileSync('/proc/mounts', 'utf8').split('\n');
  return lines
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => path.startsWith(`${folder}/`));
}
