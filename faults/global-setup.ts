/** Prepares the seed, a folder, the caretaker and a database template; prints the counts at the end. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { openDatabase } from '../service/src/database/database.ts';
import { openEmbedded } from '../service/src/database/embedded.ts';
import { migrate } from '../service/src/database/migrate.ts';
import { readCounts, table } from './counts.ts';
import { templateIn } from './data-dir.ts';
import { runVariable } from './run-folder.ts';
import { seedVariable } from './seed.ts';

const seedMax = 2 ** 31;
let folder = '';
let caretaker: ChildProcess | undefined;

export async function globalSetup(): Promise<void> {
  if (process.platform !== 'linux') throw new Error('the scenarios need Linux: they read /proc');
  process.env[seedVariable] ??= String(randomInt(seedMax));
  console.log(`Random moments: ${seedVariable}=${process.env[seedVariable]}`);
  folder = await mkdtemp('/tmp/orgdir-faults-');
  await chmod(folder, 0o755);
  process.env[runVariable] = folder;
  caretaker = spawn(process.execPath, [join(import.meta.dirname, 'caretaker.ts'), folder], {
    stdio: ['pipe', 'inherit', 'inherit'],
    // Ctrl-C on the terminal must not end the caretaker.
    detached: true,
  });
  await makeTemplate();
}

/** Called twice if the run is interrupted. */
export async function globalTeardown(): Promise<void> {
  const leaving = caretaker;
  caretaker = undefined;
  if (!leaving) return;
  const lines = table(readCounts(folder));
  console.log(
    `\n${lines.join('\n')}\nRandom moments: ${seedVariable}=${process.env[seedVariable]}`,
  );
  const ended = once(leaving, 'exit');
  leaving.stdin?.end();
  await ended;
}

async function makeTemplate(): Promise<void> {
  const server = await openEmbedded({ dataDir: templateIn(folder), purpose: 'tool' });
  const database = openDatabase(server.connection, {
    applicationName: 'faults setup',
    statementTimeoutMs: 0,
  });
  await migrate(database);
  await database.destroy();
  await server.close();
}
