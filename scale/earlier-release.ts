/** The release before this version, installed from its tarball. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * A revision in git; each release sets it to the tag of the one before (docs/releasing.md). Until 1.0.0 has its tag, it is the
 * commit of the baseline, whose message ends with this line. From the parent on, because that commit has no release before it.
 */
const revision = 'HEAD~1^{/Baseline: 1[.]0[.]0}';
const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Returns the folder of SCALE_EARLIER_RELEASE, or makes the release and keeps it, which takes two minutes the first time.
 * Returns null if this clone does not have the commit.
 */
export function installEarlierRelease(): string | null {
  const given = process.env['SCALE_EARLIER_RELEASE'];
  if (given) return given;
  const commit = findCommit();
  if (commit === null) return null;
  const cached = join(root, 'node_modules/.cache', `release-${commit}`);
  if (existsSync(cached)) return cached;
  const work = mkdtempSync(join(tmpdir(), 'orgdir-earlier-'));
  try {
    install(commit, work, cached);
    return cached;
  } finally {
    rmSync(work, { recursive: true });
  }
}

function findCommit(): string | null {
  const words = ['rev-parse', '--verify', '--quiet', revision];
  const { status, stdout } = spawnSync('git', words, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : null;
}

function install(commit: string, work: string, cached: string): void {
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
}

function run(cwd: string, command: string, ...args: string[]): void {
  execFileSync(command, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
}
