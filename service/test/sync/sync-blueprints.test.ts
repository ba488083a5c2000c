import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { sql } from '../../src/database/database.ts';
import { exportLines } from '../../src/directory/export.ts';
import { lockDirectory } from '../../src/directory/lock-directory.ts';
import { listRuns, readRun } from '../../src/sync/runs.ts';
import type { SyncFailure } from '../../src/sync/sync-failure.ts';
import { dribble, head, startByteReceiver } from '../support/byte-receiver.ts';
import { openTestDatabase } from '../support/database.ts';
import { blueprint, put } from '../support/directory.ts';
import { startReceiver, type Respond } from '../support/receiver.ts';
import {
  eventsOf,
  isWaiting,
  revisionOf,
  runBlueprints,
  runOf,
  stateOf,
} from '../support/syncs.ts';

const opened = await openTestDatabase();
const { database } = opened;
const folder = await mkdtemp(join(tmpdir(), 'orgdir-sync-'));
after(() => rm(folder, { recursive: true }));

beforeEach(async () => {
  await sql`truncate blueprints, outbox, sync_runs cascade`.execute(database);
  await sql`update list_totals set entries = 0`.execute(database);
});

const ndjson = (rows: object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
let files = 0;

async function fileOf(content: string | Buffer): Promise<string> {
  files += 1;
  const file = join(folder, `source-${files}.ndjson`);
  await writeFile(file, content);
  return file;
}

/** A server that answers with this, whatever it is asked. */
async function serve(respond: Respond): Promise<{ url: string; received: any[] }> {
  const receiver = await startReceiver(respond);
  return { ...receiver, url: receiver.url.replace(/hook$/, 'blueprints.ndjson') };
}

const sync = (source: string, options = {}) => runBlueprints(opened, source, options);

async function succeed(source: string, options = {}) {
  const outcome = await sync(source, options);
  assert.equal(outcome.kind, 'succeeded', JSON.stringify(outcome));
  return runOf(outcome);
}

const granite = blueprint({ key: 'granite', name: 'Granite', version: '1.21.4' });
const diorite = blueprint({ key: 'diorite', name: 'Diorite', version: '1.21.4' });
const andesite = blueprint({ key: 'andesite', name: 'Andesite', version: '1.21.4' });
const all = [granite, diorite, andesite];

const noCounts = { total: 0, created: 0, updated: 0, retired: 0, unchanged: 0, failed: 0 };
const countsOf = (counts: Partial<typeof noCounts>) => ({ ...noCounts, ...counts });

type Stored = { key: string; slug: string; name: string; active: boolean; retired_at: Date | null };
const stored = async () =>
  (await stateOf(database, 'blueprints')).map((row) => row as unknown as Stored);
const byKey = async () => new Map((await stored()).map((row) => [row.key, row]));

test('a sync creates, updates, retires and reactivates blueprints', async () => {
  const first = await succeed(await fileOf(ndjson(all)));
  assert.deepEqual(first.counts, countsOf({ total: 3, created: 3 }));
  const changed = { ...diorite, name: 'Polished Diorite' };
  const second = await succeed(await fileOf(ndjson([granite, changed])));
  assert.deepEqual(second.counts, countsOf({ total: 2, updated: 1, retired: 1, unchanged: 1 }));
  const retired = (await byKey()).get('andesite');
  assert.ok(retired && !retired.active && retired.retired_at);
  assert.equal((await byKey()).get('diorite')?.name, 'Polished Diorite');
  const third = await succeed(await fileOf(ndjson([granite, changed, andesite])));
  assert.deepEqual([third.counts?.['updated'], third.counts?.['unchanged']], [1, 2]);
  assert.equal((await byKey()).get('andesite')?.retired_at, null);
  assert.equal((await byKey()).get('andesite')?.slug, 'andesite');
});

test("a sync publishes its counts and version, without the file's path", async () => {
  const run = await succeed(await fileOf(ndjson(all)));
  const [event] = await eventsOf(database, 'blueprint.sync.completed');
  assert.deepEqual(event, {
    runId: run.id,
    source: `source-${files}.ndjson`,
    startedAt: run.startedAt,
    finishedAt: run.finishedAt,
    durationMs: run.durationMs,
    counts: countsOf({ total: 3, created: 3 }),
    version: '1.21.4',
  });
  await succeed(await fileOf(ndjson([...all, blueprint({ version: '1.21.5' })])));
  assert.equal((await eventsOf(database, 'blueprint.sync.completed')).at(-1).version, null);
});

test('a second sync of the same source writes nothing but its event', async () => {
  const rows = [
    ...all,
    blueprint({
      description: 'With "all" of it',
      craftTimeSeconds: 2.5,
      ingredients: [{ item: 'a', name: 'A', quantity: 1.5 }],
      sources: [{ kind: 'recipe', name: 'Table' }],
    }),
    blueprint({ active: false }),
  ];
  const file = await fileOf(ndjson(rows));
  await succeed(file);
  const before = await stateOf(database, 'blueprints');
  const revision = await revisionOf(database, 'blueprints');
  const run = await succeed(file);
  assert.deepEqual(run.counts, countsOf({ total: 5, unchanged: 5 }));
  assert.deepEqual(await stateOf(database, 'blueprints'), before);
  assert.equal(await revisionOf(database, 'blueprints'), revision);
  assert.equal((await eventsOf(database, 'blueprint.sync.completed')).length, 2);
});

test('JSON arrays, byte order marks, Windows line ends and gzip are detected by content', async () => {
  await succeed(await fileOf(ndjson(all)));
  const before = await stateOf(database, 'blueprints');
  const contents = [
    JSON.stringify(all),
    JSON.stringify(all, null, 2),
    `\uFEFF \n${JSON.stringify(all)}\n`,
    `\uFEFF${ndjson(all).replaceAll('\n', '\r\n')}`,
    ndjson(all).trimEnd(),
    gzipSync(ndjson(all)),
    gzipSync(JSON.stringify(all)),
  ];
  for (const content of contents) {
    const run = await succeed(await fileOf(content));
    assert.deepEqual([run.counts?.['total'], run.counts?.['unchanged']], [3, 3]);
  }
  assert.deepEqual(await stateOf(database, 'blueprints'), before);
});

test('an export is a valid source and changes nothing', async () => {
  await succeed(await fileOf(ndjson([...all, blueprint({ active: false }), blueprint()])));
  await succeed(await fileOf(ndjson(all)));
  const before = await stateOf(database, 'blueprints');
  const lines = await database
    .transaction()
    .execute((tx) => Array.fromAsync(exportLines(tx, 'blueprints')));
  const run = await succeed(await fileOf(ndjson(lines.flat())));
  assert.deepEqual([run.counts?.['total'], run.counts?.['unchanged']], [5, 5]);
  assert.deepEqual(await stateOf(database, 'blueprints'), before);
});

test('a slug from the source is kept, and generated slugs avoid it', async () => {
  const rows = [
    blueprint({ key: 'a', name: 'Stone' }),
    blueprint({ key: 'b', name: 'Other', slug: 'stone' }),
  ];
  const file = await fileOf(ndjson(rows));
  await succeed(file);
  assert.deepEqual([...(await byKey())].map(([key, { slug }]) => [key, slug]).sort(), [
    ['a', 'stone-2'],
    ['b', 'stone'],
  ]);
  assert.equal((await succeed(file)).counts?.['unchanged'], 2);
});

/** Runs a source that must fail: the directory stays as it was, nothing is announced, and the run says why. */
async function fail(
  source: string,
  reason: SyncFailure['reason'],
  options: { words?: RegExp; skipBad?: boolean; timeoutMs?: number } = {},
): Promise<void> {
  const before = await stateOf(database, 'blueprints');
  const announced = await eventsOf(database, 'blueprint.sync.completed');
  const outcome = await sync(source, options);
  assert.equal(outcome.kind, 'failed', JSON.stringify(outcome));
  const run = runOf(outcome);
  assert.equal(run.reason, reason, run.message ?? '');
  assert.match(run.message ?? '', options.words ?? /./);
  assert.deepEqual(await readRun(database, run.id), run);
  assert.deepEqual(await stateOf(database, 'blueprints'), before);
  assert.deepEqual(await eventsOf(database, 'blueprint.sync.completed'), announced);
}

test('a bad row is reported even if its text is cut within a character', async () => {
  const bad = { ...diorite, [`${'a'.repeat(79)}😀`]: 1 };
  const file = await fileOf(ndjson([granite, bad]));
  await fail(file, 'bad_rows', { words: /is not known here/ });
  const run = await succeed(file, { skipBad: true });
  assert.equal(run.counts?.['failed'], 1);
  assert.match(run.problems[0]?.reason ?? '', /is not known here/);
});

test('a truncated, malformed or empty file changes nothing, with or without --skip-bad', async () => {
  await succeed(await fileOf(ndjson(all)));
  const text = JSON.stringify(all);
  const zipped = gzipSync(ndjson(all));
  const contents: [string | Buffer, SyncFailure['reason']][] = [
    // All others: sync-rows.test.ts.
    ['', 'empty'],
    [' \n\n', 'empty'],
    ['[ \n ]\n', 'empty'],
    [text.slice(0, -20), 'cut_off'],
    [text.replace('},{', '},,{'), 'malformed'],
    [ndjson(all).slice(0, -20), 'cut_off'],
    [zipped.subarray(0, -4), 'cut_off'],
    [Buffer.concat([zipped.subarray(0, 10), Buffer.alloc(90, 0xff)]), 'malformed'],
  ];
  for (const [content, reason] of contents) {
    await fail(await fileOf(content), reason);
    await fail(await fileOf(content), reason, { skipBad: true });
  }
  await fail(join(folder, 'nowhere.ndjson'), 'unreachable', { words: /ENOENT/ });
  await fail(folder, 'unreachable', { words: /not a file/ });
  await fail(await fileOf('hello\nworld\n'), 'bad_rows');
  await fail(await fileOf('<html>\n'), 'empty', { skipBad: true });
});

test('one bad row fails the run, which reports the first hundred bad rows', async () => {
  await succeed(await fileOf(ndjson(all)));
  const bad = Array.from({ length: 150 }, () => ({ key: 'half' }));
  const outcome = await sync(await fileOf(ndjson([...all, ...bad])));
  const run = runOf(outcome);
  assert.deepEqual([outcome.kind, run.reason], ['failed', 'bad_rows']);
  assert.match(run.message ?? '', /^150 bad rows, the first in line 4: name is required/);
  assert.equal(run.problems.length, 100);
  assert.deepEqual(run.problems[99]?.subject, 'line 103');
  await fail(await fileOf(ndjson([...all, granite])), 'bad_rows', {
    words: /line 4: key granite stands in row 1 too/,
  });
  const twice = [blueprint({ key: 'x', slug: 'same' }), blueprint({ key: 'y', slug: 'same' })];
  await fail(await fileOf(JSON.stringify([...all, ...twice])), 'bad_rows', {
    words: /entry 5: slug same stands in row 4 too/,
  });
  await fail(await fileOf(ndjson([...all, blueprint({ key: 'z', slug: 'granite' })])), 'bad_rows', {
    words: /line 4: slug granite belongs to the blueprint granite/,
  });
  await fail(await fileOf(ndjson([...all, blueprint({ slug: 'search' })])), 'bad_rows', {
    words: /reserved/,
  });
});

test('skipped rows are counted, and their blueprints stay', async () => {
  await succeed(await fileOf(ndjson([...all, blueprint({ key: 'gone' })])));
  const rows = [granite, diorite, { key: 'andesite', name: '' }];
  const run = await succeed(await fileOf(ndjson(rows)), { skipBad: true });
  assert.deepEqual(run.counts, countsOf({ total: 3, retired: 1, unchanged: 2, failed: 1 }));
  assert.deepEqual(
    run.problems.map(({ subject }) => subject),
    ['line 3'],
  );
  assert.equal((await byKey()).get('andesite')?.active, true);
  assert.equal((await byKey()).get('gone')?.active, false);
});

test('a skipped row without a key keeps all blueprints', async () => {
  await succeed(await fileOf(ndjson(all)));
  for (const row of ['not json', '{"name":"Keyless"}', '{"key":7}', 'null']) {
    const run = await succeed(await fileOf(`${ndjson([granite, diorite])}${row}\n`), {
      skipBad: true,
    });
    assert.deepEqual([run.counts?.['retired'], run.counts?.['failed']], [0, 1]);
    assert.equal((await byKey()).get('andesite')?.active, true);
  }
});

test('a source that would retire more than half changes nothing unless forced', async () => {
  const four = [...all, blueprint({ key: 'tuff' })];
  await succeed(await fileOf(ndjson(four)));
  const one = await fileOf(ndjson([granite]));
  await fail(one, 'shrunk', { words: /3 of 4 active blueprints.*--force/ });
  // As large as before, and of nothing that is there.
  const strangers = await fileOf(ndjson([1, 2, 3, 4].map(() => blueprint())));
  await fail(strangers, 'shrunk', { words: /4 of 4/ });
  const inactive = await fileOf(ndjson(four).replaceAll('"key"', '"active":false,"key"'));
  await fail(inactive, 'shrunk');
  assert.equal((await succeed(await fileOf(ndjson([granite, diorite])))).counts?.['retired'], 2);
  assert.equal((await succeed(one)).counts?.['retired'], 1, 'just half');
  assert.equal((await succeed(strangers, { force: true })).counts?.['retired'], 1);
});

test('a source is read over HTTP, with gzip, chunks and redirects', async () => {
  const body = ndjson(all);
  const server = await serve((response, { path, headers }) => {
    assert.equal(headers['accept-encoding'], 'gzip');
    if (path === '/blueprints.ndjson') return response.writeHead(302, { location: '/a?b=c' }).end();
    if (path === '/a?b=c') return response.writeHead(308, { location: './zipped' }).end();
    if (path === '/zipped')
      return response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(body));
    return response.writeHead(404).end();
  });
  assert.equal((await succeed(server.url)).counts?.['created'], 3);
  const chunked = await serve((response) => {
    response.writeHead(200);
    response.write(body.slice(0, 50));
    response.end(body.slice(50));
  });
  assert.equal((await succeed(chunked.url)).counts?.['unchanged'], 3);
});

