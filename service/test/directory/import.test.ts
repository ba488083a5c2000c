import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { Type } from 'typebox';
import { nullable, strictObject } from '../../src/contract/shapes.ts';
import { openDatabase, sql } from '../../src/database/database.ts';
import { ExistingNamesError } from '../../src/directory/existing-names.ts';
import {
  BadLinesError,
  importLines,
  importSchemas,
  type ImportKind,
  type ImportOptions,
} from '../../src/directory/import.ts';
import { lineBytesMax, readNdjson, type SourceLine } from '../../src/directory/import-source.ts';
import { readCsv } from '../../src/directory/read-csv.ts';
import { openTestDatabase } from '../support/database.ts';
import { blueprint, put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { recordedEvents } from '../support/queue.ts';
import { testPublicUrl } from '../support/service.ts';

const { database, connection } = await openTestDatabase();

function importText(
  kind: ImportKind,
  content: string | Buffer,
  options: Partial<ImportOptions> & { csv?: boolean; pieceBytes?: number } = {},
) {
  // In pieces of seven bytes: lines, characters and quotes are cut anywhere.
  const { pieceBytes = 7 } = options;
  const bytes = Buffer.from(content as string);
  const pieces = Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, index) =>
    bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes),
  );
  const input = Readable.from(pieces);
  const lines = options.csv ? readCsv(input, importSchemas[kind]) : readNdjson(input);
  return database.transaction().execute((tx) =>
    importLines(tx, lines, {
      kind,
      skipBad: false,
      emitEvents: false,
      publicUrl: testPublicUrl,
      ...options,
    }),
  );
}

const rowsOf = async (table: string) =>
  (
    await sql<
      Record<string, any>
    >`select * from ${sql.table(table)} order by name_sort, id`.execute(database)
  ).rows;
const count = async (table: string) => (await rowsOf(table)).length;

async function clear(): Promise<void> {
  await sql`truncate orgs, alliances, blueprints, outbox cascade`.execute(database);
  await sql`update list_totals set entries = 0`.execute(database);
}

test('bad lines are reported with number and reason, and nothing is imported', async () => {
  await clear();
  const lines = [
    '{"name":"Good"}',
    '{"name":""}',
    'not json',
    '',
    '{"name":"A","slug":"Bad Slug"}',
    '{"name":"B","memberCount":-1}',
    '{"name":"C","unknown":1}',
    '{"name":"D","alliance":"nowhere"}',
    '{"slug":"twice","name":"E"}',
    '{"slug":"twice","name":"F"}',
    '{"name":"nul\\u0000"}',
    '{"name":"half\\ud800"}',
    '[]',
    'null',
    '{"slug":"search","name":"G"}',
  ];
  const failure = await importText('orgs', lines.join('\n')).then(
    () => assert.fail('it was kept'),
    (error: unknown) => error,
  );
  assert.ok(failure instanceof BadLinesError);
  const reasons = new Map(failure.result.badLines.map(({ line, reason }) => [line, reason]));
  assert.deepEqual(
    [...reasons.keys()].sort((a, b) => a - b),
    [2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15],
  );
  assert.match(reasons.get(3) ?? '', /not valid JSON/);
  assert.match(reasons.get(6) ?? '', /memberCount must be >= 0/);
  assert.match(reasons.get(7) ?? '', /unknown is not known/);
  assert.match(reasons.get(8) ?? '', /alliance nowhere does not exist/);
  assert.match(reasons.get(10) ?? '', /slug twice belongs to line 9/);
  assert.match(reasons.get(15) ?? '', /reserved/);
  assert.equal(await count('orgs'), 0);
});

test('bytes that are not UTF-8 and lines without end are bad lines', async () => {
  await clear();
  const invalid = Buffer.concat([
    Buffer.from('{"name":"ok"}\n{"name":"'),
    Buffer.from([0xff, 0xfe]),
    Buffer.from('"}\n'),
  ]);
  const utf8 = await importText('orgs', invalid, { skipBad: true });
  assert.match(utf8.badLines[0]?.reason ?? '', /UTF-8/);
  const long = await importText(
    'orgs',
    `{"name":"${'x'.repeat(lineBytesMax)}"}\n{"name":"after"}`,
    {
      skipBad: true,
      pieceBytes: 1_000,
    },
  );
  assert.deepEqual(
    [long.created, long.badLines[0]?.line, long.badLines[0]?.reason],
    [1, 1, 'is longer than 2048 KiB'],
  );
});

