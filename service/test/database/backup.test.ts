/** Makes backups as `docs/operations.md` describes, and restores them. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { openDatabase, sql } from '../../src/database/database.ts';
import { readSecretKeys } from '../../src/database/read-secret-keys.ts';
import { stopParts } from '../../src/start/main.ts';
import { openConfiguredDatabase } from '../../src/start/open-database.ts';
import {
  embeddedOnly,
  newDataDir,
  newMigratedDataDir,
  removeDataDir,
  runCommand,
  serverPid,
  startCommand,
} from '../support/command.ts';
import { countRows } from '../support/count-rows.ts';
import {
  createDatabase,
  dropDatabase,
  openTestDatabase,
  testServer,
  toUrl,
  withName,
} from '../support/database.ts';
import { announce, put } from '../support/directory.ts';
import { endedDelivery } from '../support/eventually.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { startTestService } from '../support/service.ts';

const run = promisify(execFile);
const programs = '/usr/lib/postgresql/15/bin';
const options = { timeout: 300_000 };

/** Debian's programs dump their own version and older ones. */
const noDump = process.env['DATABASE_URL']
  ? existsSync(`${programs}/pg_dump`)
    ? false
    : `there is no ${programs}/pg_dump`
  : 'pg_dump 15 refuses the embedded PostgreSQL 18; the run on PostgreSQL 15 has this';

test(
  'a dump has the whole installation, including pending deliveries',
  { ...options, skip: noDump },
  async () => {
    const service = await startTestService({ env: loopbackAllowed });
    const { database, connection, secretKeys, key } = service;
    await put(database, 'orgs', [{ slug: 'acme', name: 'Acme', contactEmail: 'a@example.org' }]);
    const receiver = await startReceiver();
    const json = { url: receiver.url };
    const { id } = (await service.call('/webhooks', { method: 'POST', json })).body.data;
    // No worker runs, so the event is committed but not fanned out.
    await announce(database);
    const before = await service.call('/orgs');

    const folder = await mkdtemp(join(tmpdir(), 'orgdir-backup-'));
    const name = `orgdir_test_${randomUUID().replaceAll('-', '')}`;
    const file = join(folder, 'orgdir.dump');
    await run(`${programs}/pg_dump`, ['--format=custom', `--file=${file}`, toUrl(connection)]);
    await createDatabase(name, 'template0');
    const restored = withName(testServer(), name);
    await run(`${programs}/pg_restore`, [
      '--no-owner',
      '--exit-on-error',
      `--dbname=${toUrl(restored)}`,
      file,
    ]);
    const copy = openDatabase(restored, { applicationName: 'test' });
    after(async () => {
      await copy.destroy();
      await dropDatabase(name);
      await rm(folder, { recursive: true });
    });

    const { code, stderr } = await runCommand(['migrate'], {
      env: { DATABASE_URL: toUrl(restored), SECRET_KEY: Buffer.alloc(32).toString('base64') },
    });
    assert.equal(code, 0, stderr);
    const second = await startTestService({
      env: loopbackAllowed,
      worker: true,
      beside: { database: copy, connection: restored, secretKeys },
    });
    const again = await second.call('/orgs', { key });
    assert.deepEqual(
      [again.text, again.headers.get('etag')],
      [before.text, before.headers.get('etag')],
    );
    assert.equal((await endedDelivery(second, id)).status, 'succeeded');
    assert.equal(receiver.received.length, 1);
    // The one that was dumped knows nothing of it.
    assert.equal(await countRows(database, sql`deliveries`), 0);
  },
);

test(
  'a copy of a stopped DATA_DIR is an independent installation',
  { ...options, skip: embeddedOnly },
  async () => {
    const original = await newMigratedDataDir();
    const copied = await newDataDir();
    after(() => Promise.all([removeDataDir(original), removeDataDir(copied)]));
    const receiver = await startReceiver();
    const open = async (dataDir: string) => {
      const config = { databaseUrl: null, dataDir };
      const opened = await openConfiguredDatabase(config, {
        purpose: 'tool',
        applicationName: 'test',
      });
      const secretKeys = await readSecretKeys({ secretKeys: null, ...config }, opened.database);
      const service = await startTestService({
        env: loopbackAllowed,
        beside: { ...opened, secretKeys },
      });
      const close = async () => {
        await stopParts(service);
        await opened.close();
      };
      return { service, close };
    };
    const one = await open(original);
    await put(one.service.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
    const { key } = one.service;
    const json = { url: receiver.url };
    const { id } = (await one.service.call('/webhooks', { method: 'POST', json })).body.data;
    const page = (await one.service.call('/orgs')).text;
    await one.close();

    // As root, the database belongs to another user, and so must its copy.
    await run('cp', ['--archive', '--no-target-directory', original, copied]);
    const two = await open(copied);
    assert.equal((await two.service.call('/orgs', { key })).text, page);
    // Its secret opens, so SECRET_KEY came along.
    const tested = await two.service.call(`/webhooks/${id}/test`, { method: 'POST', key });
    assert.equal(tested.body.data.status, 'succeeded');
    await two.close();
  },
);

test(
  'a dump is restored into the embedded database, while a command keeps it open',
  { ...options, skip: noDump },
  async () => {
    const { database, connection } = await openTestDatabase();
    await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
    const folder = await mkdtemp(join(tmpdir(), 'orgdir-backup-'));
    const file = join(folder, 'orgdir.dump');
    await run(`${programs}/pg_dump`, ['--format=custom', `--file=${file}`, toUrl(connection)]);
    const dataDir = await newMigratedDataDir();
    after(async () => {
      await rm(folder, { recursive: true });
      await removeDataDir(dataDir);
    });

    const open = startCommand(['database'], { env: { DATA_DIR: dataDir } });
    await open.waitFor(/PGPASSWORD=.*\n/);
    await run('sh', [
      '-c',
      [
        open.stdout,
        `${programs}/psql --quiet --set ON_ERROR_STOP=1 --command 'drop schema orgdir cascade'`,
        `${programs}/pg_restore --no-owner --exit-on-error --dbname=orgdir ${file}`,
      ].join('\n'),
    ]);
    open.signal('SIGINT');
    assert.equal((await open.ended).code, 130);
    assert.equal(await serverPid(dataDir), null, 'nothing is left running');

    const service = startCommand(['serve', '--no-demo'], { env: { DATA_DIR: dataDir } });
    const [, url] = await service.waitFor(/^Serving at (\S+)/m);
    const { data } = (await (await fetch(`${url}/api/v1/status`)).json()) as any;
    assert.equal(data.counts.orgs, 1);
    service.signal('SIGTERM');
    assert.deepEqual(await service.ended, { code: 0, signal: null });
  },
);
