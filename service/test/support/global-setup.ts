/**
 * One PostgreSQL for a test run: DATABASE_URL where it is set (its user must be allowed to create databases),
 * else an embedded server, in memory if there is room. Each test file clones the migrated template.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
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
import { databasesPlace, folderVariable } from './run-folder.ts';

let end: (() => Promise<void>) | undefined;

export async function globalSetup(): Promise<void> {
  await buildIfStale();
  // Before the server, which would outlive an exit.
  const scope = process.env['ROW_TYPES'];
  const endRowTypes = scope && (await startRowTypes(scope));
  const folder = await mkdtemp(join(databasesPlace(), 'orgdir-test-'));
  // As root, a database belongs to another user, who has to reach it.
  await chmod(folder, 0o711);
  process.env[folderVariable] = folder;
  const server = await openServer(join(folder, 'server'));
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
    await rm(folder, { recursive: true, force: true });
  };
}

export async function globalTeardown(): Promise<void> {
  await end?.();
}

async function openServer(dataDir: string): Promise<{
  connection: ConnectionSettings;
  close: () => Promise<void>;
}> {
  const url = process.env['DATABASE_URL'];
  if (url) return { connection: { connectionString: url }, close: async () => {} };
  // Test data need not survive a power cut.
  const settings = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'];
  return openEmbedded({ dataDir, purpose: 'tool', settings });
}
