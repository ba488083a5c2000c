/** Bulk writes through the internal API: a stream of lines, all of it or nothing, whatever becomes of the connection. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { after, test } from 'node:test';
import { openDatabase, sql } from '../../../src/database/database.ts';
import { createInternalApp } from '../../../src/http/internal-app.ts';
import { receive } from '../../../src/http/internal/bulk.ts';
import { blueprint } from '../../support/directory.ts';
import { startInternalApi } from '../../support/internal-api.ts';
import { recordedEvents } from '../../support/queue.ts';
import { rawRequest } from '../../support/raw-request.ts';
import { startTestService, type Answer } from '../../support/service.ts';

const service = await startTestService();
const internal = await startInternalApi(service);
const { database } = service;
const { call } = internal;
const ndjson = { 'content-type': 'application/x-ndjson' };

const toText = (rows: unknown[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const bulk = (path: string, body: string): Promise<Answer> =>
  call(path, { method: 'PUT', headers: ndjson, body });

async function count(table: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) from ${sql.table(table)}
  `.execute(database);
  return rows[0]?.count ?? 0;
}

/** Not with `truncate`, which could deadlock with the service's own look for what a search must read again. */
async function clear(): Promise<void> {
  for (const table of ['orgs', 'alliances', 'blueprints', 'outbox', 'former_slugs'])
    await sql`delete from ${sql.table(table)}`.execute(database);
}

test('bulk lines create and replace entries, and delete none', async () => {
  await clear();
  const alliances = await bulk('/alliances', toText([{ slug: 'north', name: 'North' }]));
  assert.deepEqual(alliances.body.data, { created: 1, updated: 0, bad: 0, badLines: [] });
  const first = toText([
    { slug: 'a', name: 'A', alliance: 'north', notes: 'Private.' },
    { slug: 'b', name: 'B', listed: false },
    { name: 'Named' },
  ]);
  assert.deepEqual((await bulk('/orgs', first)).body.data.created, 3);
  const second = await bulk(
    '/orgs?allowDuplicates=true',
    toText([{ slug: 'a', name: 'A again' }, { name: 'Named' }]),
  );
  assert.deepEqual(second.body.data, { created: 1, updated: 1, bad: 0, badLines: [] });
  const { body } = await call('/orgs');
  assert.deepEqual(
    body.data.map(({ slug, notes }: { slug: string; notes: string | null }) => [slug, notes]),
    [
      ['a', null],
      ['b', null],
      ['named', null],
      ['named-2', null],
    ],
  );
  const blueprints = toText([blueprint({ key: 'x' }), blueprint({ key: 'y' })]);
  assert.equal((await bulk('/blueprints', blueprints)).body.data.created, 2);
  assert.equal((await bulk('/blueprints', blueprints)).body.data.updated, 2);
});

test('entries that become public are announced, unless emitEvents is false', async () => {
  await clear();
  const rows = [
    { slug: 'shown', name: 'Shown' },
    { slug: 'hidden', name: 'Hidden', listed: false },
  ];
  await bulk('/orgs', toText(rows));
  await bulk('/orgs', toText(rows));
  await bulk('/alliances', toText([{ slug: 'north', name: 'North' }]));
  await bulk('/orgs?emitEvents=false', toText([{ slug: 'silent', name: 'Silent' }]));
  await bulk('/orgs', toText([{ slug: 'silent', name: 'Silent' }]));
  const { rows: events } = await sql<{ name: string }>`
    select name from ${recordedEvents} order by name
  `.execute(database);
  assert.deepEqual(
    events.map(({ name }) => name),
    ['alliance.created', 'org.created'],
  );
});

