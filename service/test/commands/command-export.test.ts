/** The command `orgdir export`, and `import` of what it wrote. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { sql } from '../../src/database/database.ts';
import {
  embeddedOnly,
  newMigratedDataDir,
  removeDataDir,
  runCommand,
  serverPid,
  startCommand,
} from '../support/command.ts';
import { openTestDatabase, toUrl } from '../support/database.ts';
import { put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { runHere } from '../support/run-here.ts';
import { startTestService, testPublicUrl } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const origin = await startTestService();
const copy = await startTestService();
const folder = await temporaryFolder();
const env = { DATABASE_URL: toUrl(origin.connection), DATA_DIR: folder };
const run = (...args: string[]) => runHere(args, env);
const path = (name: string) => join(folder, name);
const kinds = ['alliances', 'orgs', 'blueprints'] as const;
for (const kind of kinds) {
  const text = await readFile(new URL(`../../../demo/${kind}.ndjson`, import.meta.url), 'utf8');
  const rows = text.split('\n').filter((line) => line !== '');
  await put(
    origin.database,
    kind,
    rows.map((line) => JSON.parse(line)),
  );
}
await put(origin.database, 'orgs', [
  {
    slug: 'hidden',
    name: 'Hidden',
    listed: false,
    notes: 'private note',
    managers: ['ada@example.org'],
  },
]);
await put(origin.database, 'alliances', [
  { slug: 'league', name: 'League', managers: ['grace@example.org'] },
]);
const oldTime = '2020-02-02T02:02:02.020Z';
await put(origin.database, 'blueprints', [
  {
    key: 'gone',
    name: 'Gone',
    category: 'materials',
    output: { item: 'gone', name: 'Gone', quantity: 1 },
    active: false,
    retiredAt: oldTime,
  },
]);

/** All public responses, without ids and import times. */
async function publicAnswers(service: typeof origin): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const kind of kinds) {
    const sorts =
      kind === 'blueprints' ? ['name', 'createdAt'] : ['name', 'createdAt', 'memberCount'];
    for (const sort of sorts) {
      for (let page = 1; ; page += 1) {
        const { body } = await service.call(`/${kind}?limit=100&page=${page}&sort=${sort}`);
        answers.push(withoutIds(body));
        if (page >= body.pagination.totalPages) break;
      }
    }
  }
  for (const detail of [
    'alliances/finland',
    'orgs/nokia',
    'blueprints/gone',
    'orgs/hidden',
    'orgs?search=nok&alliance=finland',
  ])
    answers.push(withoutIds((await service.call(`/${detail}`)).body));
  return answers;
}

function withoutIds(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (name, field: unknown) =>
      ['id', 'createdAt', 'updatedAt'].includes(name) ? undefined : field,
    ),
  );
}

test('an exported directory imported into an empty database gives the same responses', async () => {
  const target = path('whole');
  const exported = await run('export', 'all', target, '--json');
  assert.deepEqual([exported.code, exported.stderr], [0, '']);
  assert.deepEqual(JSON.parse(exported.stdout), {
    target,
    counts: { alliances: 34, orgs: 321, blueprints: 804 },
  });
  const into = { ...env, DATABASE_URL: toUrl(copy.connection) };
  const imported = await runHere(['import', 'all', target], into);
  assert.deepEqual(
    [imported.code, imported.stdout],
    [
      0,
      '34 alliances created, 0 updated.\n321 orgs created, 0 updated.\n804 blueprints created, 0 updated.\n',
    ],
    imported.stderr,
  );
  await copy.settled();
  await origin.settled();
  assert.deepEqual(await publicAnswers(copy), await publicAnswers(origin));
  const { body } = await copy.call('/blueprints/gone');
  assert.equal(body.data.retiredAt, oldTime);
  const again = await runHere(['export', 'all', path('again')], into);
  assert.equal(again.code, 0, again.stderr);
  for (const kind of kinds)
    assert.equal(
      await readFile(path(`again/${kind}.ndjson`), 'utf8'),
      await readFile(path(`whole/${kind}.ndjson`), 'utf8'),
    );
  assert.match(
    await readFile(path('again/orgs.ndjson'), 'utf8'),
    /"notes":"private note","managers":\["ada@example\.org"\]/,
  );
});

