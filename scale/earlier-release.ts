/** The release before this version, installed from its tarball. */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Each release sets it to the commit of the one before (docs/releasing.md). */
const commit = '3c7cb52b55b2cc69af6f44bee47cdae59c662c65';
const root = fileURLToPath(new URL('..', import.meta.url));
const cached = join(root, 'node_modules/.cache', `release-${commit}`);

/**
 * Returns the folder of SCALE_EARLIER_RELEASE, or makes the release and keeps it, which takes two minutes the first time.
 * Returns null if this clone does not have the commit.
 */
export function installEarlierRelease(): string | null {
  const given = process.env['SCALE_EARLIER_RELEASE'];
  if (given) return given;
  if (existsSync(cached)) return cached;
  const work = mkdtempSync(join(tmpdir(), 'orgdir-earlier-'));
  try {
    return hasCommit() ? install(work) : null;
  } finally {
    rmSync(work, { recursive: true });
  }
}

function hasCommit(): boolean {
  try {
    execFileSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: root, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function install(work: string): string {
  const [clone, unpacked] = [join(work, 'clone'), join(work, 'unpacked')];
  // A release names its commit, so it needs a clone and not only the files.
  run(root, 'git', 'clone', '--quiet', '--no-checkout', root, clone);
  run(clone, 'git', 'checkout', '--quiet', commit);
  run(clone, 'npm', 'ci', '--no-audit', '--no-fund');
  run(clone, 'npm', 'run', 'release');
  mkdirSync(unpacked);
  const [tarball = ''] = globSync('dist/orgdir-[0-9]*.tgz', { cwd: clone });
  run(clone, 'tar', '-xzf', tarball, '--strip-components=1', '-C', unpacked);
  run(unpacked, 'npm', 'ci', '--omit=dev', '--omit=optional', '--no-audit', '--no-fund');
  mkdirSync(join(root, 'node_modules/.cache'), { recursive: true });
  run(root, 'cp', '-a', unpacked, `${cached}-unfinished`);
  renameSync(`${cached}-unfinished`, cached);
  return cached;
}

function run(cwd: string, command: string, ...args: string[]): void {
  execFileSync(command, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
}