test('bad lines are reported and nothing is stored; with skipBad the good lines are', async () => {
  await clear();
  const good = Array.from({ length: 1_500 }, (_, index) => ({ slug: `s-${index}`, name: 'S' }));
  const text = `${toText(good)}not json\n\n{"name":""}\n{"slug":"s-1","name":"Twice"}\n`;
  const refused = await bulk('/orgs', text);
  assert.equal(refused.status, 400);
  assert.equal(refused.body.error.details.bad, 3);
  assert.deepEqual(
    refused.body.error.details.issues.map(({ path }: { path: string }) => path),
    ['line 1501', 'line 1503', 'line 1504'],
  );
  assert.equal(await count('orgs'), 0);
  assert.equal(await count('outbox'), 0);
  const { status, body } = await bulk('/orgs?skipBad=true&emitEvents=false', text);
  assert.deepEqual([status, body.data.created, body.data.bad], [200, 1_500, 3]);
  assert.deepEqual(body.data.badLines[0], { line: 1501, reason: 'is not valid JSON' });
  assert.equal(await count('orgs'), 1_500);
});

test('a line that names a field twice is a bad one', async () => {
  await clear();
  const text = '{"slug":"acme","name":"Acme"}\n{"slug":"beta","name":"Beta","name":"Gamma"}\n';
  const { body } = await bulk('/orgs?skipBad=true', text);
  assert.deepEqual(body.data.badLines, [{ line: 2, reason: 'names "name" twice' }]);
  assert.equal(await count('orgs'), 1);
});

test('a request without slugs that is sent twice is stored once', async () => {
  await clear();
  const rows = toText([{ name: 'Acme, Inc.' }, { name: 'Beta' }]);
  const answers = await Promise.all([bulk('/orgs', rows), bulk('/orgs', rows)]);
  const refused = answers.find(({ status }) => status !== 200);
  assert.equal(refused?.status, 409);
  assert.deepEqual(refused.body.error.code, 'conflict');
  assert.equal(
    refused.body.error.message,
    'Nothing was stored: 2 of 2 names without a slug are already in the directory ("Acme, Inc.", "Beta"). To replace these entries, add their slugs; to create more with the same names, set allowDuplicates=true.',
  );
  assert.deepEqual(refused.body.error.details, {
    existing: 2,
    withoutSlug: 2,
    names: ['Acme, Inc.', 'Beta'],
  });
  assert.equal(await count('orgs'), 2);
  assert.equal(await count('outbox'), 2);
  assert.equal((await bulk('/orgs?allowDuplicates=true', rows)).body.data.created, 2);
});

test('a long field name is shortened to whole characters', async () => {
  await clear();
  const name = `${'a'.repeat(79)}😀`;
  const answers = [
    (await bulk('/orgs?skipBad=true', toText([{ name: 'A', [name]: 1 }]))).body.data.badLines[0]
      .reason,
    (await call('/orgs/a', { method: 'PUT', json: { name: 'A', [name]: 1 } })).body.error.message,
  ] as string[];
  for (const text of answers) {
    assert.match(text, /a{79}.*…:? is not known here/);
    assert.ok(text.isWellFormed(), text);
  }
});

test('a thousand bad lines are reported and all are counted', async () => {
  await clear();
  const { body } = await bulk('/blueprints', '{}\n'.repeat(2_345));
  assert.deepEqual([body.error.details.bad, body.error.details.issues.length], [2_345, 1_000]);
});

test('more than 100,000 rows or 256 MiB are rejected, and nothing is stored', async () => {
  await clear();
  const rows = toText(Array.from({ length: 1_100 }, (_, index) => ({ name: `Kept ${index}` })));
  const many = await bulk('/orgs?skipBad=true', rows + '1\n'.repeat(98_901));
  assert.equal(many.status, 413);
  assert.match(many.body.error.message, /at most 100000 rows/);
  assert.deepEqual(many.body.error.details, { rowsMax: 100_000 });
  assert.equal(await count('orgs'), 0);
  const headers = {
    ...ndjson,
    authorization: `Bearer ${internal.key}`,
    'content-length': '268435457',
  };
  const large = await new Promise<number>((resolve, reject) => {
    const sent = request(
      `${internal.url}/internal/v1/orgs`,
      { method: 'PUT', headers },
      (answer) => {
        resolve(answer.statusCode ?? 0);
        sent.destroy();
      },
    );
    sent.on('error', reject);
    sent.flushHeaders();
  });
  assert.equal(large, 413);
});

