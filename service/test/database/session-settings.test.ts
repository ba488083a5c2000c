/** What the role or the database sets changes nothing for the service. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { connectQuery } from '../../src/database/pooler.ts';
import { openClient, openDatabase, sql } from '../../src/database/database.ts';
import { sessionSettings } from '../../src/database/session-settings.ts';
import { stopParts } from '../../src/start/main.ts';
import { openTestDatabase, toUrl } from '../support/database.ts';
import { put } from '../support/directory.ts';
import { endedDelivery } from '../support/eventually.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { runHere } from '../support/run-here.ts';
import { startTestService, testPublicUrl } from '../support/service.ts';

const { database, connection } = await openTestDatabase();
const folder = await mkdtemp(join(tmpdir(), 'orgdir-settings-'));
after(() => rm(folder, { recursive: true }));
const env = {
  ...loopbackAllowed,
  DATABASE_URL: toUrl(connection),
  PUBLIC_URL: testPublicUrl,
  DATA_DIR: folder,
  PORT: '0',
  INTERNAL_PORT: '0',
};
const foundedAt = '2021-02-03T04:05:06.789Z';
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme', foundedAt }]);

const hostile: Record<keyof typeof sessionSettings, string> = {
  search_path: 'pg_temp',
  timezone: 'Asia/Kathmandu',
  datestyle: 'SQL, DMY',
  intervalstyle: 'iso_8601',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  array_nulls: 'off',
  standard_conforming_strings: 'off',
  client_min_messages: 'debug5',
  row_security: 'off',
  default_transaction_isolation: 'serializable',
  plan_cache_mode: 'force_custom_plan',
  lock_timeout: '1ms',
  idle_session_timeout: '1ms',
  statement_timeout: '1ms',
  idle_in_transaction_session_timeout: '1ms',
};

/** The role's only in this database, because other tests have the same role. */
async function alter(change: string): Promise<void> {
  const { rows } = await sql<{ role: string; name: string }>`
    select quote_ident(current_user) as role, quote_ident(current_database()) as name
  `.execute(database);
  const [{ role, name } = assert.fail()] = rows;
  await sql.raw(`alter database ${name} ${change}`).execute(database);
  await sql.raw(`alter role ${role} in database ${name} ${change}`).execute(database);
}

async function setHostile(): Promise<void> {
  for (const [name, value] of Object.entries(hostile))
    await alter(`set ${name} = ${name === 'search_path' ? value : `'${value}'`}`);
}

/** As a new connection has them, with who has made them. */
async function readSettings() {
  const client = openClient(connection, { applicationName: 'test' });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string; value: string; source: string }>(
      `select lower(name) as name, setting as value, source from pg_settings where lower(name) = any($1) order by 1`,
      [Object.keys(hostile)],
    );
    return rows;
  } finally {
    await client.end();
  }
}

test('each connection makes every setting itself, whatever the role has', async () => {
  const usual = await readSettings();
  const names = Object.keys(hostile).toSorted();
  assert.deepEqual(
    usual.map(({ name }) => name),
    names,
  );
  // Those that no connection leaves out are in the table for poolers and probes.
  assert.deepEqual(Object.keys(sessionSettings).toSorted(), names);
  await setHostile();
  try {
    const found = await readSettings();
    assert.deepEqual(
      found.filter(({ source }) => source !== 'client').map(({ name }) => name),
      [],
    );
    assert.deepEqual(found, usual);
  } finally {
    await alter('reset all');
  }
});

test('settings of the role and the database have no effect', async () => {
  await setHostile();
  try {
    const beside = { database, connection };
    const service = await startTestService({ beside, env, worker: true });
    const receiver = await startReceiver();
    const json = { url: receiver.url };
    const { body } = await service.call('/webhooks', { method: 'POST', json });
    const file = join(folder, 'orgs.ndjson');
    await writeFile(file, `${JSON.stringify({ name: 'Other' })}\n`);
    const { code, stderr } = await runHere(['import', 'orgs', file, '--emit-events'], env);
    assert.deepEqual([code, stderr], [0, '']);
    const [{ body: sent } = assert.fail()] = await receiver.waitFor(1);
    assert.match(String(sent), /"event":"org\.created"/);
    assert.equal((await endedDelivery(service, body.data.id)).status, 'succeeded');
    const org = await service.call('/orgs/acme');
    assert.equal(org.body.data.foundedAt, foundedAt);
    await stopParts(service);
  } finally {
    await alter('reset all');
  }
});

test('no statement of the service is compiled, whatever the role sets', async () => {
  await alter('set jit = on');
  const opened = openDatabase(connection, { applicationName: 'test' });
  try {
    const { rows } = await sql`select current_setting('jit') as jit`.execute(opened);
    assert.deepEqual(rows, [{ jit: 'off' }]);
  } finally {
    await opened.destroy();
    await alter('reset all');
  }
});

test('a read-only database stops the start with one line, and the doctor reports it', async () => {
  await alter('set default_transaction_read_only = on');
  try {
    const SECRET_KEY = randomBytes(32).toString('base64');
    const { code, stderr } = await runHere(['serve'], { ...env, SECRET_KEY });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^DATABASE_URL points to a database .* default_transaction_read_only .*\n$/,
    );
    const { stdout } = await runHere(['doctor', '--json'], env);
    assert.match(
      stdout,
      /"check":"database","status":"failed","message":"[^"]*default_transaction_read_only/,
    );
  } finally {
    await sql`set default_transaction_read_only = off`.execute(database);
    await alter('reset all');
  }
});

test('the settings of a pooler are as short as PgBouncer needs them', () => {
  assert.ok(connectQuery.replaceAll("''", "'").length <= 506);
});

for (const file of ['docs/operations.md', 'compose.yaml'])
  test(`${file} has the settings of a pooler`, async () => {
    const text = await readFile(join(import.meta.dirname, '../../..', file), 'utf8');
    assert.ok(text.includes(`connect_query='${connectQuery}'\n`), connectQuery);
  });