test('a byte order mark and Windows line ends are ignored', async () => {
  await clear();
  const result = await importText('alliances', '\uFEFF{"name":"North"}\r\n{"name":"South"}\r\n');
  assert.deepEqual(
    [result.created, (await rowsOf('alliances')).map(({ slug }) => slug)],
    [2, ['north', 'south']],
  );
});

test('a line with a known slug replaces the entry and keeps its id', async () => {
  await clear();
  await put(database, 'orgs', [{ slug: 'acme', name: 'Acme', tag: 'A', memberCount: 5 }]);
  const [before] = await rowsOf('orgs');
  const result = await put(database, 'orgs', [{ slug: 'acme', name: 'Acme Two', memberCount: 6 }]);
  const [after] = await rowsOf('orgs');
  assert.deepEqual([result.created, result.updated], [0, 1]);
  assert.deepEqual(
    [after?.['id'], after?.['name'], after?.['tag'], after?.['member_count']],
    [before?.['id'], 'Acme Two', null, 6],
  );
});

test('a retired blueprint is active again without `active`, and keeps its time if retired twice', async () => {
  await clear();
  const fields = { key: 'granite', name: 'Granite' };
  await put(database, 'blueprints', [blueprint({ ...fields, active: false })]);
  const [retired] = await rowsOf('blueprints');
  assert.ok(retired?.['retired_at']);
  await put(database, 'blueprints', [blueprint({ ...fields, active: false })]);
  assert.deepEqual((await rowsOf('blueprints'))[0]?.['retired_at'], retired['retired_at']);
  await put(database, 'blueprints', [blueprint(fields)]);
  assert.equal((await rowsOf('blueprints'))[0]?.['retired_at'], null);
});

test('a language tag is stored in its canonical form', async () => {
  await clear();
  await put(database, 'orgs', [{ name: 'Fala', language: 'PT-br' }]);
  assert.equal((await rowsOf('orgs'))[0]?.['language'], 'pt-BR');
});

test('CSV with quotes, commas, line breaks and nested links', async () => {
  await clear();
  const csv =
    'name,memberCount,recruiting,links.website,description\n"Co., ""Ltd""",12,true,https://example.org,"two\nlines"\nPlain,,,,\n';
  assert.equal((await importText('orgs', csv, { csv: true })).created, 2);
  const [first, second] = await rowsOf('orgs');
  assert.deepEqual(
    [
      first?.['name'],
      first?.['member_count'],
      first?.['recruiting'],
      first?.['links'].website,
      first?.['description'],
    ],
    ['Co., "Ltd"', 12, true, 'https://example.org', 'two\nlines'],
  );
  assert.deepEqual(
    [second?.['name'], second?.['member_count'], second?.['links'].website],
    ['Plain', 0, null],
  );
});

test('a CSV cell of a nullable field is read as its other type', async () => {
  const schema = strictObject({ size: nullable(Type.Integer()), open: nullable(Type.Boolean()) });
  const values = [];
  for await (const line of readCsv(Readable.from([Buffer.from('size,open\n12,true\n,\n')]), schema))
    values.push('value' in line ? line.value : line);
  assert.deepEqual(values, [{ size: 12, open: true }, {}]);
});

test('a bad cell is reported with its line', async () => {
  await clear();
  const result = await importText('orgs', 'name,memberCount\nA,many\nB,1\n', {
    csv: true,
    skipBad: true,
  });
  assert.deepEqual(result.badLines, [{ line: 2, reason: 'memberCount must be integer' }]);
});

test('a row with too few or too many cells is a bad line, and later rows are read', async () => {
  await clear();
  const result = await importText('orgs', 'name,tag\nA,a\nB\nC,c,c\nD,d\n', {
    csv: true,
    skipBad: true,
  });
  assert.deepEqual(
    [result.created, result.badLines],
    [
      2,
      [
        { line: 3, reason: 'has not as many cells as the header row' },
        { line: 4, reason: 'has not as many cells as the header row' },
      ],
    ],
  );
});

test('CSV that is not UTF-8 is a bad line', async () => {
  await clear();
  const latin1 = Buffer.from('name,tag\nMüller,m\nMiller,m\n', 'latin1');
  const result = await importText('orgs', latin1, { csv: true, skipBad: true });
  assert.deepEqual(result.badLines, [{ line: 2, reason: 'is not valid UTF-8' }]);
  assert.deepEqual(
    (await rowsOf('orgs')).map(({ name }) => name),
    ['Miller'],
  );
});

