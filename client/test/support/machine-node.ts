import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Outside of this repository's packages, and of another version than the one that runs this. */
export function findMachineNode(): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter).concat('/usr/bin', '/usr/local/bin');
  for (const folder of folders) {
    const node = join(folder, 'node');
    if (folder.includes('node_modules') || !existsSync(node)) continue;
    const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
    const major = Number(/^v(\d+)/.exec(version)?.[1]);
    if (major >= 20 && version !== process.version) return node;
  }
  return null;
}
