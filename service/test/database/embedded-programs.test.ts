import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { linkLibraries } from '../../src/database/embedded-installation.ts';

const folder = await mkdtemp(join(tmpdir(), 'orgdir-programs-'));
after(() => rm(folder, { recursive: true }));

test('libraries are linked if npm did not run the install script', async () => {
  await mkdir(join(folder, 'lib'));
  await writeFile(join(folder, 'lib/libpq.so.5.18'), 'library');
  const links = ['libpq.so', 'libpq.so.5'].map((name) => ({
    source: 'native/lib/libpq.so.5.18',
    target: `native/lib/${name}`,
  }));
  await writeFile(join(folder, 'pg-symlinks.json'), JSON.stringify(links));
  // Two processes may start at once.
  assert.deepEqual(await Promise.all([linkLibraries(folder), linkLibraries(folder)]), [true, true]);
  assert.deepEqual((await readdir(join(folder, 'lib'))).sort(), [
    'libpq.so',
    'libpq.so.5',
    'libpq.so.5.18',
  ]);
  assert.equal(await readFile(join(folder, 'lib/libpq.so'), 'utf8'), 'library');
});

test('a folder that is not writable is reported', async () => {
  const file = join(folder, 'pg-symlinks.json');
  const link = { source: 'native/missing/a.so.1', target: 'native/missing/a.so' };
  await writeFile(file, JSON.stringify([link]));
  assert.equal(await linkLibraries(folder), false);
});
