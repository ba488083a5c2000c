import { access, constants, lstat, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Config } from '../settings/config.ts';
import { failed, ok, skipped, warning, type Finding } from './finding.ts';

/** A first start takes some 100 MB, plus 60 MB for the programs if it runs as root; crash recovery needs space, too. */
const spaceFailedBytes = 200 * 1024 * 1024;
const spaceWarningBytes = 1024 * 1024 * 1024;
const secretFiles = ['secret-key', 'database-password'];

/** Checks the folder of the embedded database, which is not used with a DATABASE_URL. */
export async function checkDataDir(
  { dataDir, databaseUrl }: Pick<Config, 'dataDir' | 'databaseUrl'>,
  faulty: ReadonlySet<string>,
): Promise<Finding[]> {
  if (faulty.has('DATA_DIR') || faulty.has('DATABASE_URL'))
    return [skipped('data_dir', 'not checked: the configuration is invalid')];
  if (databaseUrl !== null) return [skipped('data_dir', 'not used: DATABASE_URL is set')];
  const folder = await checkFolder(dataDir);
  if (folder.status === 'failed')
    return [folder, skipped('disk_space', 'not checked: the folder cannot be used')];
  return [folder, await checkSpace(dataDir), ...(await checkModes(dataDir))];
}

async function checkFolder(dataDir: string): Promise<Finding> {
  const found = await stat(dataDir).catch(() => null);
  if (!found) return checkCreation(dataDir);
  if (!found.isDirectory())
    return failed('data_dir', `${dataDir} is not a folder`, 'choose another DATA_DIR');
  if (await isWritable(dataDir)) return ok('data_dir', dataDir);
  return failed(
    'data_dir',
    `this user cannot write to ${dataDir}`,
    'run as the user who first started the service, or choose another DATA_DIR',
  );
}

/** Whether the first start can create the folder. */
async function checkCreation(dataDir: string): Promise<Finding> {
  const parent = await existing(dataDir);
  const fault = await whyNothingCanBeCreated(parent);
  if (fault === null)
    return ok('data_dir', `${dataDir} does not exist yet; the first start creates it`);
  return failed(
    'data_dir',
    `${dataDir} does not exist and cannot be created: ${fault}`,
    'create it for this user, or choose another DATA_DIR',
  );
}

async function whyNothingCanBeCreated(parent: string): Promise<string | null> {
  if (!(await stat(parent)).isDirectory()) return `${parent} is not a folder`;
  if (!(await isWritable(parent))) return `this user cannot write to ${parent}`;
  // Such as /proc, where root may write and still can create nothing.
  if ((await statfs(parent)).blocks === 0) return `${parent} does not store files`;
  return null;
}

function isWritable(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function checkSpace(dataDir: string): Promise<Finding> {
  const place = await existing(dataDir);
  const { bavail, bsize } = await statfs(place);
  return checkFreeSpace(bavail * bsize, place);
}

export function checkFreeSpace(freeBytes: number, place: string): Finding {
  const message = `${(freeBytes / 1024 ** 3).toFixed(1)} GiB free at ${place}`;
  const advice = 'free some disk space: the database stops when the disk is full';
  if (freeBytes < spaceFailedBytes) return failed('disk_space', message, advice);
  if (freeBytes < spaceWarningBytes) return warning('disk_space', message, advice);
  return ok('disk_space', message);
}

/** The folder, or its nearest existing parent. */
async function existing(folder: string): Promise<string> {
  const found = await stat(folder).catch(() => null);
  const above = dirname(folder);
  return found || above === folder ? folder : existing(above);
}

async function checkModes(dataDir: string): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const name of secretFiles) {
    const file = join(dataDir, name);
    const found = await lstat(file).catch(() => null);
    if (!found) continue;
    const mode = (found.mode & 0o777).toString(8).padStart(4, '0');
    findings.push(
      (found.mode & 0o077) === 0
        ? ok('file_modes', `${file} has mode ${mode}`)
        : warning(
            'file_modes',
            `${file} has mode ${mode}: others can read it`,
            `chmod 600 ${file}`,
          ),
    );
  }
  return findings;
}
