/** Prepares a run, its seed and a database template; prints the counts at the end. */
import { randomInt } from 'node:crypto';
import { openDatabase } from '../service/src/database/database.ts';
import { openEmbedded } from '../service/src/database/embedded.ts';
import { migrate } from '../service/src/database/migrate.ts';
import { readCounts, table } from './counts.ts';
import { templateIn } from './data-dir.ts';
import { runFolder } from './run-folder.ts';
import { seedVariable } from './seed.ts';
import { isRunStarted, endRun, startRun } from './start-run.ts';

const seedMax = 2 ** 31;

export async function globalSetup(): Promise<void> {
  process.env[seedVariable] ??= String(randomInt(seedMax));
  console.log(`Random moments: ${seedVariable}=${process.env[seedVariable]}`);
  await startRun('/tmp/orgdir-faults-');
  await makeTemplate(runFolder());
}

/** Called twice if the run is interrupted. */
export async function globalTeardown(): Promise<void> {
  if (!isRunStarted()) return;
  const lines = table(readCounts(runFolder()));
  console.log(
    `\n${lines.join('\n')}\nRandom moments: ${seedVariable}=${process.env[seedVariable]}`,
  );
  await endRun();
}

async function makeTemplate(folder: string): Promise<void> {
  const server = await openEmbedded({ dataDir: templateIn(folder), purpose: 'tool' });
  const database = openDatabase(server.connection, {
    applicationName: 'faults setup',
    statementTimeoutMs: 0,
  });
  await migrate(database);
  await database.destroy();
  await server.close();
}
