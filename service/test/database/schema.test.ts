import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { openTestDatabase } from '../support/database.ts';
import { describeSchema } from '../support/describe-schema.ts';
import { schemaFile } from '../support/schema-file.ts';

const { database } = await openTestDatabase();

test('schema.sql matches the migrations', async () => {
  const current = await describeSchema(database);
  // npm run schema
  if (process.env['WRITE_SCHEMA'] === 'true') await writeFile(schemaFile, current);
  assert.equal(current, await readFile(schemaFile, 'utf8'), 'run: npm run schema');
});
