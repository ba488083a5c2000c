/** Everything public at once: docs/reference/reads.md#downloads */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { createGunzip, gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { sql } from '../../src/database/database.ts';
import { Downloads, type DownloadsOptions } from '../../src/directory/downloads.ts';
import { ServiceError } from '../../src/errors.ts';
import { createSealedCursors } from '../../src/events/cursors.ts';
import { downloadsPerMinute } from '../../src/http/v1/directory.ts';
import { blueprint, put } from '../support/directory.ts';
import { openTestDatabase } from '../support/database.ts';
import { makeKey, startTestService, testPublicUrl, type TestService } from '../support/service.ts';

const shared = await openTestDatabase();
const service = await startTestService({ beside: shared });
const { database, revisions } = service;
const own = await openTestDatabase();
const limited = await startTestService({ beside: own, env: { RATE_LIMIT_PER_MINUTE: '100' } });

await put(database, 'alliances', [{ slug: 'north', name: 'North' }]);
await put(database, 'orgs', [
  { slug: 'acme', name: 'Acme', alliance: 'north', description: 'Ünïcödé' },
  { slug: 'beta', name: 'Beta' },
  { slug: 'hidden', name: 'Hidden', listed: false },
]);
await put(database, 'blueprints', [blueprint({ key: 'granite' })]);
await service.settled();

type Headers = Record<string, string | string[] | undefined>;
async function download(
  path: string,
  headers: Record<string, string> = {},
  { url, key }: Pick<TestService, 'url' | 'key'> = service,
  method: 'GET' | 'HEAD' = 'GET',
): Promise<{ status: number; headers: Headers; bytes: Buffer }> {
  const response = await request(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...headers },
  });
  const bytes = await buffer(response.body);
  return { status: response.statusCode, headers: response.headers, bytes };
}
const entriesIn = (text: Buffer) =>
  text
    .toString()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as { id: string; slug: string });

test('a download has its type, its length, and the cursor of what comes after', async () => {
  const { status, headers, bytes } = await download('/orgs.ndjson');
  assert.equal(status, 200);
  assert.equal(headers['content-type'], 'application/x-ndjson; charset=utf-8');
  assert.equal(Number(headers['content-length']), bytes.length);
  const { body } = await service.call(`/orgs?changedSince=${String(headers['x-next-cursor'])}`);
  assert.equal(body.meta.changes.nextCursor, headers['x-next-cursor']);
});

test('it is compressed for whoever accepts that, and either tag is good for both', async () => {
  const plain = await download('/orgs.ndjson');
  assert.equal(plain.headers['content-encoding'], undefined);
  for (const accepts of ['gzip', 'br, gzip;q=0.5', '*']) {
    const { headers, bytes } = await download('/orgs.ndjson', { 'accept-encoding': accepts });
    assert.equal(headers['content-encoding'], 'gzip', accepts);
    assert.equal(headers['vary'], 'Accept-Encoding');
    assert.deepEqual(gunzipSync(bytes), plain.bytes);
    assert.notEqual(headers['etag'], plain.headers['etag']);
    for (const etag of [headers['etag'], plain.headers['etag']]) {
      const again = await download('/orgs.ndjson', { 'if-none-match': String(etag) });
      assert.deepEqual([again.status, again.bytes.length], [304, 0]);
    }
  }
  for (const refuses of ['gzip;q=0', 'br', 'identity'])
    assert.equal(
      (await download('/orgs.ndjson', { 'accept-encoding': refuses })).headers['content-encoding'],
      undefined,
      refuses,
    );
  const head = await download('/orgs.ndjson', {}, service, 'HEAD');
  assert.deepEqual([head.status, head.bytes.length], [200, 0]);
  assert.equal(head.headers['content-length'], plain.headers['content-length']);
});

test('an app may download six times per minute, with all its keys', async () => {
  const one = await makeKey(own);
  const statuses: number[] = [];
  for (let count = 0; count < downloadsPerMinute; count += 1)
    statuses.push((await download('/orgs.ndjson', {}, { ...limited, key: one.key })).status);
  assert.deepEqual(statuses, Array(downloadsPerMinute).fill(200));
  const refused = await download('/alliances.ndjson', {}, { ...limited, key: one.key });
  assert.equal(refused.status, 429);
  assert.match(String(refused.headers['retry-after']), /^\d+$/);
  assert.equal((await limited.call('/orgs', { key: one.key })).status, 200);
  assert.equal((await download('/orgs.ndjson', {}, limited)).status, 200);
});

