import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openClient, sql } from '../../src/database/database.ts';
import { openCuttableDatabase } from '../support/cuttable-database.ts';
import { put } from '../support/directory.ts';
import { eventually, withinASecond } from '../support/eventually.ts';
import { rawRequest } from '../support/raw-request.ts';
import { startTestService } from '../support/service.ts';

const service = await startTestService();
const beside = await startTestService({ beside: service });
await put(service.database, 'alliances', [{ slug: 'league', name: 'League' }]);
await put(service.database, 'orgs', [{ slug: 'acme', name: 'Acme', alliance: 'league' }]);
await service.settled();

const reads = [
  '/orgs',
  '/orgs/acme',
  '/alliances',
  '/alliances/league',
  '/blueprints',
  '/openapi.json',
];

/** `fetch` accepts gzip by itself, which has another tag. */
const plain = { headers: { 'accept-encoding': 'identity' } };

async function seenWithinASecond(change: () => Promise<unknown>, seen: () => Promise<boolean>) {
  await change();
  await withinASecond(seen);
}

const nameOf = async (from: typeof service) =>
  (await from.call('/orgs/acme')).body.data.name as string;

test('an unchanged page is a 304 for its tag, a list of tags, a weak tag, or *', async () => {
  for (const path of reads) {
    const { headers } = await service.call(path, plain);
    const etag = headers.get('etag') ?? '';
    assert.match(etag, /^"[A-Za-z0-9_-]{27}"$/, path);
    for (const seen of [etag, `W/${etag}`, `"other", ${etag}`, `"a",W/${etag} , "b"`, '*']) {
      const again = await service.call(path, { headers: { 'if-none-match': seen } });
      assert.equal(again.status, 304, `${path} ${seen}`);
      assert.equal(again.text, '');
      assert.equal(again.headers.get('etag'), etag);
      assert.equal(again.headers.get('cache-control'), headers.get('cache-control'));
      assert.equal(again.headers.get('content-type'), null);
      assert.ok(again.headers.get('x-request-id'));
    }
    for (const other of ['"other"', etag.slice(1, -1), `${etag.slice(0, -2)}"`, '', '"*"']) {
      const again = await service.call(path, { headers: { 'if-none-match': other } });
      assert.equal(again.status, 200, `${path} ${other}`);
    }
  }
});

test('/status is a 304 while nothing but its time has changed', async () => {
  const { status, headers, body } = await service.call('/status');
  assert.equal(status, 200);
  const etag = headers.get('etag') ?? '';
  assert.match(etag, /^W\/"/);
  assert.equal(headers.get('cache-control'), 'public, max-age=5');
  await eventually(async () => new Date().toISOString() > body.data.time);
  for (const seen of [etag, `"other", ${etag}`, etag.slice(2)]) {
    const again = await service.call('/status', { headers: { 'if-none-match': seen } });
    assert.equal(again.status, 304, seen);
    assert.equal(again.headers.get('etag'), etag);
  }
});

test('a missing resource is a 404 with any If-None-Match', async () => {
  const { status, headers } = await service.call('/orgs/none', {
    headers: { 'if-none-match': '*' },
  });
  assert.equal(status, 404);
  assert.equal(headers.get('etag'), null);
  assert.equal(headers.get('cache-control'), 'no-store');
});

test('equal content has equal bytes and tags, in every process and for equivalent queries', async () => {
  for (const path of reads) {
    const [one, other] = await Promise.all([service.call(path, plain), beside.call(path, plain)]);
    assert.equal(one.text, other.text);
    assert.equal(one.headers.get('etag'), other.headers.get('etag'));
  }
  const tags = await Promise.all(
    ['/orgs', '/orgs?page=1', '/orgs?limit=20&page=1', '/orgs?sort=name', '/orgs?l%69mit=20'].map(
      async (path) => (await service.call(path, plain)).headers.get('etag'),
    ),
  );
  assert.equal(new Set(tags).size, 1);
});

test('HEAD responds like GET, without the body', async () => {
  const differing = ['date', 'x-request-id', 'keep-alive', 'connection'];
  const headersOf = ({ headers }: { headers: object }) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => !differing.includes(name)));
  const authorization = `Bearer ${service.key}`;
  for (const path of [...reads, '/webhooks', '/orgs/none', '/orgs?page=0']) {
    const ask = (method: string, headers = {}) =>
      rawRequest(service.url, {
        method,
        path: `/api/v1${path}`,
        headers: { authorization, ...headers },
      });
    const [get, head] = await Promise.all([ask('GET'), ask('HEAD')]);
    assert.equal(head.status, get.status, path);
    assert.equal(head.text, '');
    assert.deepEqual(headersOf(head), headersOf(get), path);
    if (!get.headers.etag) continue;
    assert.equal((await ask('HEAD', { 'if-none-match': get.headers.etag })).status, 304);
  }
});

test('a change by another connection, in plain SQL, is seen by every process within a second', async () => {
  const client = openClient(service.connection, { applicationName: 'another process' });
  await client.connect();
  await Promise.all([nameOf(service), nameOf(beside)]);
  await seenWithinASecond(
    () => client.query(`update orgs set name = 'Acme 3' where slug = 'acme'`),
    async () => (await nameOf(service)) === 'Acme 3' && (await nameOf(beside)) === 'Acme 3',
  );
  await client.end();
});

test('a change is seen within a second while the listening connections are broken', async () => {
  for (const name of ['Acme 4', 'Acme 5', 'Acme 6']) {
    await nameOf(service);
    await seenWithinASecond(
      async () => {
        const { rows } = await sql`
          select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and application_name like 'orgdir listener%'
        `.execute(service.database);
        assert.ok(rows.length > 0 || name !== 'Acme 4', 'there were connections to break');
        await sql`update orgs set name = ${name} where slug = 'acme'`.execute(service.database);
      },
      async () => (await nameOf(service)) === name,
    );
  }
});

test('a change is seen within a second while the listening connection has stalled', async () => {
  const { opened, stall } = await openCuttableDatabase(service);
  const deaf = await startTestService({
    beside: { ...service, connection: opened.connection },
  });
  await nameOf(deaf);
  await sql`update orgs set name = 'Heard' where slug = 'acme'`.execute(service.database);
  await eventually(async () => (await nameOf(deaf)) === 'Heard');
  stall();
  await seenWithinASecond(
    () => sql`update orgs set name = 'Unheard' where slug = 'acme'`.execute(service.database),
    async () => (await nameOf(deaf)) === 'Unheard',
  );
});

test('a change is not visible before its commit', async () => {
  await service.settled();
  const before = await service.call('/orgs');
  await service.database.transaction().execute(async (tx) => {
    await sql`update orgs set name = 'Acme 7' where slug = 'acme'`.execute(tx);
    const during = await beside.call('/orgs');
    assert.equal(during.text, before.text);
  });
  await eventually(async () => (await nameOf(beside)) === 'Acme 7');
});

test('a page that was read while a change was committed is not cached', async () => {
  for (let round = 0; round < 20; round += 1) {
    const name = `Round ${round}`;
    await Promise.all([
      sql`update orgs set name = ${name} where slug = 'acme'`.execute(service.database),
      ...Array.from({ length: 4 }, () => service.call('/orgs/acme')),
    ]);
    await service.settled();
    assert.equal(await nameOf(service), name);
  }
});
