/** Rebuilds the portal's pages and the client before tests, if a source is newer than the build. */
import { spawnSync } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Paths are below the workspace. */
const builds = [
  {
    workspace: 'portal',
    result: 'dist/index.html',
    sources: [
      'src',
      'build',
      'index.html',
      'vite.config.ts',
      'package.json',
      '../client/src',
      '../service/src/contract/app-roles.ts',
      '../service/src/contract/delivery-rules.ts',
    ],
  },
  {
    workspace: 'docs',
    result: 'dist',
    sources: [
      'site',
      'guides',
      'reference',
      'package.json',
      ...['command-line', 'internal-api', 'operations', 'publish-from-sql', 'syncs'].map(
        (name) => `${name}.md`,
      ),
      '../openapi.json',
      '../client/README.md',
      '../portal/src/webhooks/snippets',
    ],
  },
  {
    workspace: 'client',
    result: 'download',
    sources: ['src', 'build', 'tsconfig.json', 'package.json', 'README.md'],
  },
];

export async function buildIfStale(): Promise<void> {
  for (const { workspace, result, sources } of builds) {
    const folder = join(root, workspace);
    const built = await stat(join(folder, result)).catch(() => null);
    if (built && built.mtimeMs >= (await newest(folder, sources))) continue;
    const { status } = spawnSync('npm', ['run', '--silent', 'build', '-w', workspace], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    if (status !== 0) throw new Error(`the workspace ${workspace} could not be built`);
  }
}

async function newest(folder: string, sources: string[]): Promise<number> {
  const times = await Promise.all(sources.map((source) => newestBelow(join(folder, source))));
  return Math.max(...times);
}

async function newestBelow(path: string): Promise<number> {
  const found = await stat(path);
  if (!found.isDirectory()) return found.mtimeMs;
  const names = await readdir(path, { recursive: true });
  const times = await Promise.all(
    names.map(async (name) => (await stat(join(path, name))).mtimeMs),
  );
  // The time of the folder itself shows removed files.
  return Math.max(found.mtimeMs, ...times);
}
