/**
 * Writes the files that the service serves below /client: the package as a tarball for npm, and one ES module for browsers
 * and Deno. The same source gives the same bytes.
 */
import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build, type Rolldown } from 'vite';

const run = promisify(execFile);

/** `packageFolder` is what `buildPackage` wrote. `folder` is emptied first. */
export async function writeDownloads(packageFolder: string, folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  // npm gives every file in the tarball the same time and no owner.
  await run('npm', ['pack', packageFolder, '--pack-destination', folder]);
  const { version } = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8'));
  await writeFile(join(folder, `orgdir-client-${version}.js`), await bundle(packageFolder));
}

async function bundle(packageFolder: string): Promise<string> {
  const result = await build({
    configFile: false,
    root: packageFolder,
    logLevel: 'warn',
    build: {
      write: false,
      target: 'es2022',
      minify: false,
      lib: { entry: 'index.js', formats: ['es'] },
      // Comments name files relative to this folder, wherever npm runs.
      rolldownOptions: { cwd: packageFolder },
    },
  });
  const [{ output }] = result as Rolldown.RolldownOutput[] as [Rolldown.RolldownOutput];
  const [chunk, ...more] = output;
  if (more.length > 0) throw new Error('the client is more than one module');
  return chunk.code;
}