test('a folder is imported in one transaction: a bad line in one file imports nothing', async () => {
  const { database, connection } = await openTestDatabase();
  const target = path('bad');
  await mkdir(target);
  await writeFile(join(target, 'alliances.ndjson'), '{"name":"North"}\n');
  await writeFile(join(target, 'orgs.ndjson'), '{"name":"A"}\n{"nam":"B"}\n');
  await writeFile(join(target, 'blueprints.ndjson'), '');
  const refused = await runHere(['import', 'all', target], {
    ...env,
    DATABASE_URL: toUrl(connection),
  });
  assert.deepEqual([refused.code, refused.stdout], [1, '']);
  assert.match(refused.stderr, /^orgs\.ndjson, line 2: .*\nNothing was imported: 1 bad line\./);
  const { rows } = await sql`select from alliances`.execute(database);
  assert.equal(rows.length, 0);
});

test('a .csv file has organisations or alliances as CSV, blueprints are refused', async () => {
  const { database, connection } = await openTestDatabase();
  for (const [kind, ending] of [
    ['alliances', 'csv'],
    ['orgs', 'CSV'],
  ] as const) {
    const file = path(`${kind}.${ending}`);
    assert.equal((await run('export', kind, file)).code, 0);
    assert.equal(
      (await run('export', kind, '--format', 'csv')).stdout,
      await readFile(file, 'utf8'),
    );
    const imported = await runHere(['import', kind, file], {
      ...env,
      DATABASE_URL: toUrl(connection),
    });
    assert.equal(imported.code, 0, imported.stderr);
  }
  const { rows } = await sql<{ n: number }>`select count(*) as n from orgs`.execute(database);
  assert.equal(rows[0]?.n, 321);
  const lists = 'csv cannot hold blueprints, which have lists';
  for (const [args, reason] of [
    [['blueprints', path('b'), '--format', 'csv'], `--format ${lists}; leave it out`],
    [['blueprints', path('b.csv')], `target ${path('b.csv')} must not end in .csv: ${lists}`],
    [['all', path('b.csv')], `target ${path('b.csv')} must not end in .csv: ${lists}`],
  ] as const)
    assert.deepEqual(await run('export', ...args), {
      code: 2,
      stdout: '',
      stderr: `${reason}\n`,
    });
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.startsWith('b.') || name === 'b'),
    [],
  );
});

test('an export file is private to its owner, replaces a file, and never a non-empty folder', async () => {
  const file = path('orgs.ndjson');
  await writeFile(file, 'what was there', { mode: 0o644 });
  assert.equal((await run('export', 'orgs', file)).code, 0);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.match(await readFile(file, 'utf8'), /^\{"slug":/);
  assert.equal((await stat(path('whole'))).mode & 0o777, 0o700);
  for (const target of [path('whole'), file]) {
    const refused = await run('export', 'all', target);
    assert.deepEqual([refused.code, refused.stdout], [1, ''], target);
  }
  const inFolder = await run('export', 'orgs', path('whole'));
  assert.deepEqual([inFolder.code, /is a folder/.test(inFolder.stderr)], [1, true]);
  const nowhere = await run('export', 'orgs', path('no/such/folder/orgs.ndjson'));
  assert.match(nowhere.stderr, /cannot be written \(ENOENT\)/);
});

test('an export to a device does not replace it', async () => {
  const result = await run('export', 'orgs', '/dev/null');
  assert.deepEqual(
    [result.code, result.stdout],
    [0, '321 orgs written to /dev/null.\n'],
    result.stderr,
  );
  assert.ok((await stat('/dev/null')).isCharacterDevice());
});

/** Runs an export that stops in its middle, because its table is locked, and lets `cut` end it there. */
async function cutExport(name: string, cut: (command: ReturnType<typeof startCommand>) => void) {
  return origin.database.transaction().execute(async (tx) => {
    await sql`lock table orgs in access exclusive mode`.execute(tx);
    const command = startCommand(['export', 'orgs', path(name)], { env });
    await eventually(async () =>
      (await readdir(folder)).some((each) => each.startsWith(`${name}.`)),
    );
    cut(command);
    return command.ended;
  });
}

test('an interrupted export leaves no file, and keeps the previous one', async () => {
  await writeFile(path('cut'), 'what was there');
  assert.deepEqual(await cutExport('cut', (command) => command.signal('SIGINT')), {
    code: 130,
    signal: null,
  });
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.startsWith('cut')),
    ['cut'],
    'nothing half written',
  );
  assert.equal((await cutExport('cut', (command) => command.signal('SIGKILL'))).signal, 'SIGKILL');
  assert.equal(await readFile(path('cut'), 'utf8'), 'what was there');
  assert.equal((await run('export', 'orgs', path('cut'))).code, 0, 'the next one is not stopped');
});