test('an error or a truncated response changes nothing', async () => {
  await succeed(await fileOf(ndjson(all)));
  const body = ndjson(all);
  const answers: [Respond, SyncFailure['reason']][] = [
    [(response) => response.writeHead(404).end(body), 'refused'],
    [(response) => response.writeHead(500).end(body), 'refused'],
    [(response) => response.writeHead(206).end(body), 'refused'],
    [(response) => response.writeHead(304).end(), 'refused'],
    [(response) => response.writeHead(204).end(), 'refused'],
    [(response, { path }) => response.writeHead(302, { location: `${path}x` }).end(), 'refused'],
    [(response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end(), 'refused'],
    [(response) => response.writeHead(302).end(), 'refused'],
    [(response) => response.writeHead(200, { 'content-encoding': 'br' }).end(body), 'refused'],
    [
      (response) => response.writeHead(200, { 'content-length': '600000000' }).write(body),
      'too_large',
    ],
    [
      (response) => {
        response.writeHead(200, { 'content-length': String(body.length + 1) });
        response.write(body, () => response.destroy());
      },
      'cut_off',
    ],
    [
      (response) => {
        response.writeHead(200);
        response.write(body, () => response.destroy());
      },
      'cut_off',
    ],
    [(response) => response.destroy(), 'cut_off'],
  ];
  for (const [respond, reason] of answers) {
    const server = await serve(respond);
    await fail(server.url, reason);
    await fail(server.url, reason, { skipBad: true });
  }
  for (const headers of [{}, { location: '' }]) {
    const nowhere = await serve((response) => response.writeHead(302, headers).end());
    await fail(nowhere.url, 'refused', { words: /redirected to no plain HTTP/ });
    assert.equal(nowhere.received.length, 1);
  }
  await fail('http://127.0.0.1:1/blueprints.ndjson', 'unreachable', { words: /ECONNREFUSED/ });
});

test('NDJSON without a known length is rejected, a JSON array is accepted', async () => {
  const untilClose = (text: string) =>
    startByteReceiver((socket) => socket.end(head('200 OK', 'Connection: close') + text));
  await succeed((await untilClose(JSON.stringify(all))).url);
  await fail((await untilClose(ndjson(all))).url, 'cut_off', { words: /where it ends/ });
  const garbage = await startByteReceiver((socket) => socket.end('nothing of HTTP\r\n\r\n'));
  await fail(garbage.url, 'cut_off');
});

test('a source that takes too long fails the run', async () => {
  await succeed(await fileOf(ndjson(all)));
  const slow = await startByteReceiver((socket) => {
    socket.write(head('200 OK', 'Content-Length: 100000'));
    dribble(socket, ndjson(all));
  });
  await fail(slow.url, 'too_slow', { timeoutMs: 300 });
  const silent = await startByteReceiver(() => {});
  await fail(silent.url, 'too_slow', { timeoutMs: 300 });
});

test('an unchanged source is not read again, and its blueprints count as unchanged', async () => {
  const server = await serve((response, { headers }) => {
    if (headers['if-none-match'] === '"one"') return response.writeHead(304).end();
    return response.writeHead(200, { etag: '"one"', 'last-modified': 'then' }).end(ndjson(all));
  });
  await succeed(server.url);
  const before = await stateOf(database, 'blueprints');
  for (let runs = 1; runs <= 2; runs += 1) {
    const run = await succeed(server.url);
    assert.deepEqual(run.counts, countsOf({ total: 3, unchanged: 3 }));
    assert.equal(run.version, '1.21.4');
    assert.equal(server.received.at(-1).headers['if-modified-since'], 'then');
  }
  assert.deepEqual(await stateOf(database, 'blueprints'), before);
  assert.equal((await eventsOf(database, 'blueprint.sync.completed')).length, 3);
});

test('a source is read in full after a change of the blueprints or the URL, or with --force', async () => {
  const server = await serve((response) =>
    response.writeHead(200, { etag: '"one"' }).end(ndjson(all)),
  );
  const asked = () => server.received.at(-1).headers['if-none-match'] as string | undefined;
  await succeed(server.url);
  await put(database, 'blueprints', [{ ...granite, name: 'By hand' }]);
  assert.equal((await succeed(server.url)).counts?.['updated'], 1);
  assert.equal(asked(), undefined);
  await succeed(server.url);
  assert.equal(asked(), '"one"');
  await succeed(`${server.url}?other`);
  assert.equal(asked(), undefined);
  await succeed(`${server.url}?other`, { force: true });
  assert.equal(asked(), undefined);
  // The last run was of another source, which may have said something else.
  await succeed(server.url);
  assert.equal(asked(), undefined);
});

test('a run that skipped rows stores no ETag', async () => {
  const server = await serve((response) =>
    response.writeHead(200, { etag: '"one"' }).end(`${ndjson(all)}{"key":"bad"}\n`),
  );
  await succeed(server.url, { skipBad: true });
  await succeed(server.url, { skipBad: true });
  assert.equal(server.received.at(-1).headers['if-none-match'], undefined);
});

test('credentials are sent only to their host, and neither they nor the query are stored', async () => {
  const other = await serve((response) => response.end(ndjson(all)));
  const server = await serve((response) => response.writeHead(307, { location: other.url }).end());
  const address = `${server.url.replace('http://', 'http://user:s%C3%A9cret@')}?token=hidden`;
  await succeed(address);
  const basic = `Basic ${Buffer.from('user:sécret').toString('base64')}`;
  assert.equal(server.received[0].headers.authorization, basic);
  assert.equal(other.received[0].headers.authorization, undefined);
  const written = JSON.stringify([
    await listRuns(database, { kind: null, page: 1, limit: 10 }),
    await stateOf(database, 'sync_runs'),
    await eventsOf(database, 'blueprint.sync.completed'),
  ]);
  assert.doesNotMatch(written, /cret|hidden/);
  assert.equal((await eventsOf(database, 'blueprint.sync.completed'))[0].source, '127.0.0.1');
});

test('only one run can be in progress', async () => {
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const server = await serve((response) => {
    isAsked();
    void released.then(() => response.end(ndjson(all)));
  });
  const first = sync(server.url);
  await asked;
  const second = await sync(await fileOf(ndjson(all)));
  assert.equal(second.kind, 'conflict');
  const { runs } = await listRuns(database, { kind: 'blueprints', page: 1, limit: 10 });
  assert.deepEqual(
    runs.map(({ id, status }) => [id, status]),
    [[runOf(second).id, 'running']],
  );
  release();
  assert.equal(runOf(await first).id, runOf(second).id);
  assert.equal((await succeed(await fileOf(ndjson(all)))).counts?.['unchanged'], 3);
});

test('a run whose process stops is recorded as stopped and changes nothing', async () => {
  const stop = new AbortController();
  const server = await serve((response) => {
    response.writeHead(200);
    response.write(ndjson(all), () => stop.abort());
  });
  const run = runOf(await sync(server.url, { signal: stop.signal }));
  assert.deepEqual([run.status, run.reason], ['failed', 'stopped']);
  assert.deepEqual(await stored(), []);
  await succeed(await fileOf(ndjson(all)));
});

test('a sync waits for a running import and then overwrites its rows', async () => {
  await succeed(await fileOf(ndjson(all)));
  const file = await fileOf(ndjson([...all, blueprint({ key: 'tuff' })]));
  let running: Promise<unknown> = Promise.resolve();
  await database.transaction().execute(async (tx) => {
    await lockDirectory(tx, 'blueprints');
    await sql`update blueprints set name = 'Imported' where key = 'granite'`.execute(tx);
    running = sync(file);
    await isWaiting(database, sql`application_name like 'orgdir sync blueprints%'`);
  });
  assert.equal(runOf((await running) as never).counts?.['updated'], 1);
  assert.equal((await byKey()).get('granite')?.name, 'Granite');
});

test('old runs are deleted, except the last successful one', async () => {
  const success = await succeed(await fileOf(ndjson(all)));
  await sql`
    insert into sync_runs (id, kind, source, status, started_at, finished_at, reason, message)
    select uuid_v7(now() + n * interval '1 second'), 'blueprints', 'x', 'failed', now(), now(), 'refused', 'x'
    from generate_series(1, 700) as n
  `.execute(database);
  await fail(join(folder, 'nowhere'), 'unreachable');
  const { total } = await listRuns(database, { kind: 'blueprints', page: 1, limit: 1 });
  assert.equal(total, 502);
  assert.ok(await readRun(database, success.id));
  await sql`delete from sync_runs where status = 'succeeded'`.execute(database);
  await fail(join(folder, 'nowhere'), 'unreachable');
  const never = await listRuns(database, { kind: 'blueprints', page: 1, limit: 1 });
  assert.equal(never.total, 501, 'none has succeeded');
});
