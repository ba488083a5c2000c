/**
 * Makes the files of a release in dist/: npm run release. The same commit gives the same bytes. Why it is made this way:
 * docs/decisions/0031-releases-and-upgrades.md.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readCommit, version } from '../service/src/runtime/version.ts';
import { extractChanges } from './extract-changes.ts';
import { stagePackage } from './stage-package.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');
const name = `orgdir-${version}`;

const commit = readCommit();
if (commit === 'unknown')
  throw new Error('a release is made in a git clone, because it names its commit');
if (commit.endsWith('-dirty'))
  console.warn('This is no release: the clone has changes that are not committed.');

run(
  'npm',
  [
    'run',
    '--silent',
    'build',
    '--workspace=@orgdir/portal',
    '--workspace=@orgdir/docs',
    '--workspace=@orgdir/client',
  ],
  root,
);
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
const temporary = mkdtempSync(join(tmpdir(), 'orgdir-release-'));
// The bill of materials has the folder's name.
const stage = join(temporary, 'orgdir');
mkdirSync(stage);
try {
  stagePackage({ root, stage, version, commit });
  run('npm', ['pack', '--silent', '--pack-destination', dist], stage);
  write(`${name}.cdx.json`, describeComponents());
} finally {
  rmSync(temporary, { recursive: true });
}
cpSync(join(root, 'client/download'), dist, { recursive: true });
write(
  `${name}.changes.md`,
  extractChanges(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version),
);
write('SHA256SUMS', readdirSync(dist).sort().map(checksum).join(''));
for (const file of readdirSync(dist).sort())
  console.log(`dist/${file} ${statSync(join(dist, file)).size} bytes`);

/** A bill of materials in the format of CycloneDX, without its random number, and with the commit's time. */
function describeComponents(): string {
  const { serialNumber: _, ...bom } = JSON.parse(
    run(
      'npm',
      ['sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application'],
      stage,
    ),
  );
  const seconds = Number(run('git', ['log', '-1', '--format=%ct'], root));
  bom.metadata.timestamp = new Date(seconds * 1000).toISOString();
  return `${JSON.stringify(bom, null, 2)}\n`;
}

function checksum(file: string): string {
  const hash = createHash('sha256').update(readFileSync(join(dist, file)));
  return `${hash.digest('hex')}  ${file}\n`;
}

function write(file: string, text: string): void {
  writeFileSync(join(dist, file), text);
}

function run(command: string, args: string[], cwd: string): string {
  return execFileSync(command, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 64 * 1024 * 1024,
  });
}
