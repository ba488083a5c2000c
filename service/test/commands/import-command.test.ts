/** `orgdir import` with real files, as its users run it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFile, mkdir, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { sql } from '../../src/database/database.ts';
import { lockDirectory } from '../../src/directory/lock-directory.ts';
import { startCommand } from '../support/command.ts';
import { openTestDatabase, toUrl } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { runCommand, type CommandResult } from '../support/run-command.ts';
import { runHere } from '../support/run-here.ts';
import { testPublicUrl } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const { database, connection } = await openTestDatabase();
const folder = await temporaryFolder();
const env = { DATABASE_URL: toUrl(connection), PUBLIC_URL: testPublicUrl, DATA_DIR: folder };

async function importText(
  name: string,
  text: string | Buffer,
  ...flags: string[]
): Promise<CommandResult> {
  const file = join(folder, name);
  await writeFile(file, text);
  return runHere(['import', 'orgs', file, ...flags], env);
}

async function orgs(): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) from orgs`.execute(database);
  return rows[0]?.count ?? 0;
}

test('bad rows of a CSV file have the line numbers of an editor', async () => {
  const text =
    '\uFEFFname,memberCount,description\r\nOne,many,"a\r\nb"\r\nTwo,2,"a\nb"\nThree,many,c\r\n\r\nFour,many,"never closed';
  const { code, stdout, stderr } = await importText('bad.csv', text);
  assert.deepEqual([code, stdout], [1, '']);
  assert.equal(
    stderr,
    `line 2: memberCount must be integer
line 6: memberCount must be integer
line 8: is not valid CSV: a quote is never closed; the lines after it were not read
Nothing was imported: 3 bad lines. Fix the file, or skip them with --skip-bad.
`,
  );
});

test('a file with nothing but bad lines does not fill the screen', async () => {
  const text = '{"foo":1}\n'.repeat(1_500);
  const { code, stderr } = await importText('other.ndjson', text);
  const lines = stderr.trimEnd().split('\n');
  assert.equal(code, 1);
  assert.match(lines[19] ?? '', /^line 20: /);
  assert.deepEqual(lines.slice(20), [
    'and 1480 more bad lines; --json names up to 1000',
    'Nothing was imported: 1500 bad lines. Fix the file, or skip them with --skip-bad.',
  ]);
  const { stdout } = await importText('other.ndjson', text, '--json');
  const { bad, badLines } = JSON.parse(stdout);
  assert.deepEqual([bad, badLines.length], [1_500, 1_000]);
});

test('a header that cannot be used is one error, even with --skip-bad', async () => {
  const semicolons = 'name;tag\r\nOne;1\r\nTwo;2\r\n';
  assert.deepEqual(await importText('semicolons.csv', semicolons, '--skip-bad'), {
    code: 1,
    stdout: '',
    stderr: 'line 1 separates the columns with semicolons; use commas\n',
  });
  const repeated = await importText('repeated.csv', 'name,tag,tag\nOne,1,2\n', '--json');
  assert.deepEqual([repeated.code, repeated.stdout], [1, '']);
  assert.deepEqual(JSON.parse(repeated.stderr), {
    error: {
      code: 'validation_failed',
      message: 'line 1 has the column tag twice; remove or rename one of them',
      details: {
        issues: [
          { path: 'line 1', message: 'has the column tag twice; remove or rename one of them' },
        ],
      },
    },
  });
  assert.equal(await orgs(), 0);
});

test('a row after which nothing can be read ends the import, even with --skip-bad', async () => {
  const before = await orgs();
  const unclosed = 'name,description\nOne,a\nTwo,"never closed\nThree,c\n';
  assert.deepEqual(await importText('unclosed.csv', unclosed, '--skip-bad'), {
    code: 1,
    stdout: '',
    stderr: 'line 3 is not valid CSV: a quote is never closed; the lines after it were not read\n',
  });
  assert.equal(await orgs(), before);
});

test('a file without entries is refused, except in a folder', async () => {
  const refused = { code: 1, stdout: '', stderr: 'file is empty: it has no entries\n' };
  for (const [name, text] of [
    ['empty.csv', ''],
    ['header.csv', '\uFEFFname,tag\r\n\r\n'],
    ['empty.ndjson', ''],
    ['blank.ndjson', '\uFEFF\n \r\n'],
  ] as const)
    assert.deepEqual(await importText(name, text), refused, name);
  assert.deepEqual(await runCommand(['import', 'orgs', '-'], env), refused);
  for (const name of ['alliances', 'orgs', 'blueprints'])
    await writeFile(join(folder, `${name}.ndjson`), '');
  assert.deepEqual((await runHere(['import', 'all', folder], env)).code, 0);
});

test('a file that is compressed is refused, and the error says how to unpack it', async () => {
  const before = await orgs();
  const bytes = gzipSync('{"name":"Packed"}\n');
  for (const [name, command] of [
    ['a.ndjson.gz', (file: string) => `gunzip -c < ${file} | orgdir import orgs -`],
    ['a.csv.gz', (file: string) => `gunzip -c < ${file} > unpacked.csv`],
    ['a.csv', (file: string) => `gunzip -c < ${file} > unpacked.csv`],
  ] as const) {
    const file = join(folder, name);
    assert.deepEqual(await importText(name, bytes, '--skip-bad'), {
      code: 1,
      stdout: '',
      stderr: `${file} is compressed with gzip; unpack it first: ${command(file)}\n`,
    });
  }
  assert.deepEqual(await runCommand(['import', 'orgs', '-'], env, bytes), {
    code: 1,
    stdout: '',
    stderr:
      'standard input is compressed with gzip; unpack it first: gunzip -c < FILE | orgdir import orgs -\n',
  });
  assert.equal(await orgs(), before);
});

test('a JSON array is refused, and the error says how to make lines of it', async () => {
  const before = await orgs();
  const entries = [{ name: 'First' }, { name: 'Second' }];
  for (const text of [
    JSON.stringify(entries),
    `\uFEFF\r\n${JSON.stringify(entries, null, 2)}`,
    `[\n${'{"name":"Many"},\n'.repeat(5_000)}{"name":"Last"}]`,
  ]) {
    const file = join(folder, 'a.json');
    assert.deepEqual(await importText('a.json', text, '--skip-bad'), {
      code: 1,
      stdout: '',
      stderr: `${file} is one JSON array; write each entry on its own line: jq -c '.[]' < ${file} | orgdir import orgs -\n`,
    });
  }
  assert.equal(await orgs(), before);
});

test('a file of lines may have a bracket wherever a part of it begins that is read at once', async () => {
  const [start, end] = ['{"name":"', '","aliases":["one"]}\n'];
  const padding = '\n'.repeat(64 * 1024 - start.length - 'Bracketed'.length - end.indexOf('['));
  const text = `${padding}${start}Bracketed${end}`;
  assert.equal(text[64 * 1024], '[');
  const { code, stdout, stderr } = await importText('bracketed.ndjson', text);
  assert.deepEqual([code, stdout], [0, '1 orgs created, 0 updated.\n'], stderr);
});

test('a file without slugs is refused the second time, and says how to import it anyway', async () => {
  const text = 'name\nAcme\n"Beta, Ltd"\nGamma\n';
  assert.equal((await importText('names.csv', text)).code, 0);
  const before = await orgs();
  assert.deepEqual(await importText('names.csv', `${text}Delta\n`, '--skip-bad'), {
    code: 1,
    stdout: '',
    stderr:
      'Nothing was imported: 3 of 4 names without a slug are already in the directory ("Acme", "Beta, Ltd", "Gamma"). To replace these entries, add their slugs, which export orgs writes; to create more with the same names, use --allow-duplicates.\n',
  });
  const { code, stdout, stderr } = await importText('names.csv', text, '--json');
  assert.deepEqual([code, stdout], [1, '']);
  const { error } = JSON.parse(stderr) as { error: { code: string; details: object } };
  assert.deepEqual(
    [error.code, error.details],
    ['conflict', { existing: 3, withoutSlug: 3, names: ['Acme', 'Beta, Ltd', 'Gamma'] }],
  );
  assert.equal(await orgs(), before);
  const allowed = await importText('names.csv', text, '--allow-duplicates');
  assert.deepEqual([allowed.code, allowed.stdout], [0, '3 orgs created, 0 updated.\n']);
});

test('an import waits for its turn as long as it takes', async (t) => {
  const before = await orgs();
  const file = join(folder, 'behind.ndjson');
  await writeFile(file, '{"name":"Behind"}\n');
  let importing: Promise<CommandResult> | undefined;
  await database.transaction().execute(async (tx) => {
    await lockDirectory(tx, 'orgs');
    t.mock.timers.enable({ apis: ['setTimeout'] });
    importing = runHere(['import', 'orgs', file], env);
    await eventually(() => hasTurn(false));
    t.mock.timers.tick(25_000);
    t.mock.timers.reset();
  });
  assert.deepEqual(await importing, {
    code: 0,
    stdout: '1 orgs created, 0 updated.\n',
    stderr: '',
  });
  assert.equal(await orgs(), before + 1);
});

const noScript = spawnSync('script', ['--version']).error ? 'script is not installed' : false;
const options = { skip: noScript };

/** `script` gives the command a terminal, on which it types its own input. */
function importOnTerminal(source: string) {
  const bin = new URL('../../bin/orgdir.js', import.meta.url).pathname;
  const line = `stty cols 80; exec ${process.execPath} ${bin} import orgs ${source}`;
  return startCommand([line, '/dev/null'], { node: 'script', command: '-qec', env });
}

