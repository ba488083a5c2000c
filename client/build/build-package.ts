/**
 * Makes what is published: JavaScript and its types in a folder with a package.json of its own. In this repository the
 * workspace is imported as it is, so nobody has to build (docs/decisions/0031-releases-and-upgrades.md).
 */
import { execFile } from 'node:child_process';
import { chmod, copyFile, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { bundle } from './bundle.ts';
import { bundleTypes } from './bundle-types.ts';

const run = promisify(execFile);
const client = fileURLToPath(new URL('..', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url));

/** Writes the package into `folder`, which is emptied before. Rejects with the output of tsc if the source has errors. */
export async function buildPackage(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  // The library last: its files are compiled as for browsers, and have types.
  await compile('tsconfig.command.json', folder);
  await compile('tsconfig.json', folder);
  await writeFile(join(folder, 'index.cjs'), await bundle(folder, 'cjs'));
  const types = await bundleTypes(folder);
  for (const name of await readdir(folder))
    if (name.endsWith('.d.ts')) await rm(join(folder, name));
  // TypeScript takes a file for an ES module or for CommonJS by its name.
  for (const name of ['index.d.ts', 'index.d.cts']) await writeFile(join(folder, name), types);
  await writeFile(join(folder, 'package.json'), await renderManifest());
  await copyFile(join(client, 'README.md'), join(folder, 'README.md'));
  await copyFile(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  // The same tarball whatever the umask.
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) await chmod(join(entry.parentPath, entry.name), 0o644);
}

async function compile(project: string, folder: string): Promise<void> {
  const tsc = join(root, 'node_modules/.bin/tsc');
  const args = [tsc, '--project', join(client, project), '--outDir', folder];
  await run(process.execPath, args).catch(({ stdout }: { stdout?: string }) => {
    throw new Error(`tsc: ${stdout}`);
  });
}

async function renderManifest(): Promise<string> {
  const manifest = JSON.parse(await readFile(join(client, 'package.json'), 'utf8'));
  const { name, version, description, license, repository, type, sideEffects, engines } = manifest;
  const exports = {
    '.': {
      import: { types: './index.d.ts', default: './index.js' },
      // A Node.js that can `require` ES modules takes the same one as for `import`, so that there is one `ApiError`.
      'module-sync': './index.js',
      require: { types: './index.d.cts', default: './index.cjs' },
    },
  };
  // The command is not among the exports, which work in browsers too.
  const bin = { 'orgdir-client': './command.js' };
  const published = {
    name,
    version,
    description,
    license,
    repository,
    type,
    sideEffects,
    exports,
    // For tools that do not read `exports`, such as TypeScript 5 with `module: commonjs`.
    main: './index.cjs',
    types: './index.d.cts',
    bin,
    engines,
  };
  return `${JSON.stringify(published, null, 2)}\n`;
}
