/** How a source's bytes become rows, whatever its pieces: nothing is lost, and what was cut is never taken for whole. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { lineBytesMax, type SourceLine } from '../../src/directory/import-source.ts';
import { readRows } from '../../src/sync/read-rows.ts';
import { SyncFailure } from '../../src/sync/sync-failure.ts';

const runs = { numRuns: 100 };
/** As a source would have them: objects, whose strings may hold every bracket and quote. */
const entries = fc.array(
  fc.dictionary(
    fc.string({ unit: 'binary', maxLength: 5 }),
    fc.oneof(
      fc.string({ unit: fc.constantFrom('"', '\\', '[', ']', '{', '}', ',', '\n', 'é', '👩‍🚀') }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom(null, true, [], {}, [[{ a: [']'] }]]),
    ),
    { maxKeys: 4 },
  ),
  { minLength: 1, maxLength: 12 },
);
const pieceBytes = fc.integer({ min: 1, max: 40 });

async function* cut(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(bytes: Buffer, size: number): Promise<SourceLine[]> {
  const content = { bytes: cut(bytes, size), tellsItsEnd: true };
  const state = { etag: null, lastModified: null };
  const { rows } = await readRows({ kind: 'content', ...content, state }, () => {});
  return Array.fromAsync(rows);
}

const valuesOf = (lines: SourceLine[]) =>
  lines.map((line) => ('value' in line ? line.value : assert.fail(JSON.stringify(line))));

/** In every form that a source may have. */
const forms = {
  'one JSON array': (rows: unknown[]) => JSON.stringify(rows),
  'an indented JSON array': (rows: unknown[]) => ` \r\n${JSON.stringify(rows, null, '\t')}\n\n`,
  lines: (rows: unknown[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
  'lines without a last end': (rows: unknown[]) =>
    rows.map((row) => JSON.stringify(row)).join('\n'),
};
const form = fc.constantFrom(...(Object.keys(forms) as (keyof typeof forms)[]));

test('arrays and lines in pieces of any size give what was written, gzipped or not', async () => {
  await fc.assert(
    fc.asyncProperty(entries, form, pieceBytes, async (rows, name, size) => {
      const text = Buffer.from(forms[name](rows));
      const expected = JSON.parse(JSON.stringify(rows)) as unknown;
      for (const bytes of [text, gzipSync(text)]) {
        const found = await read(bytes, size);
        assert.deepEqual(valuesOf(found), expected);
        assert.deepEqual(
          found.map(({ number }) => number),
          rows.map((_, index) => index + 1),
        );
      }
    }),
    { numRuns: 200 },
  );
});

test('a truncated array or gzip stream is never taken for complete', async () => {
  await fc.assert(
    fc.asyncProperty(entries, pieceBytes, fc.nat(), async (rows, size, at) => {
      const array = Buffer.from(JSON.stringify(rows));
      const zipped = gzipSync(array);
      for (const whole of [array, zipped]) {
        const bytes = whole.subarray(0, 2 + (at % (whole.length - 2)));
        await assert.rejects(
          read(bytes, size),
          (error) => error instanceof SyncFailure && error.reason === 'cut_off',
          `${whole.length} bytes, of which ${bytes.length} came`,
        );
      }
    }),
    runs,
  );
});

test('a source that ends in the middle of a line is truncated', async () => {
  for (const text of ['{"key":"a"}\n{"key":"b', '{"key":"a', '\uFEFF {', '{"key":"a"}\n\n {"key"'])
    for (const size of [1, 7, 100])
      await assert.rejects(
        read(Buffer.from(text), size),
        (error) => error instanceof SyncFailure && error.reason === 'cut_off',
        text,
      );
});

test('lines that are not objects are bad rows, not a truncated source', async () => {
  const indented = JSON.stringify({ key: 'a', links: {} }, null, 2);
  for (const [name, bytes] of [
    ['a page', Buffer.from('<!doctype html>\n<html>\n<p>Sign in</p>\n</html>')],
    ['a page of one line', Buffer.from('<html></html>')],
    ['an indented object', Buffer.from(indented)],
    ['an indented object that ends in a brace', Buffer.from(`{\n"links":\n{`)],
    ['UTF-16', Buffer.from('\uFEFF{"key":"a"}\n{"key":"b"}', 'utf16le')],
    ['a last line that is no object', Buffer.from('{"key":"a"}\nbye')],
  ] as const)
    for (const size of [1, 7, 100]) {
      const found = await read(bytes, size);
      assert.ok(
        found.some((line) => 'fault' in line),
        name,
      );
    }
});

test('any bytes are rows, bad rows, or a failure with a reason', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.uint8Array({ maxLength: 200 }),
        fc.json().map((text) => Buffer.from(text)),
      ),
      pieceBytes,
      async (bytes, size) => {
        await read(Buffer.from(bytes), size).catch((error: unknown) => {
          if (!(error instanceof SyncFailure)) throw error;
        });
      },
    ),
    runs,
  );
});

test('an entry over the limit is reported by its number and never fills the memory', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const heapBytes = () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = heapBytes();
  let peakBytes = 0;
  const piece = Buffer.alloc(64 * 1024, 'x');
  const pieces = 1024;
  async function* long(): AsyncGenerator<Buffer> {
    yield Buffer.from('[{"name":"');
    for (let count = 0; count < pieces; count += 1) {
      yield piece;
      if (count % 256 === 0) peakBytes = Math.max(peakBytes, heapBytes() - before);
    }
    yield Buffer.from('"},{"key":"after"}]');
  }
  const state = { etag: null, lastModified: null };
  const content = { bytes: long(), tellsItsEnd: true, state } as const;
  const { rows } = await readRows({ kind: 'content', ...content }, () => {});
  assert.deepEqual(await Array.fromAsync(rows), [
    { number: 1, fault: `is longer than ${lineBytesMax / 1024} KiB` },
    { number: 2, value: { key: 'after' } },
  ]);
  assert.ok(peakBytes < (pieces * piece.length) / 8, `${peakBytes} bytes`);
});

test('nesting without end is refused', async () => {
  async function* deep(): AsyncGenerator<Buffer> {
    for (;;) yield Buffer.alloc(64 * 1024, '[');
  }
  const state = { etag: null, lastModified: null };
  const content = { bytes: deep(), tellsItsEnd: true, state } as const;
  const { rows } = await readRows({ kind: 'content', ...content }, () => {});
  await assert.rejects(
    Array.fromAsync(rows),
    (error) => error instanceof SyncFailure && error.reason === 'malformed',
  );
});

test('an array that is not JSON in one place is malformed', async () => {
  for (const bytes of [
    Buffer.from('[{"a":1},{"a":tru},{"a":"the rest"}]'),
    Buffer.from('[1 2]'),
    Buffer.from('[{"a":1}]]'),
    Buffer.from('[{"a":1}][{"a":1}]'),
    Buffer.from('[{"a":1},,{"a":2}]'),
    Buffer.from('[{"a":1},]'),
    Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]),
  ])
    for (const size of [1, 100])
      await assert.rejects(
        read(bytes, size),
        (error) => error instanceof SyncFailure && error.reason === 'malformed',
      );
});
