import assert from 'node:assert/strict';
import { test } from 'node:test';
import { arrayLiteral, packBytes } from '../../src/database/array-literal.ts';
import { sql } from '../../src/database/database.ts';
import { openTestDatabase } from '../support/database.ts';

const { database } = await openTestDatabase();

test('an array literal reads back as what it was made of', async () => {
  const ids = ['01a1ff21-e40a-7e84-ab84-35e5887aae71', '01a1ff21-bc3f-72c9-b905-6eafcfbf9288'];
  const times = ['2026-11-20T12:00:00.123Z', null];
  const { rows } = await sql<Record<string, unknown[]>>`
    select ${arrayLiteral(ids)}::uuid[] as ids, ${arrayLiteral([1, null, -3])}::int[] as numbers,
      ${arrayLiteral([true, false])}::boolean[] as flags, ${arrayLiteral(['retry', null])}::text[] as words,
      ${arrayLiteral(times)}::timestamptz[] as times, ${arrayLiteral([])}::uuid[] as none
  `.execute(database);
  assert.deepEqual(rows[0], {
    ids,
    numbers: [1, null, -3],
    flags: [true, false],
    words: ['retry', null],
    times: [new Date('2026-11-20T12:00:00.123Z'), null],
    none: [],
  });
});

test('packed bytes come apart again, to the byte', async () => {
  const pieces = [Buffer.from([0, 255, 1]), null, Buffer.alloc(0), Buffer.from('{"ü":1}')];
  const { bytes, starts, lengths } = packBytes(pieces);
  const { rows } = await sql<{ piece: Buffer | null }>`
    select substring(${bytes}::bytea from start for length) as piece
    from unnest(${starts}::int[], ${lengths}::int[]) with ordinality as t(start, length, n) order by n
  `.execute(database);
  assert.deepEqual(
    rows.map(({ piece }) => piece),
    pieces,
  );
});
