import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getMigrations } from 'better-auth/db/migration';
import { loadConfig } from '../../src/settings/config.ts';
import { createLogger } from '../../src/runtime/log.ts';
import { createAuth } from '../../src/sign-in/auth.ts';
import { openTestDatabase } from '../support/database.ts';

const { database } = await openTestDatabase();
const { signIn } = loadConfig({
  OIDC_ISSUER_URL: 'http://127.0.0.1:9',
  OIDC_CLIENT_ID: 'orgdir',
  OIDC_CLIENT_SECRET: 'secret',
});

test('better-auth finds no missing migrations', async () => {
  const { options } = createAuth({
    database,
    signIn,
    publicUrl: 'http://directory.test',
    secret: Buffer.alloc(32).toString('base64'),
    notifyMethodAdded: async () => {},
    log: createLogger('silent'),
  });
  const {
    runMigrations: _run,
    compileMigrations: _compile,
    ...found
  } = await getMigrations(options);
  for (const [what, entries] of Object.entries(found)) assert.deepEqual(entries, [], what);
  assert.ok(Object.keys(found).length >= 4);
});
