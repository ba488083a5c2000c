import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { migrate } from '../src/database/migrate.ts';
import { sql } from '../src/database/database.ts';
import { openTestDatabase } from './support/database.ts';
import { describeSchema } from './support/describe-schema.ts';
import { schemaFile } from './support/schema-file.ts';

const { database } = await openTestDatabase();

test('schema.sql matches the migrations', async () => {
  const current = await describeSchema(database);
  // npm run schema
  if (process.env['WRITE_SCHEMA'] === 'true') await writeFile(schemaFile, current);
  assert.equal(current, await readFile(schemaFile, 'utf8'), 'run: npm run schema');
});

test('migrating again, also concurrently, applies nothing', async () => {
  assert.deepEqual(await Promise.all([migrate(database), migrate(database)]), [[], []]);
});

test('a database with newer or changed migrations is rejected', async () => {
  await sql`insert into migrations (name, checksum) values ('9999_future.sql', 'x')`.execute(
    database,
  );
  await assert.rejects(
    migrate(database),
    /migrated by a newer version of the service \(9999_future\.sql\)/,
  );
  await sql`delete from migrations where name = '9999_future.sql'`.execute(database);
  await sql`update migrations set checksum = 'x' where name = '0001_directory.sql'`.execute(
    database,
  );
  await assert.rejects(migrate(database), /0001_directory\.sql was changed after it was applied/);
});
