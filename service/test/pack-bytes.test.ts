import assert from 'node:assert/strict';
import { test } from 'node:test';
import { packBytes } from '../src/database/pack-bytes.ts';
import { sql } from '../src/database/database.ts';
import { openTestDatabase } from './support/database.ts';

const { database } = await openTestDatabase();

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
