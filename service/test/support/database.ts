/** A database of its own for each test file, cloned from the migrated template. */
import { randomUUID } from 'node:crypto';
import { after } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import {
  openClient,
  openDatabase,
  type ConnectionSettings,
  type Database,
} from '../../src/database/database.ts';
import { observeRows, rowTypesVariable } from './row-types/observe.ts';

export const serverVariable = 'ORGDIR_TEST_SERVER';
export const templateName = 'orgdir_test_template';

const dropTriesMax = 100;
const dropRetryMs = 100;

const rowTypesFolder = process.env[rowTypesVariable];
if (rowTypesFolder) observeRows(rowTypesFolder);

export type TestDatabase = { database: Database; connection: ConnectionSettings };

/** Clones the template. The clone is dropped when the test file ends. */
export async function openTestDatabase(): Promise<TestDatabase> {
  const name = `orgdir_test_${randomUUID().replaceAll('-', '')}`;
  await createDatabase(name, templateName);
  const connection = withName(testServer(), name);
  const database = openDatabase(connection, { applicationName: 'test' });
  after(async () => {
    await database.destroy();
    await dropDatabase(name);
  });
  return { database, connection };
}

/** The server that the run was given. */
export function testServer(): ConnectionSettings {
  const text = process.env[serverVariable];
  if (!text) throw new Error('run the tests with npm test: it starts the database for them');
  return JSON.parse(text) as ConnectionSettings;
}

export function withName(server: ConnectionSettings, database: string): ConnectionSettings {
  if (!server.connectionString) return { ...server, database };
  const url = new URL(server.connectionString);
  url.pathname = `/${database}`;
  return { connectionString: url.href };
}

/** The same as an address, for a process that is given DATABASE_URL. */
export function toUrl(connection: ConnectionSettings): string {
  if (connection.connectionString) return connection.connectionString;
  const { host = '', port, user = '', password, database = '' } = connection;
  const query = new URLSearchParams({ host, user, password: String(password) });
  if (port !== undefined) query.set('port', String(port));
  return `postgres:///${database}?${query.toString()}`;
}

export async function createDatabase(name: string, template: string): Promise<void> {
  // The template must have no other connection at that moment; another file may be cloning it.
  for (let tries = 1; ; tries += 1) {
    try {
      return await onServer(
        // The default writes every page to the write-ahead log too, which takes twice the processor time.
        `create database ${name} template ${template} strategy file_copy${template === 'template0' ? " encoding 'UTF8'" : ''}`,
      );
    } catch (error) {
      if ((error as { code?: string }).code !== '55006' || tries >= 100) throw error;
    }
  }
}

export async function dropDatabase(name: string): Promise<void> {
  // Autovacuum may be at work in it, as a superuser whose sessions are not ours to end; it ends by itself.
  for (let tries = 1; ; tries += 1) {
    try {
      return await onServer(`drop database if exists ${name} with (force)`);
    } catch (error) {
      if ((error as { code?: string }).code !== '42501' || tries >= dropTriesMax) throw error;
      await wait(dropRetryMs);
    }
  }
}

async function onServer(statement: string): Promise<void> {
  const client = openClient(testServer(), { applicationName: 'test', statementTimeoutMs: 0 });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