test('Ctrl-C on a terminal ends an import with 130, and nothing is imported', options, async () => {
  const before = await orgs();
  const file = join(folder, 'waits.ndjson');
  await writeFile(file, '{"name":"Waits"}\n');
  await database.transaction().execute(async (tx) => {
    await lockDirectory(tx, 'orgs');
    const terminal = importOnTerminal(file);
    await terminal.waitFor(/Importing, 100 %/);
    terminal.write('\u0003');
    assert.deepEqual(await terminal.ended, { code: 130, signal: null });
  });
  assert.equal(await orgs(), before);
});

test('a file that grows while it is read has no size to compare with', options, async () => {
  const file = join(folder, 'grows.ndjson');
  const lines = (start: number) =>
    Array.from({ length: 3_000 }, (_, index) => {
      const slug = `grows-${start + index}`;
      return `${JSON.stringify({ slug, name: slug })}\n`;
    }).join('');
  await writeFile(file, lines(0));
  const terminal = await database.transaction().execute(async (tx) => {
    await lockDirectory(tx, 'orgs');
    const waiting = importOnTerminal(file);
    await waiting.waitFor(/Importing, \d+ %/);
    await appendFile(file, lines(3_000));
    return waiting;
  });
  assert.deepEqual(await terminal.ended, { code: 0, signal: null });
  assert.match(terminal.stdout, /6000 orgs created/);
  assert.doesNotMatch(terminal.stdout, /Importing, (?!100 )\d{3,} %/);
});

