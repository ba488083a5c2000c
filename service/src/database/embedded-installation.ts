/** Describes an embedded database: its folder, its system user and its programs. `embedded.ts` uses it. */
import { chmod, lstat, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StartError } from '../errors.ts';
import {
  chooseSystemUser,
  locatePrograms,
  requireReachable,
  type Programs,
  type SystemUser,
} from './embedded-programs.ts';
import { readOrCreateSecret } from './secret-file.ts';
import { removeUnfinished } from './unfinished.ts';

export type Installation = {
  dataDir: string;
  clusterDir: string;
  programs: Programs;
  user: SystemUser;
  password: string;
  settings: string[];
};

/** Creates the folders and programs that the database needs. */
export async function prepareInstallation(
  dataDir: string,
  settings: string[],
): Promise<Installation> {
  const clusterDir = join(dataDir, 'postgres');
  return withDataDirErrors(dataDir, async () => {
    const user = await prepareFolder(dataDir, clusterDir);
    await removeUnfinished(dataDir);
    return {
      dataDir,
      clusterDir,
      user,
      programs: await locatePrograms(dataDir, user),
      password: await readOrCreateSecret(join(dataDir, 'database-password')),
      settings,
    };
  });
}

/** Only the operator can fix a folder without write access, so the error is one line without a stack. */
export async function withDataDirErrors<T>(dataDir: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // That of an interrupted start is a number.
    if (typeof code !== 'string') throw error;
    const isFull = code === 'ENOSPC' || code === 'EDQUOT';
    throw new StartError(
      isFull
        ? `DATA_DIR ${dataDir} has no space left (${code}); free some, or choose a folder on another disk`
        : `DATA_DIR ${dataDir} cannot be used (${code}); choose a folder that you may write to, for example DATA_DIR=./data`,
      { cause: error },
    );
  }
}

async function prepareFolder(dataDir: string, clusterDir: string): Promise<SystemUser> {
  await mkdir(dirname(dataDir), { recursive: true });
  await mkdir(dataDir, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const user = await chooseSystemUser(clusterDir);
  if (user) await allowTraversal(dataDir);
  requireReachable(dataDir, user);
  return user;
}

/** The database's user can pass through the folder but not list it. An existing folder keeps its mode. */
async function allowTraversal(dataDir: string): Promise<void> {
  const { mode } = await lstat(dataDir);
  if ((mode & 0o001) === 0) await chmod(dataDir, (mode & 0o7777) | 0o011);
}
