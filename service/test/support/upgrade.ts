/** A database as an earlier version left it. */
import { createHash, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { after } from 'node:test';
import { openDatabase, sql } from '../../src/database/database.ts';
import { ensurePartitions, listMigrations } from '../../src/database/migrate.ts';
import {
  createDatabase,
  dropDatabase,
  testServer,
  withName,
  type TestDatabase,
} from './database.ts';

/** `lastBefore`: the last migration that it has. */
export async function openBeforeUpgrade(lastBefore: string): Promise<TestDatabase> {
  const name = `orgdir_test_${randomUUID().replaceAll('-', '')}`;
  await createDatabase(name, 'template0');
  const connection = withName(testServer(), name);
  const database = openDatabase(connection, { applicationName: 'test', statementTimeoutMs: 0 });
  after(async () => {
    await database.destroy();
    await dropDatabase(name);
  });
  await sql`create schema orgdir`.execute(database);
  await sql`
    create table orgdir.migrations (
      name text primary key, checksum text not null, applied_at timestamptz(3) not null default now()
    )
  `.execute(database);
  for (const file of await listMigrations()) {
    if (file > lastBefore) break;
    const text = await readMigrationText(file);
    const checksum = createHash('sha256').update(text).digest('hex');
    await sql.raw(text).execute(database);
    await sql`insert into migrations (name, checksum) values (${file}, ${checksum})`.execute(
      database,
    );
  }
  await ensurePartitions(database);
  return { database, connection };
}

export function readMigrationText(name: string): Promise<string> {
  return readFile(new URL(`../../migrations/${name}`, import.meta.url), 'utf8');
}
