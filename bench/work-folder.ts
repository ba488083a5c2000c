/** Where a bench has its data and its database: a temporary folder, which is taken away again. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openConfiguredDatabase } from '../service/src/open-database.ts';
import { isReached, printFigures, type Figure } from './figure.ts';

export async function makeWorkFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'orgdir-bench-'));
  // As root the database runs as another user, who must be able to pass.
  await chmod(folder, 0o711);
  return folder;
}

/** Prints what is measured, and takes the folder away. The process will end with 1 where a figure is missed. */
export async function runIn(folder: string, measure: () => Promise<Figure[]>): Promise<void> {
  try {
    const figures = await measure();
    printFigures(figures);
    if (!figures.every(isReached)) process.exitCode = 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The embedded database below a `DATA_DIR`, for the bench itself; the service that it starts finds it running. */
export function openWorkDatabase(dataDir: string) {
  return openConfiguredDatabase(
    { databaseUrl: null, dataDir },
    { purpose: 'tool', applicationName: 'orgdir bench' },
  );
}