test('a line cannot overwrite an entry whose slug an earlier line was given', async () => {
  await clear();
  const fillers = Array.from({ length: 999 }, (_, index) => `{"name":"Filler ${index}"}`);
  const lines = ['{"name":"Foo"}', ...fillers, '{"name":"Other","slug":"foo"}'];
  const result = await importText('orgs', lines.join('\n'), { skipBad: true });
  assert.deepEqual(
    [result.created, result.updated, result.badLines],
    [1_000, 0, [{ line: 1_001, reason: 'slug foo belongs to line 1' }]],
  );
});

test('two blueprints with one slug are reported, in the file or in the database', async () => {
  await clear();
  await put(database, 'blueprints', [blueprint({ key: 'old', slug: 'taken' })]);
  const rows = [
    blueprint({ key: 'a', slug: 'same' }),
    blueprint({ key: 'b', slug: 'same' }),
    blueprint({ key: 'c', slug: 'taken' }),
    blueprint({ key: 'old', name: 'New name' }),
  ];
  const text = rows.map((row) => JSON.stringify(row)).join('\n');
  const result = await importText('blueprints', text, { skipBad: true });
  assert.deepEqual(
    [result.created, result.updated, result.badLines],
    [
      1,
      1,
      [
        { line: 2, reason: 'slug same belongs to line 1' },
        { line: 3, reason: 'slug taken belongs to the blueprint old' },
      ],
    ],
  );
});

test('concurrent imports of organisations and alliances wait for each other', async () => {
  await clear();
  await put(database, 'alliances', [
    { slug: 'first', name: 'First' },
    { slug: 'second', name: 'Second' },
  ]);
  // As the command's and the syncs'.
  const patient = openDatabase(connection, { applicationName: 'patient', statementTimeoutMs: 0 });
  let alliances: Promise<unknown> = Promise.resolve();
  async function* orgs(): AsyncGenerator<SourceLine> {
    for (let number = 1; number <= 1_000; number += 1)
      yield { number, value: { name: 'Member', alliance: 'second', memberCount: 1 } };
    alliances = patient.transaction().execute((tx) => importLines(tx, bothAlliances(), options));
    await eventually(async () => {
      const { rows } = await sql`
        select 1 from pg_stat_activity
        where application_name = 'patient' and wait_event_type = 'Lock' and datname = current_database()
      `.execute(database);
      return rows.length > 0;
    });
    yield { number: 1_001, value: { name: 'Member', alliance: 'first', memberCount: 1 } };
  }
  async function* bothAlliances(): AsyncGenerator<SourceLine> {
    yield { number: 1, value: { slug: 'first', name: 'The first' } };
    yield { number: 2, value: { slug: 'second', name: 'The second' } };
  }
  const options = {
    kind: 'alliances',
    skipBad: false,
    emitEvents: false,
    publicUrl: testPublicUrl,
  } as const;
  await database
    .transaction()
    .execute((tx) => importLines(tx, orgs(), { ...options, kind: 'orgs' }));
  await alliances;
  await patient.destroy();
  assert.deepEqual(
    (await rowsOf('alliances')).map(({ name, org_count }) => [name, org_count]),
    [
      ['The first', 1],
      ['The second', 1_000],
    ],
  );
});