test('an export of everything that fails half-way leaves no folder', async () => {
  await sql`alter table blueprints rename to hidden`.execute(origin.database);
  const { code, stderr } = await run('export', 'all', path('half'));
  await sql`alter table hidden rename to blueprints`.execute(origin.database);
  assert.deepEqual([code, /relation "blueprints" does not exist/.test(stderr)], [1, true], stderr);
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.startsWith('half')),
    [],
  );
});

test('standard output has only NDJSON, and a closed pipe ends it quietly', async () => {
  const whole = await run('export', 'orgs', '-');
  assert.equal(whole.stderr, '');
  assert.equal(whole.stdout.split('\n').length, 322);
  const command = new URL('../../bin/orgdir.js', import.meta.url).pathname;
  const child = spawn(process.execPath, [command, 'export', 'blueprints'], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += String(chunk)));
  child.stdout.once('data', () => child.stdout.destroy());
  const [code] = (await once(child, 'close')) as [number];
  assert.deepEqual([code, stderr], [0, '']);
});

test(
  'an export from one embedded database imports into another, without a service',
  { skip: embeddedOnly },
  async () => {
    const [first, second] = [await newMigratedDataDir(), await newMigratedDataDir()];
    after(() => Promise.all([removeDataDir(first), removeDataDir(second)]));
    const place = await mkdtemp(join(tmpdir(), 'orgdir-export-'));
    after(() => rm(place, { recursive: true }));
    await chmod(place, 0o755);
    const at = async (dataDir: string, ...args: string[]) => {
      const ended = await runCommand(args, {
        env: { DATA_DIR: dataDir, PUBLIC_URL: testPublicUrl },
      });
      assert.equal(ended.code, 0, ended.stderr);
      return ended.stdout;
    };
    await at(first, 'import', 'all', path('whole'));
    await at(first, 'export', 'all', join(place, 'a'));
    await at(second, 'import', 'all', join(place, 'a'));
    assert.equal(
      await at(second, 'export', 'orgs'),
      await readFile(path('whole/orgs.ndjson'), 'utf8'),
    );
    const full = await runOnFullDisk(['export', 'orgs'], { DATA_DIR: second });
    assert.deepEqual(full, {
      code: 1,
      stderr: 'standard output cannot be written (ENOSPC)\n',
    });
    assert.equal(await serverPid(second), null, 'and leaves no database running');
  },
);

/** With a standard output that takes nothing. */
async function runOnFullDisk(args: string[], more: Record<string, string>) {
  const full = await open('/dev/full', 'w');
  const command = new URL('../../bin/orgdir.js', import.meta.url).pathname;
  const child = spawn(process.execPath, [command, ...args], {
    env: { PATH: process.env['PATH'], ...more },
    stdio: ['ignore', full.fd, 'pipe'],
  });
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => (stderr += String(chunk)));
  const [code] = (await once(child, 'close')) as [number];
  await full.close();
  return { code, stderr };
}

test('a full disk is reported in one line', async () => {
  const words = 'standard output cannot be written (ENOSPC)';
  for (const args of [
    ['export', 'orgs'],
    ['apps', 'list'],
  ])
    assert.deepEqual(await runOnFullDisk(args, env), { code: 1, stderr: `${words}\n` });
  const { code, stderr } = await runOnFullDisk(['keys', 'create', '--platform', '--json'], env);
  const { error } = JSON.parse(stderr) as { error: { message: string } };
  assert.deepEqual([code, error.message], [1, words]);
  const named = await run('export', 'orgs', '/dev/full');
  assert.deepEqual(
    [named.code, named.stdout, named.stderr],
    [1, '', 'file /dev/full cannot be written (ENOSPC)\n'],
  );
});