test('another content type is a 415, and a missing body a 400', async () => {
  await clear();
  for (const type of ['application/json', 'text/plain', 'text/csv']) {
    const headers = { 'content-type': type };
    const { status, body } = await call('/orgs', { method: 'PUT', headers, body: '{"name":"X"}' });
    assert.deepEqual([status, body.error.code], [415, 'unsupported_media_type']);
    assert.match(body.error.message, /application\/x-ndjson/);
  }
  const coded = { ...ndjson, 'content-encoding': 'gzip' };
  const compressed = await call('/orgs', { method: 'PUT', headers: coded, body: '{"name":"X"}' });
  assert.equal(compressed.status, 415);
  assert.match(compressed.body.error.message, /without the header Content-Encoding/);
  assert.equal((await call('/orgs', { method: 'PUT' })).status, 400);
  assert.equal((await bulk('/orgs?skipBad=1', '{"name":"X"}')).status, 400);
  assert.equal((await bulk('/orgs', '')).body.data.created, 0);
  assert.equal(await count('orgs'), 0);
});

test('a forbidden request is rejected before its body is read', async () => {
  for (const key of [null, service.key]) {
    const { status } = await call('/orgs', { method: 'PUT', key, headers: ndjson, body: '{}\n' });
    assert.equal(status, key === null ? 401 : 403);
  }
});

/** Sends some rows, and hangs up when the server has taken them, before the end. */
async function sendHalf(headers: Record<string, string>, rows: string): Promise<void> {
  const sent = request(`${internal.url}/internal/v1/orgs`, {
    method: 'PUT',
    headers: { ...ndjson, authorization: `Bearer ${internal.key}`, ...headers },
  });
  sent.on('error', () => {});
  await new Promise<void>((resolve) => {
    sent.write(rows, () => resolve());
  });
  // The first batch is written by then, but not visible to others.
  await waitsInTransaction();
  sent.destroy();
}

async function waitsInTransaction(): Promise<void> {
  for (;;) {
    const { rows } = await sql`
      select from pg_stat_activity
      where datname = current_database() and state = 'idle in transaction' and query like '%insert into outbox%'
    `.execute(database);
    if (rows.length > 0) return;
  }
}

test('slow lines are waited for beyond the idle limit of other transactions', async () => {
  await clear();
  const writes = openDatabase(service.connection, {
    applicationName: 'test',
    idleInTransactionMs: 1_000,
  });
  const api = { ...service.config, ...service, writes, internalUrl: 'http://internal.test' };
  const { allowedHosts } = service.config.internal;
  const internalApp = createInternalApp({ ...service, allowedHosts, api });
  after(async () => {
    await internalApp.close();
    await writes.destroy();
  });
  const slow = await startInternalApi({ ...service, internalApp });
  const sent = request(`${slow.url}/internal/v1/orgs`, {
    method: 'PUT',
    headers: { ...ndjson, authorization: `Bearer ${slow.key}` },
  });
  const answered = once(sent, 'response');
  sent.write(toText([{ slug: 'first', name: 'First' }]));
  let waiting = true;
  void answered.then(() => (waiting = false));
  for (let idle = false; waiting && !idle;) {
    const { rows } = await sql`
      select from pg_stat_activity
      where datname = current_database() and state = 'idle in transaction'
        and query like '%orgdir.actor%' and state_change < clock_timestamp() - interval '1500 ms'
    `.execute(database);
    idle = rows.length > 0;
  }
  assert.equal((await call('/orgs/beside', { method: 'PUT', json: { name: 'B' } })).status, 201);
  sent.end(toText([{ slug: 'last', name: 'Last' }]));
  const [answer] = (await answered) as [IncomingMessage];
  answer.resume();
  assert.equal(answer.statusCode, 200);
  assert.equal(await count('orgs'), 3);
});

