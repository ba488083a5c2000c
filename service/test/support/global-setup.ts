/**
 * One PostgreSQL for a test run: DATABASE_URL where it is set (its user must be allowed to create databases),
 * else an embedded server, in memory if there is room. Each test file clones the migrated template.
 */
import { existsSync, statfsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildIfStale } from '../../../test/support/build-if-stale.ts';
import { openDatabase, type ConnectionSettings } from '../../src/database/database.ts';
import { openEmbedded } from '../../src/database/embedded.ts';
import { migrate } from '../../src/database/migrate.ts';
import {
  createDatabase,
  dropDatabase,
  serverVariable,
  templateName,
  withName,
} from './database.ts';
import { startRowTypes } from './row-types/report.ts';

/** Of the databases that exist at once, some 250 MB, and the write-ahead log, which may grow to 1 GiB. */
const dataBytesMax = 2 * 1024 ** 3;

let end: (() => Promise<void>) | undefined;

export async function globalSetup(): Promise<void> {
  await buildIfStale();
  // Before the server, which would outlive an exit.
  const scope = process.env['ROW_TYPES'];
  const endRowTypes = scope && (await startRowTypes(scope));
  const server = await openServer();
  process.env[serverVariable] = JSON.stringify(server.connection);
  await dropDatabase(templateName);
  await createDatabase(templateName, 'template0');
  const database = openDatabase(withName(server.connection, templateName), {
    applicationName: 'test setup',
    statementTimeoutMs: 0,
  });
  await migrate(database);
  await database.destroy();
  end = async () => {
    if (endRowTypes) await endRowTypes();
    await dropDatabase(templateName);
    await server.close();
  };
}

export async function globalTeardown(): Promise<void> {
  await end?.();
}

async function openServer(): Promise<{
  connection: ConnectionSettings;
  close: () => Promise<void>;
}> {
  const url = process.env['DATABASE_URL'];
  if (url) return { connection: { connectionString: url }, close: async () => {} };
  const dataDir = await mkdtemp(join(memoryFolder() ?? tmpdir(), 'orgdir-test-'));
  // Test data need not survive a power cut.
  const settings = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'];
  const server = await openEmbedded({ dataDir, purpose: 'tool', settings });
  return {
    connection: server.connection,
    close: async () => {
      await server.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Linux's file system in memory, if it has room for all databases of a run: writing them to a disk takes a tenth of the run. */
function memoryFolder(): string | null {
  const folder = '/dev/shm';
  if (!existsSync(folder)) return null;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize >= dataBytesMax ? folder : null;
}
