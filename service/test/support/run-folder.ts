/** The folder of a test run, which its end removes. */
import { existsSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

export const folderVariable = 'ORGDIR_TEST_FOLDER';

/** Of the databases that exist at once, some 250 MB, and the write-ahead log, which may grow to 1 GiB. */
const dataBytesMax = 2 * 1024 ** 3;

export function runFolder(): string {
  const folder = process.env[folderVariable];
  if (!folder) throw new Error('run the tests with npm test: it makes a folder for them');
  return folder;
}

/** For databases: Linux's file system in memory, if it has room for all of a run. Writing them to a disk takes a tenth of the run. */
export function databasesPlace(): string {
  const memory = '/dev/shm';
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize >= dataBytesMax ? memory : tmpdir();
}
