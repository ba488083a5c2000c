/**
 * Writes the files that the service serves below /client: the package as a tarball for npm, and one ES module for browsers
 * and Deno with its types. The same source gives the same bytes.
 */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bundle } from './bundle.ts';

const run = promisify(execFile);

/** `packageFolder` is what `buildPackage` wrote. `folder` is emptied first. */
export async function writeDownloads(packageFolder: string, folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  // npm gives every file in the tarball the same time and no owner.
  await run('npm', ['pack', packageFolder, '--pack-destination', folder]);
  const { version } = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8'));
  const name = `orgdir-client-${version}`;
  // Deno takes the types from the file that this comment names, next to the module.
  const types = `/* @ts-self-types="./${name}.d.ts" */\n`;
  await writeFile(join(folder, `${name}.js`), types + (await bundle(packageFolder, 'es')));
  await copyFile(join(packageFolder, 'index.d.ts'), join(folder, `${name}.d.ts`));
}
