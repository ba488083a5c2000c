/** A temporary folder for the data and the database of a benchmark. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openConfiguredDatabase } from '../service/src/start/open-database.ts';
import { isReached, printFigures, type Figure } from '../harness/figures.ts';

export async function makeWorkFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'orgdir-bench-'));
  // As root, the database runs as another user, who must be able to pass through.
  await chmod(folder, 0o711);
  return folder;
}

/** Prints the results and deletes the folder. The process exits with 1 if a target is missed. */
export async function runIn(folder: string, measure: () => Promise<Figure[]>): Promise<void> {
  try {
    const figures = await measure();
    printFigures(figures);
    if (!figures.every(isReached)) process.exitCode = 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Opens a database, or the embedded one of a `DATA_DIR`, for the benchmark; the service that it starts uses it too. */
export function openWorkDatabase(dataDir: string, databaseUrl: string | null = null) {
  return openConfiguredDatabase(
    { databaseUrl, dataDir },
    { purpose: 'tool', applicationName: 'orgdir bench' },
  );
}
