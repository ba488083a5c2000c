/** Which server is that of a folder, and how long a start waits for it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, mock, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { openClient } from '../../src/database/database.ts';
import { openEmbedded, type EmbeddedDatabase } from '../../src/database/embedded.ts';
import {
  ensureCluster,
  withDataDirErrors,
  type Installation,
} from '../../src/database/embedded-installation.ts';

const folder = await mkdtemp(join(tmpdir(), 'orgdir-embedded-'));
// As root, PostgreSQL runs as another user.
await chmod(folder, 0o755);
const opened: EmbeddedDatabase[] = [];
after(async () => {
  await Promise.all(opened.map((each) => each.close()));
  await rm(folder, { recursive: true });
});

async function open(name: string): Promise<EmbeddedDatabase> {
  const settings = ['fsync=off'];
  const embedded = await openEmbedded({ dataDir: join(folder, name), purpose: 'tool', settings });
  opened.push(embedded);
  return embedded;
}

async function query({ connection }: EmbeddedDatabase, text: string) {
  const client = openClient(connection, { applicationName: 'test' });
  await client.connect();
  const { rows } = await client.query(text);
  await client.end();
  return rows;
}

test('PGSSLMODE, which is for other servers, does not keep anybody out', async (t) => {
  const { PGSSLMODE: before } = process.env;
  process.env['PGSSLMODE'] = 'require';
  t.after(() => {
    if (before === undefined) delete process.env['PGSSLMODE'];
    else process.env['PGSSLMODE'] = before;
  });
  assert.deepEqual(await query(await open('original'), 'select 1 as one'), [{ one: 1 }]);
});

test('a copy of a folder whose server runs is a database of its own', async () => {
  const original = await open('original');
  await query(original, 'create table only_here ()');
  await promisify(execFile)('cp', ['-a', join(folder, 'original'), join(folder, 'copy')]);
  const copy = await open('copy');
  await query(copy, 'drop table only_here');
  assert.deepEqual(await query(original, 'select from only_here'), []);
});

test('a first start says that the disk is full, whichever step finds out', async () => {
  const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  await assert.rejects(
    withDataDirErrors('/data', () => Promise.reject(full)),
    /^StartError: DATA_DIR \/data has no space left \(ENOSPC\); free some/,
  );
  const programs = join(folder, 'full/programs');
  await mkdir(join(programs, 'bin'), { recursive: true });
  const initdb = `#!/bin/sh
echo 'FATAL:  could not write to file "pg_wal/xlogtemp.1": No space left on device' >&2
echo 'child process exited with exit code 1' >&2
echo 'initdb: removing contents of data directory "postgres"' >&2
exit 1`;
  await writeFile(join(programs, 'bin/initdb'), initdb, { mode: 0o755 });
  const installation: Installation = {
    dataDir: join(folder, 'full'),
    clusterDir: join(folder, 'full/postgres'),
    programs: { folder: programs, version: '18' },
    user: null,
    password: '',
    settings: [],
  };
  await assert.rejects(
    ensureCluster(installation),
    /cannot be created: initdb: FATAL: {2}could not write to file ".*": No space left on device$/,
  );
});

test('a server that still starts is waited for, however long that takes', async (t) => {
  const dataDir = join(folder, 'original');
  const file = join(dataDir, 'postgres/postmaster.pid');
  const text = await readFile(file, 'utf8');
  // As it is until a crash is recovered from.
  const lines = text.split('\n');
  lines[4] = join(dataDir, 'nowhere');
  lines[7] = 'starting';
  await writeFile(file, lines.join('\n'));
  mock.timers.enable({ apis: ['Date'], now: Date.now() });
  t.after(() => mock.timers.reset());
  let isOver = false;
  const stopping = new AbortController();
  const stopped = assert.rejects(
    openEmbedded({ dataDir, purpose: 'tool', signal: stopping.signal }),
    { name: 'AbortError' },
  );
  const another = open('original').finally(() => (isOver = true));
  for (let times = 0; times < 10; times += 1) {
    mock.timers.tick(61_000);
    await wait(30);
  }
  assert.equal(isOver, false);
  stopping.abort();
  await stopped;
  await writeFile(file, text);
  await another;
});