const createDownloads = (options: Partial<DownloadsOptions> = {}) =>
  new Downloads({
    database,
    revisions,
    cursors: createSealedCursors(service.secretKeys),
    publicUrl: testPublicUrl,
    log: { warn: () => assert.fail('nothing is too large') },
    ...options,
  });

test('changes are rendered once a minute, with one rendering for all who ask', async () => {
  const downloads = createDownloads();
  const [first, second] = await Promise.all([downloads.get('orgs'), downloads.get('orgs')]);
  assert.equal(first, second);
  await sql`update orgs set name = name || '!' where slug = 'acme'`.execute(database);
  await service.settled();
  assert.equal(await downloads.get('orgs'), first);
  const { body } = await service.call(`/orgs?changedSince=${first.nextCursor}`);
  assert.deepEqual(
    body.data.map(({ slug }: { slug: string }) => slug),
    ['acme'],
  );
  const eager = createDownloads({ renderEveryMs: 0 });
  const old = await eager.get('orgs');
  assert.equal(await eager.get('orgs'), old, 'nothing has changed');
  await sql`update orgs set notes = gen_random_uuid()::text where slug = 'acme'`.execute(database);
  await service.settled();
  assert.equal((await eager.get('orgs')).etag, old.etag, 'nothing public has changed');
  await sql`update orgs set name = name || '!' where slug = 'acme'`.execute(database);
  await service.settled();
  assert.notEqual((await eager.get('orgs')).etag, old.etag);
});

/** What a reader gets that takes everything. */
const readAll = (reader: Readable) => buffer(reader).then(entriesIn);

test('slow readers share the bytes, and give way when they hold too much', async () => {
  const rows = Array.from({ length: 3_000 }, (_, index) => ({
    slug: `many-${index}`,
    name: `Many ${index}`,
    description: Buffer.from(`${index ** 3}`.repeat(20)).toString('base64'),
  }));
  await put(database, 'orgs', rows);
  await service.settled();
  const change = async () => {
    await sql`update orgs set name = name || '!' where slug = 'acme'`.execute(database);
    await service.settled();
  };
  const size = (await createDownloads().get('orgs')).gzipBytes;
  const downloads = createDownloads({ bytesMax: size * 3.5, renderEveryMs: 0 });
  const first = await downloads.get('orgs');
  const slow = Array.from({ length: 50 }, (_, index) => first.read(index % 2 === 0));
  for (const reader of slow) await once(reader, 'readable');
  assert.equal(downloads.bytesHeld(), size);
  const ended = slow.map((reader) => once(reader, 'error'));
  const held: Readable[] = [];
  for (let count = 0; count < 3; count += 1) {
    await change();
    const next = await downloads.get('orgs');
    held.push(next.read(false));
    assert.ok(downloads.bytesHeld() <= size * 3.5);
  }
  await Promise.all(ended);
  for (const reader of held) assert.equal((await readAll(reader)).length, rows.length + 2);
});

test('a list that can never fit is refused for good, and one that fits later for a minute', async () => {
  const warned: [object, string][] = [];
  const log = { warn: (fields: object, message: string) => void warned.push([fields, message]) };
  const tooLarge = createDownloads({ bytesMax: 1_000, log });
  const refused = await tooLarge.get('orgs').catch((error: unknown) => error);
  assert.ok(refused instanceof ServiceError);
  assert.deepEqual([refused.status, refused.headers], [413, {}]);
  assert.equal(tooLarge.bytesHeld(), 0);
  assert.equal(await tooLarge.get('orgs').catch((error: unknown) => error), refused);
  assert.deepEqual(warned, [[{ kind: 'orgs' }, 'download.too_large']]);
  assert.equal((await tooLarge.get('alliances')).gzipBytes < 1_000, true);

  const size = (await createDownloads().get('orgs')).gzipBytes;
  const crowded = createDownloads({ bytesMax: size });
  const reader = (await crowded.get('alliances')).read(true);
  await assert.rejects(
    crowded.get('orgs'),
    ({ status, headers }: ServiceError) => status === 503 && headers['retry-after'] === '60',
  );
  await readAll(reader.pipe(createGunzip()));
  assert.equal((await crowded.get('orgs')).gzipBytes, size, 'what nobody reads gives way');
});

test('an old download gives way to its successor, which alone fits', async () => {
  const size = (await createDownloads().get('orgs')).gzipBytes;
  const downloads = createDownloads({ bytesMax: size * 1.5, renderEveryMs: 0 });
  const old = await downloads.get('orgs');
  await sql`update orgs set name = name || '!' where slug = 'acme'`.execute(database);
  await service.settled();
  assert.notEqual(await downloads.get('orgs'), old);
});