const toText = (rows: object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

async function refusal(importing: Promise<unknown>): Promise<ExistingNamesError> {
  const error = await importing.then(
    () => assert.fail('it was imported'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ExistingNamesError, String(error));
  return error;
}

test('a name stays known after the same import has updated its entry in an earlier batch', async () => {
  await sql`delete from orgs`.execute(database);
  await put(database, 'orgs', [{ slug: 'known', name: 'Known' }]);
  await sql`update orgs set created_at = now() - interval '1 day'`.execute(database);
  const fillers = Array.from({ length: 1_500 }, (_, index) => ({ name: `Filler ${index}` }));
  const rows = [{ slug: 'known', name: 'Known' }, ...fillers, { name: 'Known' }];
  const { details } = await refusal(
    importText('orgs', rows.map((row) => JSON.stringify(row)).join('\n'), { pieceBytes: 65_536 }),
  );
  assert.deepEqual(details, { existing: 1, withoutSlug: 1_501, names: ['Known'] });
});

test('an import without slugs is refused the second time', async () => {
  await clear();
  const rows = Array.from({ length: 2_500 }, (_, index) => ({ name: `Org ${index}` }));
  const text = toText([...rows, { name: 'Known', slug: 'known' }]);
  const pieceBytes = 10_000;
  assert.equal((await importText('orgs', text, { pieceBytes })).created, 2_501);
  const again = text + toText([{ name: 'New' }]);
  for (const skipBad of [false, true]) {
    const { message, details } = await refusal(importText('orgs', again, { pieceBytes, skipBad }));
    const names = ['Org 0', 'Org 1', 'Org 2', 'Org 3', 'Org 4'];
    assert.deepEqual(details, { existing: 2_500, withoutSlug: 2_501, names });
    assert.equal(
      message,
      '2500 of 2501 names without a slug are already in the directory ("Org 0", "Org 1", "Org 2", "Org 3", "Org 4", …)',
    );
  }
  assert.equal(await count('orgs'), 2_501);
  const allowed = await importText('orgs', again, { pieceBytes, allowDuplicates: true });
  assert.deepEqual([allowed.created, allowed.updated], [2_501, 1]);
});

test('only names that were there before the import are repetitions', async () => {
  await clear();
  // More than a batch, so that later batches meet the names that earlier ones have stored.
  const same = Array.from({ length: 1_200 }, () => ({ name: 'Same' }));
  await importText('orgs', toText([{ name: 'Old', slug: 'renamed' }]));
  const rows = [{ name: 'Same', slug: 'given' }, { name: 'Same', slug: 'renamed' }, ...same];
  const first = await importText('orgs', toText(rows), { pieceBytes: 10_000 });
  assert.deepEqual([first.created, first.updated], [1_201, 1]);
  const second = await refusal(importText('orgs', toText(rows), { pieceBytes: 10_000 }));
  assert.deepEqual(second.details, { existing: 1_200, withoutSlug: 1_200, names: ['Same'] });
  assert.match(second.message, /\("Same"\)$/);
});

test('a name exists if it is exactly the same, whether or not the organisation is listed', async () => {
  await clear();
  await put(database, 'orgs', [
    { slug: 'a', name: 'Acme' },
    { slug: 'b', name: 'Hidden', listed: false },
  ]);
  await put(database, 'alliances', [{ name: 'North' }]);
  await put(database, 'blueprints', [blueprint({ key: 'x', name: 'Granite' })]);
  const others = toText([{ name: 'ACME' }, { name: 'Acmé' }, { name: 'North' }]);
  assert.equal((await importText('orgs', others)).created, 3);
  const { details } = await refusal(importText('orgs', toText([{ name: 'Hidden' }])));
  assert.deepEqual(details, { existing: 1, withoutSlug: 1, names: ['Hidden'] });
  const { message } = await refusal(importText('alliances', toText([{ name: 'North' }])));
  assert.equal(message, '1 of 1 names without a slug is already in the directory ("North")');
  const twin = blueprint({ key: 'y', name: 'Granite' });
  assert.equal((await importText('blueprints', toText([twin]))).created, 1);
});

test('bad lines are reported before names that exist', async () => {
  await clear();
  await put(database, 'orgs', [{ name: 'Acme' }]);
  const text = toText([{ name: 'Acme' }, { name: '' }]);
  await assert.rejects(importText('orgs', text), BadLinesError);
  await refusal(importText('orgs', text, { skipBad: true }));
});

test('events are published only if requested, for entries that become public', async () => {
  await clear();
  const rows = [
    { slug: 'shown', name: 'Shown' },
    { slug: 'unlisted', name: 'Unlisted', listed: false },
  ];
  await put(database, 'orgs', rows);
  const events = async () =>
    (
      await sql<{
        name: string;
        data: string;
      }>`select name, data from ${recordedEvents} order by id`.execute(database)
    ).rows;
  assert.equal((await events()).length, 0);
  await put(database, 'orgs', rows, { emitEvents: true });
  assert.equal((await events()).length, 0, 'it was listed before');
  await put(
    database,
    'orgs',
    [
      { slug: 'unlisted', name: 'Unlisted' },
      { slug: 'fresh', name: 'Fresh' },
    ],
    { emitEvents: true },
  );
  assert.deepEqual((await events()).map(({ data }) => JSON.parse(data).slug).sort(), [
    'fresh',
    'unlisted',
  ]);
  await put(database, 'alliances', [{ slug: 'north', name: 'North' }], { emitEvents: true });
  assert.equal((await events()).at(-1)?.name, 'alliance.created');
});
