/** Reads CSV without a database: line numbers, and headers that cannot be used. */
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { importSchemas } from '../../src/directory/import.ts';
import { lineBytesMax } from '../../src/directory/import-source.ts';
import { readCsv } from '../../src/directory/read-csv.ts';

/** In pieces of a few bytes, so that line breaks, characters and quotes are cut anywhere. */
function piecesOf(text: string, pieceBytes: number): Buffer[] {
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, index) =>
    bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes),
  );
}

async function read(text: string, pieceBytes = 7): Promise<[number, unknown][]> {
  const lines: [number, unknown][] = [];
  const input = Readable.from(piecesOf(text, pieceBytes));
  for await (const line of readCsv(input, importSchemas.orgs))
    lines.push([line.number, 'fault' in line ? line.fault : line.value]);
  return lines;
}

test('a row has the number of the line on which it begins, as an editor counts', async () => {
  const rows = [
    '\uFEFFname,description',
    '\r\nOne,"a\r\nb\r\nc"',
    '\nTwo,"a\nb"',
    '\r\n',
    '\r\nThree,plain',
    '\n\n\n"Fo\nur","x\r\n\r\ny"',
    '\r\nFive',
    '\nSix,last',
  ];
  for (const pieceBytes of [1, 2, 7, 10_000])
    assert.deepEqual(await read(rows.join(''), pieceBytes), [
      [2, { name: 'One', description: 'a\r\nb\r\nc' }],
      [5, { name: 'Two', description: 'a\nb' }],
      [8, { name: 'Three', description: 'plain' }],
      [11, { name: 'Fo\nur', description: 'x\r\n\r\ny' }],
      [15, 'has not as many cells as the header row'],
      [16, { name: 'Six', description: 'last' }],
    ]);
  assert.deepEqual(await read('\r\n\r\n"name"\r\nOne\r\n'), [[4, { name: 'One' }]]);
  assert.deepEqual(await read('name\rOne\r\rTwo'), [
    [2, { name: 'One' }],
    [4, { name: 'Two' }],
  ]);
});

test('line breaks in cells that the header does not have count too', async () => {
  assert.deepEqual(await read('name\nOne,"a\nb"\nTwo'), [
    [2, 'has not as many cells as the header row'],
    [4, { name: 'Two' }],
  ]);
});

test('a row that is not CSV is reported by its line, and the rows above it are read', async () => {
  const above = 'name,description\r\nOne,"a\r\nb"\r\n\r\n';
  for (const [row, reason] of [
    ['"never closed,1\r\nTwo,\r\n', 'a quote is never closed'],
    ['Two,"never closed', 'a quote is never closed'],
    [
      'Two,"a "b" c"\r\nThree,\r\n',
      'text follows a closing quote; write a quote inside quotes twice',
    ],
    ['Two "b",\r\n', 'a quote is inside a cell without quotes; put the cell in quotes'],
    [`Two,"${'x'.repeat(lineBytesMax)}\r\nThree,\r\n`, 'it is longer than 2048 KiB'],
  ] as const)
    for (const pieceBytes of [7, 10_000])
      assert.deepEqual(await read(above + row, row.length > 1_000 ? 1_000 : pieceBytes), [
        [2, { name: 'One', description: 'a\r\nb' }],
        [5, `is not valid CSV: ${reason}; the lines after it were not read`],
      ]);
});

test('a header that is not CSV is an error', async () => {
  await assert.rejects(read('\n"name,tag\nOne,1\n'), {
    code: 'validation_failed',
    message: 'line 2: is not valid CSV: a quote is never closed',
  });
});

test('a repeated column is an error, and columns without a name only if they have values', async () => {
  await assert.rejects(read('name,tag,name\nOne,1,Two\n'), {
    code: 'validation_failed',
    message: 'line 1: has the column name twice; remove or rename one of them',
  });
  await assert.rejects(read('\nlinks.website,name,links.website\n'), {
    message: 'line 2: has the column links.website twice; remove or rename one of them',
  });
  assert.deepEqual(await read('name,,\nOne,,\nTwo,2,\n'), [
    [2, { name: 'One' }],
    [3, 'has a value in a column without a name'],
  ]);
});

test('a column that is no field is an error, because its empty cells would look right', async () => {
  for (const [header, message] of [
    [
      'name,descripton',
      'has the column "descripton", which is no field; did you mean "description"?',
    ],
    [
      'name,links.web site',
      'has the column "links.web site", which is no field; did you mean "links.website"?',
    ],
    ['name, tag', 'has the column " tag", which is no field; did you mean "tag"?'],
  ] as const)
    await assert.rejects(read(`${header}\nOne,\n`), { message: `line 1: ${message}` });
  await assert.rejects(read('name,quantity\nOne,\n'), {
    message: /line 1: has the column "quantity", which is no field; use one of .*description/,
  });
});

test('booleans may be as spreadsheets write them', async () => {
  assert.deepEqual(await read('name,listed\nTRUE,TRUE\nFalse,False\nno,no\n'), [
    [2, { name: 'TRUE', listed: true }],
    [3, { name: 'False', listed: false }],
    [4, { name: 'no', listed: 'no' }],
  ]);
});

test('another separator than the comma is one error', async () => {
  for (const [header, separators] of [
    ['name;tag', 'semicolons'],
    ['\uFEFF\r\nname;links.website;unknown', 'semicolons'],
    ['"name";"tag"', 'semicolons'],
    ['name\ttag', 'tabs'],
    ['name\t"tag"', 'tabs'],
    ['name ; tag', 'semicolons'],
  ] as const)
    await assert.rejects(read(`${header}\r\nOne;1,5\r\nTwo;2\r\n`), {
      code: 'validation_failed',
      message: `line ${header.includes('\n') ? 2 : 1}: separates the columns with ${separators}; use commas`,
    });
  for (const header of ['a;b', 'name,a;tag'])
    await assert.rejects(read(`${header}\nOne,\n`), { message: /has the column "a;\w+", which/ });
});
