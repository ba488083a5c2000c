/** A DATA_DIR with a migrated database, copied from a template. */
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import {
  prepareInstallation,
  type Installation,
} from '../service/src/database/embedded-installation.ts';
import { runFolder } from './run-folder.ts';

export function templateIn(folder: string): string {
  return join(folder, 'template');
}

/** `mount` is called with the data folder before the files are copied. */
export async function makeDataDir(
  name: string,
  mount?: (path: string) => void,
): Promise<Installation> {
  const template = templateIn(runFolder());
  const dataDir = join(runFolder(), name);
  const clusterDir = join(dataDir, 'postgres');
  mkdirSync(clusterDir, { recursive: true });
  chmodSync(dataDir, 0o711);
  mount?.(clusterDir);
  // Keeps owner and modes: PostgreSQL rejects a folder that others may read.
  execFileSync('cp', ['-a', `${join(template, 'postgres')}/.`, clusterDir]);
  copyFileSync(join(template, 'database-password'), join(dataDir, 'database-password'));
  for (const programs of readdirSync(template).filter((each) => each.startsWith('programs-')))
    symlinkSync(join(template, programs), join(dataDir, programs));
  return prepareInstallation(dataDir, []);
}
