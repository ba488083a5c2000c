/** Rebuilds the pages before browser tests if a source is newer than the build. */
import { spawnSync } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const portal = fileURLToPath(new URL('..', import.meta.url));
const sources = [
  'src',
  'build',
  'index.html',
  'vite.config.ts',
  'package.json',
  '../client/src',
  '../service/src/contract/app-roles.ts',
  '../service/src/contract/delivery-rules.ts',
];

export async function buildIfStale(): Promise<void> {
  const built = await stat(join(portal, 'dist/index.html')).catch(() => null);
  if (built && built.mtimeMs >= (await newest())) return;
  const { status } = spawnSync('vite', ['build', '--logLevel=warn'], {
    cwd: portal,
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error('the pages of the portal could not be built');
}

async function newest(): Promise<number> {
  const times = await Promise.all(sources.map((source) => newestBelow(join(portal, source))));
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