test('preconditions are rejected', async () => {
  await clear();
  for (const name of ['if-match', 'if-none-match']) {
    const headers = { ...ndjson, [name]: '*' };
    const { status, body } = await call('/orgs', { method: 'PUT', headers, body: '{"name":"X"}' });
    assert.equal(status, 400);
    assert.equal(body.error.details.issues[0].path, `headers.${name}`);
  }
  assert.equal(await count('orgs'), 0);
});

test('a cut connection stores nothing and blocks nobody', async () => {
  await clear();
  const rows = toText(Array.from({ length: 1_200 }, (_, index) => ({ name: `Half ${index}` })));
  await sendHalf({ 'transfer-encoding': 'chunked' }, rows);
  await sendHalf({ 'content-length': '1000000' }, rows);
  const next = await call('/orgs/next', { method: 'PUT', json: { name: 'Next' } });
  assert.equal(next.status, 201);
  assert.equal(await count('orgs'), 1);
});

test('a body in small chunks arrives completely', async () => {
  await clear();
  const bytes = Buffer.from(
    toText([
      { slug: 'a', name: 'Äpfel 😀' },
      { slug: 'b', name: 'B' },
    ]),
  );
  const headers = {
    ...ndjson,
    authorization: `Bearer ${internal.key}`,
    'transfer-encoding': 'chunked',
  };
  const url = `${internal.url}/internal/v1/orgs`;
  const answer = await new Promise<number>((resolve, reject) => {
    const sent = request(url, { method: 'PUT', headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on('error', reject);
    Readable.from([...bytes].map((byte) => Buffer.from([byte]))).pipe(sent);
  });
  assert.equal(answer, 200);
  assert.equal((await call('/orgs/a')).body.data.name, 'Äpfel 😀');
});

test('concurrent bulk and single writes of organisations and alliances all succeed', async () => {
  await clear();
  const alliances = Array.from({ length: 20 }, (_, index) => ({ slug: `l-${index}`, name: 'L' }));
  await bulk('/alliances', toText(alliances));
  const orgs = (from: number) =>
    toText(
      Array.from({ length: 1_500 }, (_, index) => ({
        slug: `o-${index}`,
        name: 'O',
        alliance: `l-${(index + from) % 20}`,
        memberCount: 1,
      })),
    );
  const answers = await Promise.all([
    bulk('/orgs?emitEvents=false', orgs(0)),
    bulk('/alliances', toText(alliances.toReversed())),
    bulk('/orgs?emitEvents=false', orgs(7)),
    call('/orgs/o-3', { method: 'PUT', json: { name: 'Single', alliance: 'l-19' } }),
    call('/alliances/l-5', { method: 'PUT', json: { name: 'Single' } }),
  ]);
  for (const { status, text } of answers) assert.ok([200, 201].includes(status), text);
  const { rows } = await sql`
    select from alliances a where org_count <> (select count(*) from orgs where alliance_id = a.id and listed)
  `.execute(database);
  assert.equal(rows.length, 0);
});

test('a stalled request is ended with an error', async () => {
  const server = createServer((incoming, answer) => {
    void (async () => {
      try {
        for await (const _ of receive(incoming, 1_000, 50));
        answer.end('whole');
      } catch (error) {
        answer.end((error as Error).message);
      }
    })();
  }).listen(0, '127.0.0.1');
  after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const url = `http://127.0.0.1:${port}`;
  assert.equal((await rawRequest(url, { method: 'PUT', path: '/', body: 'all' })).text, 'whole');
  const large = await rawRequest(url, { method: 'PUT', path: '/', body: 'x'.repeat(100_000) });
  assert.match(large.text, /larger than/);
  const silent = request(url, { method: 'PUT', headers: { 'content-length': '10' } });
  silent.write('some');
  const [response] = (await once(silent, 'response')) as [AsyncIterable<Buffer>];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  silent.destroy();
  assert.match(Buffer.concat(chunks).toString(), /without pauses/);
});
