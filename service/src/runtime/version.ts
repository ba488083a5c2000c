/** The version of this installation, and the commit that it was made from. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/** The clone, or the folder of an installed release. */
const root = new URL('../../../', import.meta.url);

type Manifest = { version: string; gitHead?: string };
const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as Manifest;

export const version = manifest.version;

/** `npm run release` writes the commit into package.json; a clone asks git. */
export function readCommit(): string {
  return manifest.gitHead ?? askGit() ?? 'unknown';
}

function askGit(): string | null {
  // Without this, git would look for a repository in parent folders.
  if (!existsSync(new URL('.git', root))) return null;
  try {
    const words = ['describe', '--always', '--exclude=*', '--abbrev=40', '--dirty'];
    return execFileSync('git', words, {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return null;
  }
}
