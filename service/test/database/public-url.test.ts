/** Payloads, mail and links have one address, whichever process writes them and whatever its own PUBLIC_URL is. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { pino } from 'pino';
import { loadConfig } from '../../src/settings/config.ts';
import { readPublicUrl } from '../../src/database/public-url.ts';
import { sql } from '../../src/database/database.ts';
import { ingestPublished } from '../../src/directory/ingest-published.ts';
import { startService } from '../../src/start/main.ts';
import { openTestDatabase, toUrl } from '../support/database.ts';
import { put } from '../support/directory.ts';
import { runHere } from '../support/run-here.ts';

const { database, connection } = await openTestDatabase();
const env = {
  DATABASE_URL: toUrl(connection),
  SECRET_KEY: randomBytes(32).toString('base64'),
  PORT: '0',
  INTERNAL_PORT: '0',
};
const ownUrl = 'http://127.0.0.1:3000';

/** Starts and stops a process, and returns its warnings. */
async function serve(publicUrl: string | undefined, roles: string): Promise<object[]> {
  const warnings: object[] = [];
  const write = (line: string) => {
    const { msg, publicUrl: now, before } = JSON.parse(line) as Record<string, unknown>;
    warnings.push({ msg, publicUrl: now, before });
  };
  const config = loadConfig({ ...env, PUBLIC_URL: publicUrl, ROLES: roles });
  const options = { demo: false, onFatal: assert.fail };
  const service = await startService(config, pino({ level: 'warn' }, { write }), options);
  await service.stop();
  return warnings;
}

/** The addresses in the events since the last call, oldest first. */
async function takeUrls(): Promise<unknown[]> {
  const { rows } = await sql<{ data: string }>`
    select data from (select id, data from events union all select id, data from outbox) e order by id
  `.execute(database);
  await sql`truncate events, outbox`.execute(database);
  return rows.map(({ data }) => (JSON.parse(data) as { url: unknown }).url);
}

const publish = (slug: string) =>
  runHere(['events', 'publish', 'org.created', '--org', slug], { ...env, PUBLIC_URL: ownUrl });

await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
await put(database, 'alliances', [{ slug: 'league', name: 'League' }]);

test('before the service has ever started, a process uses its own address', async () => {
  assert.equal((await publish('acme')).code, 0);
  assert.deepEqual(await takeUrls(), [`${ownUrl}/api/v1/orgs/acme`]);
  await serve('https://worker.example', 'worker');
  assert.equal(await readPublicUrl(database, ownUrl), ownUrl, 'a worker has no public address');
});

test('then every process uses the address of the api process that started last', async () => {
  const shared = 'https://directory.example';
  assert.deepEqual(await serve(shared, 'api'), []);
  const other = { ...env, PUBLIC_URL: ownUrl };

  await publish('acme');
  await put(database, 'orgs', [{ slug: 'herald', name: 'Herald' }], { emitEvents: true });
  await put(database, 'alliances', [{ slug: 'north', name: 'North' }], { emitEvents: true });
  await sql`select orgdir.publish_event('org.created', org_slug => 'acme')`.execute(database);
  await sql`select orgdir.publish_event('alliance.created', alliance_slug => 'league')`.execute(
    database,
  );
  assert.deepEqual((await ingestPublished(database, ownUrl)).accepted, 2);
  const urls = await takeUrls();
  assert.deepEqual(
    urls.toSorted(),
    ['alliances/league', 'alliances/north', 'orgs/acme', 'orgs/acme', 'orgs/herald'].map(
      (path) => `${shared}/api/v1/${path}`,
    ),
  );
  const { stdout } = await runHere(['accounts', 'link', 'ada@example.org', '--json'], other);
  assert.ok(JSON.parse(stdout).url.startsWith(`${shared}/profile/developer/`));
});

test('an api process with another address replaces it and warns', async () => {
  const moved = 'https://directory.example/orgdir';
  assert.deepEqual(await serve(moved, 'api'), [
    { msg: 'public_url.replaced', publicUrl: moved, before: 'https://directory.example' },
  ]);
  assert.deepEqual(await serve(moved, 'api'), []);
  await publish('acme');
  assert.deepEqual(await takeUrls(), [`${moved}/api/v1/orgs/acme`]);
});

test('a process without PUBLIC_URL replaces no address but one of this machine', async () => {
  await serve('https://public.example', 'api');
  await serve(undefined, 'api');
  assert.equal(await readPublicUrl(database, ownUrl), 'https://public.example');
  await sql`update installation set value = 'http://127.0.0.1:9' where name = 'public_url'`.execute(
    database,
  );
  await serve(undefined, 'api');
  assert.notEqual(await readPublicUrl(database, ownUrl), 'http://127.0.0.1:9');
});