test('on a terminal nothing of a piped import is shown', options, async () => {
  const before = await orgs();
  const pipe = join(folder, 'pipe');
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  const terminal = importOnTerminal(`- < ${pipe}`);
  // Also for reading, so that opening it waits for nobody.
  const lines = await open(pipe, 'r+');
  await lines.write('{"name":"Secret"}\n'.repeat(1_000));
  await eventually(() => hasTurn(true));
  terminal.write('\u0003');
  assert.deepEqual(await terminal.ended, { code: 130, signal: null });
  await lines.close();
  assert.match(terminal.stdout, /Importing, 18 KiB read/);
  assert.ok(!terminal.stdout.includes('Secret'));
  assert.equal(await orgs(), before);
});

/** Whether an import has its turn, or waits for it. */
async function hasTurn(granted: boolean): Promise<boolean> {
  const { rows } = await sql`
    select from pg_locks l join pg_database d on d.oid = l.database and d.datname = current_database()
    where l.locktype = 'advisory' and l.classid = 70420004 and l.granted = ${granted}
  `.execute(database);
  return rows.length > 0;
}

test('an alliance of a folder is announced with the organisations that come after it', async () => {
  const all = join(folder, 'all');
  await mkdir(all);
  await writeFile(join(all, 'alliances.ndjson'), '{"slug":"league","name":"League"}\n');
  await writeFile(
    join(all, 'orgs.ndjson'),
    '{"slug":"in-league","name":"In","alliance":"league","memberCount":7}\n',
  );
  await writeFile(join(all, 'blueprints.ndjson'), '');
  const { code, stderr } = await runHere(['import', 'all', all, '--emit-events'], env);
  assert.equal(code, 0, stderr);
  const { rows } = await sql<{ data: { orgCount: number; memberCount: number } }>`
    select data::json as data from outbox where name = 'alliance.created'
  `.execute(database);
  assert.deepEqual(
    rows.map(({ data }) => [data.orgCount, data.memberCount]),
    [[1, 7]],
  );
});
