import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { pino } from 'pino';
import { sql } from '../../src/database/database.ts';
import { errorCatalogue } from '../../src/errors.ts';
import { enableMaintenance, disableMaintenance } from '../../src/system/maintenance.ts';
import { testActor } from '../support/actor.ts';
import { put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { openApi } from '../support/openapi-check.ts';
import { rawRequest, sendBytes } from '../support/raw-request.ts';
import { makeKey, startTestService } from '../support/service.ts';
import { waitingForLocks } from '../support/waiting-for-locks.ts';

const service = await startTestService();
await put(service.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
await service.settled();
const reader = await makeKey(service, { scopes: ['read:directory'] });
const writer = await makeKey(service, { scopes: ['write:webhooks'] });

const uuid = '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f';
const asJson = { 'content-type': 'application/json' };
const long = 'x'.repeat(70_000);

async function issuesOf(path: string, options: Parameters<typeof service.call>[1] = {}) {
  const { status, body } = await service.call(path, options);
  assert.equal(status, 400, `${path} ${JSON.stringify(body)}`);
  assert.equal(body.error.code, 'validation_failed');
  return body.error.details.issues as { path: string; message: string }[];
}

test('an error has success, code, message and details, with the status of its code', async () => {
  const answers = await Promise.all([
    service.call('/orgs?page=0'),
    service.call('/orgs', { key: null }),
    service.call('/webhooks', { key: reader.key }),
    service.call('/orgs/none'),
    service.call('/orgs', { method: 'POST' }),
  ]);
  for (const { status, body, headers } of answers) {
    assert.deepEqual(Object.keys(body), ['success', 'error']);
    assert.deepEqual(Object.keys(body.error), ['code', 'message', 'details']);
    assert.equal(body.success, false);
    assert.equal(errorCatalogue[body.error.code as keyof typeof errorCatalogue].status, status);
    assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.ok(headers.get('x-request-id'));
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
  }
});

test('an unknown URL is a 404 before all other checks', async () => {
  for (const path of ['/nothing', '/orgs/a/b', '/ORGS', '/orgs/acme/', '/openapi', '//']) {
    for (const key of [service.key, null]) {
      const { status, body } = await service.call(path, { key });
      assert.equal(status, 404, path);
      assert.deepEqual(body.error, {
        code: 'not_found',
        message: 'There is no such route or resource.',
        details: {},
      });
    }
  }
});

test('a wrong method is a 405 with Allow before the key is checked', async () => {
  for (const [url, operations] of Object.entries(openApi.paths)) {
    const path = url.replaceAll(/\{\w+\}/g, uuid);
    const known = Object.keys(operations).map((method) => method.toUpperCase());
    const head = known.includes('GET') ? ['HEAD'] : [];
    const allow = [...known, ...head, 'OPTIONS'].sort().join(', ');
    const wrong = ['PUT', 'PATCH', 'DELETE', 'POST', 'GET', 'HEAD', 'TRACE', 'PROPFIND', 'QUERY'];
    for (const method of wrong.filter((name) => !allow.split(', ').includes(name))) {
      const answer = await rawRequest(service.url, { method, path });
      assert.equal(answer.status, 405, `${method} ${path}`);
      assert.equal(answer.headers.allow, allow);
      assert.equal(answer.headers['x-ratelimit-limit'], undefined);
      if (method === 'HEAD') continue;
      const { error } = JSON.parse(answer.text);
      assert.equal(error.code, 'method_not_allowed');
      assert.deepEqual(error.details, { allow: allow.split(', ') });
    }
  }
});

test('the checks run in order: URL, maintenance, key, rate, scope, size and type, values', async () => {
  const post = { method: 'POST', headers: { 'content-type': 'application/json' } };
  const first = async (expected: number, path: string, options: object) =>
    assert.equal((await service.call(path, options)).status, expected, path);

  // Everything is wrong with each of these but what was put right before.
  await enableMaintenance(service.database, testActor, { message: null, expectedEnd: null });
  await eventually(async () => (await service.call('/orgs')).status === 503);
  await first(404, '/nothing?x=1', { ...post, key: null, body: long });
  await first(405, '/orgs?x=1', { ...post, key: null, body: long });
  await first(503, '/webhooks?x=1', { ...post, key: null, body: long });
  await disableMaintenance(service.database, testActor);
  await eventually(async () => (await service.call('/orgs')).status === 200);
  await first(401, '/webhooks?x=1', { ...post, key: null, body: long });
  await first(403, '/webhooks?x=1', { ...post, key: reader.key, body: long });
  await first(413, '/webhooks?x=1', { ...post, key: writer.key, body: long });
  await first(415, '/webhooks?x=1', {
    ...post,
    key: writer.key,
    body: '{',
    headers: { 'content-type': 'text/xml' },
  });
  await first(400, '/webhooks?x=1', { ...post, key: writer.key, body: '{' });
  await first(400, '/webhooks?x=1', { ...post, key: writer.key, json: { url: 'https://e.org' } });
  await first(404, `/webhooks/${uuid}/test`, { ...post, key: writer.key, body: '{}' });

  const limited = await startTestService({ beside: service, env: { RATE_LIMIT_PER_MINUTE: '1' } });
  await limited.call('/orgs', { key: reader.key });
  const refused = await limited.call('/webhooks', { ...post, key: reader.key, body: long });
  assert.equal(refused.status, 429, 'before the scope');
  await limited.call('/orgs', { key: null });
  const unknown = await limited.call('/webhooks', { ...post, key: null, body: long });
  assert.equal(unknown.status, 401, 'before the rate');
});

test('of two changes that wait for each other, one is made and the other is a 503', async () => {
  const { database } = service;
  // Each takes its own lock, waits for the other change, and then takes the lock of that.
  await sql`
    create function wait_for_each_other() returns trigger language plpgsql as $$ begin
      perform pg_advisory_xact_lock(case new.description when 'a' then 1 else 2 end);
      perform pg_advisory_xact_lock_shared(3);
      perform pg_advisory_xact_lock(case new.description when 'a' then 2 else 1 end);
      return new;
    end $$
  `.execute(database);
  await sql`
    create trigger wait_for_each_other before insert on webhooks for each row execute function wait_for_each_other()
  `.execute(database);
  const create = async (description: string) => {
    // Changes of one app follow each other anyway.
    const { key } = await makeKey(service, { scopes: ['write:webhooks'] });
    const json = { url: 'https://example.org/', description };
    return service.call('/webhooks', { method: 'POST', key, json });
  };
  const created = await database.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(3)`.execute(tx);
    const both = ['a', 'b'].map(create);
    await waitingForLocks(database, both.length);
    return { both };
  });
  const answers = await Promise.all(created.both);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 503]);
  const { body, headers } = answers.find(({ status }) => status === 503) ?? assert.fail();
  assert.equal(body.error.code, 'unavailable');
  assert.equal(headers.get('retry-after'), '5');
  await sql`drop function wait_for_each_other cascade`.execute(database);
});

test('a query that is not percent-encoded UTF-8 is refused', async () => {
  for (const path of ['/orgs?search=%ff', '/orgs?search=a%', '/orgs?search=%c3%28', '/orgs?%ff=1'])
    assert.deepEqual(await issuesOf(path), [
      { path: 'query', message: 'must be percent-encoded UTF-8' },
    ]);
  assert.equal((await service.call('/nothing?search=%ff')).status, 404);
  assert.equal((await fetch(`${service.url}/nothing?search=%ff`)).status, 404);
  assert.equal((await service.call('/orgs?search=%C3%A9+%25')).status, 200);
});

test('a time that is none is refused with an example of one', async () => {
  const path = `/webhooks/${uuid}/deliveries?since=2026-11-22T24:00:00Z`;
  assert.deepEqual(await issuesOf(path, { key: writer.key }), [
    {
      path: 'query.since',
      message: 'must be a time in the form of RFC 3339, such as 2026-11-20T12:00:00Z',
    },
  ]);
});

test('a time whose + arrives as a space is refused with how to write it', async () => {
  const path = `/webhooks/${uuid}/deliveries?since=`;
  for (const offset of ['+01:00', '+0100'])
    assert.deepEqual(await issuesOf(`${path}2026-11-22T12:00:00${offset}`, { key: writer.key }), [
      { path: 'query.since', message: 'must have its + written as %2B' },
    ]);
  const noTime = await issuesOf(`${path}2026-11-22+12:00`, { key: writer.key });
  assert.match(`${noTime[0]?.message}`, /^must be a time/);
  assert.equal(
    (await service.call(`${path}2026-11-22T12:00:00%2B01:00`, { key: writer.key })).status,
    404,
  );
});

test('query values are used as given or rejected, never clamped or ignored', async () => {
  const refused = [
    ...['0', '-1', '1.0', '1e1', '01', '+1', ' 1', '1 ', '', 'x', '0x1', '2147483649', '１'].map(
      (page) => `/orgs?page=${encodeURIComponent(page)}`,
    ),
    ...['9223372036854775808', '-9223372036854775808', 'NaN', 'Infinity', 'null', 'true'].map(
      (page) => `/blueprints?page=${page}`,
    ),
    ...['0', '101', '-5', '20.5', ''].map((limit) => `/alliances?limit=${limit}`),
    ...['', 'True', '1', '0', 'yes', 'null'].map((value) => `/orgs?recruiting=${value}`),
    ...['', 'Name', 'name,-name', '--name', 'id', '-', 'constructor'].map(
      (sort) => `/orgs?sort=${sort}`,
    ),
    ...['', 'a'.repeat(101), '%00', 'a%00b'].map((search) => `/orgs?search=${search}`),
    ...['', 'Upper', 'a--b', '-a', 'a'.repeat(81), 'a%00'].map((slug) => `/orgs?alliance=${slug}`),
    '/orgs?page=1&page=2',
    '/orgs?search=a&search=b',
    '/orgs?sort[]=name',
    '/orgs?unknown=1',
    '/orgs?Page=1',
    '/orgs?__proto__=1',
    '/orgs?constructor=1',
    '/orgs?=1',
    '/orgs/acme?page=1',
    '/status?x',
    '/openapi.json?pretty=1',
    '/blueprints?active=maybe',
    '/blueprints?sort=memberCount',
    '/webhooks?search=x',
  ];
  for (const path of refused) {
    const issues = await issuesOf(path);
    assert.ok(issues.length > 0, path);
    for (const { path: where } of issues) assert.match(where, /^query/, path);
  }
  for (const path of [
    '/orgs?page=2147483648',
    '/orgs?limit=100',
    `/orgs?search=${'é'.repeat(100)}`,
  ])
    assert.equal((await service.call(path)).status, 200, path);
});

test('a parameter that is given twice or written differently says so', async () => {
  const messagesOf = async (query: string) =>
    (await issuesOf(`/orgs?${query}`)).map(({ path, message }) => `${path}: ${message}`);
  assert.deepEqual(await messagesOf('page=1&page=2&search=a&search=b&sort=name&sort=x'), [
    'query.page: must be given once only',
    'query.search: must be given once only',
    'query.sort: must be given once only',
  ]);
  for (const page of ['07', '+7', '%2B7', '7.0', ' 7'])
    assert.deepEqual(await messagesOf(`page=${page}`), ['query.page: must be written as 7'], page);
  assert.deepEqual(await messagesOf('page=7.5'), ['query.page: must be integer']);
  assert.deepEqual(await messagesOf('tag=a&tag='), [
    'query.tag.1: must NOT have fewer than 1 characters',
  ]);
});

test('an unknown name gets the closest known one, or all if none is close', async () => {
  const post = (json: object) => issuesOf('/webhooks', { method: 'POST', json });
  assert.deepEqual(await issuesOf('/orgs?limt=5'), [
    { path: 'query.limt', message: 'is not known here; did you mean "limit"?' },
  ]);
  assert.deepEqual(await issuesOf('/orgs/acme?x=1'), [
    { path: 'query.x', message: 'is not known here' },
  ]);
  assert.deepEqual(await post({ url: 'https://example.org/', descripton: 'A' }), [
    { path: 'body.descripton', message: 'is not known here; did you mean "description"?' },
  ]);
  const [issue] = await post({ url: 'https://example.org/', ['x'.repeat(60_000)]: 1 });
  assert.match(issue?.message ?? '', /^is not known here; use one of url, .*events/);
});

test('every issue is reported, up to twenty', async () => {
  const issues = await issuesOf('/orgs?page=0&limit=x&sort=no&extra=1');
  assert.deepEqual(issues.map(({ path }) => path).sort(), [
    'query.extra',
    'query.limit',
    'query.page',
    'query.sort',
  ]);
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`f${index}`, 1]));
  assert.equal((await issuesOf('/webhooks', { method: 'POST', json: many })).length, 20);
});

test('a malformed id is a 404', async () => {
  const paths = [
    ...[
      '',
      'ACME',
      'a_b',
      'a--b',
      '-a',
      '%20',
      'a%00',
      "'",
      '%25',
      'a'.repeat(81),
      'a'.repeat(500),
    ].map((slug) => `/orgs/${slug}`),
    ...['1', 'x', `urn:uuid:${uuid}`, `{${uuid}}`, `${uuid}0`, uuid.slice(1)].map(
      (id) => `/webhooks/${encodeURIComponent(id)}`,
    ),
  ];
  for (const path of paths) {
    const method = path.startsWith('/webhooks') ? 'DELETE' : 'GET';
    const { status, body } = await service.call(path, { method });
    assert.equal(status, 404, path);
    assert.equal(body.error.code, 'not_found');
  }
});

test('malformed percent-encoding in a path is a 404', async () => {
  for (const path of ['/orgs/%', '/orgs/%zz', '/orgs/%ff', '/orgs/%c3%28', '/%', '/orgs%2facme']) {
    const answer = await rawRequest(service.url, { path: `/api/v1${path}` });
    assert.equal(answer.status, 404, path);
    assert.equal(JSON.parse(answer.text).error.code, 'not_found');
    assert.ok(answer.headers['x-request-id']);
  }
});

test('a badly encoded query is rejected or read as text, and never a server error', async () => {
  for (const query of ['search=%ff', 'search=%', 'search=%zz', '%', '%ff=1', '&&&', '?', 'a=b=c'])
    for (const path of ['/orgs', '/orgs/acme', '/status']) {
      const answer = await rawRequest(service.url, {
        path: `/api/v1${path}?${query}`,
        headers: { authorization: `Bearer ${service.key}` },
      });
      assert.ok([200, 400].includes(answer.status), `${path}?${query} ${answer.status}`);
    }
});

test('a name that is in one object of a body twice is rejected, and the error says where', async () => {
  const post = (body: string) =>
    service.call('/webhooks', {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    });
  const url = '"url":"https://example.org/"';
  const cases = [
    [`{${url},"description":"a","description":"b"}`, 'body.description'],
    [`{${url},"description":"a","descripti\\u006fn":"b"}`, 'body.description'],
    [`{${url},"headers":{"X-A":"\\"}{[:,","X-A":"2"}}`, 'body.headers.X-A'],
    [`{${url},"events":["a",{},{"b":[1,2],"b":1}]}`, 'body.events.2.b'],
  ];
  for (const [body = '', path] of cases) {
    const { status, body: answer } = await post(body);
    const issues = [{ path, message: 'must not be there twice' }];
    assert.deepEqual([status, answer.error.details.issues], [400, issues], body);
  }
  const longName = 'n'.repeat(1_000);
  const cut = (await post(`{${url},"${longName}":1,"${longName}":2}`)).body.error.details.issues[0]
    .path;
  assert.ok(cut.length < 100, cut);
  // Not twice: in two objects, or as values.
  const { status } = await post(
    `{${url},"description":"url\\\\","events":["org.created","org.updated"]}`,
  );
  assert.equal(status, 201);
});

test('a body that is not valid JSON or UTF-8 is rejected with the reason', async () => {
  const post = async (body: string | Buffer, type = 'application/json') =>
    service.call('/webhooks', { method: 'POST', body, headers: { 'content-type': type } });
  const url = '"url":"https://example.org/"';
  const bodies: (string | Buffer)[] = [
    '',
    ' ',
    '{',
    '{}}',
    'null',
    '[]',
    '"text"',
    '1',
    'true',
    'undefined',
    "{'url':1}",
    `{${url},}`,
    `{${url},"x":1}`,
    `{${url},"url":1}`,
    `{${url},"__proto__":{"x":1}}`,
    `{${url},"constructor":{"prototype":{"x":1}}}`,
    `{${url},"description":"\\u0000"}`,
    `{${url},"description":"\\ud800"}`,
    `{${url},"events":[]}`,
    `{${url},"events":{"0":"org.created"}}`,
    `{${url},"description":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
    '['.repeat(60_000),
    `{"a":`.repeat(10_000),
    Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
    Buffer.from(`\uFEFF{${url}`, 'utf16le'),
  ];
  for (const body of bodies) {
    const { status, body: answer } = await post(body);
    const shown = String(body).slice(0, 60);
    assert.equal(status, 400, shown);
    assert.equal(answer.error.code, 'validation_failed');
    assert.ok(answer.error.details.issues.length > 0, shown);
    assert.doesNotMatch(JSON.stringify(answer), /at .*\.(ts|js)|SyntaxError|position \d/);
  }
});

test('a body with a name that is not allowed, or a coding, says so', async () => {
  const names = '"__proto__" and "prototype" in "constructor" are not allowed as names of fields';
  for (const json of ['{"a":{"__proto__":{"x":1}}}', '{"constructor":{"prototype":{"x":1}}}'])
    assert.deepEqual(await issuesOf('/webhooks', { method: 'POST', body: json, headers: asJson }), [
      { path: 'body', message: names },
    ]);
  assert.deepEqual(
    await issuesOf('/webhooks', { method: 'POST', body: '{"__proto__":', headers: asJson }),
    [{ path: 'body', message: 'must be JSON' }],
  );
  const send = (coding: string) =>
    service.call('/webhooks', {
      method: 'POST',
      body: gzipSync('{"url":"https://example.org/"}'),
      headers: { ...asJson, 'content-encoding': coding },
    });
  const { status, body, headers } = await send('gzip');
  assert.deepEqual(
    [status, body.error.message],
    [
      415,
      'The body must not be compressed. Send it as it is, without the header Content-Encoding.',
    ],
  );
  assert.equal(headers.get('accept-encoding'), 'identity');
  assert.equal((await send('identity')).status, 400);
});

test('a body of another type is a 415, and one above 64 KiB a 413', async () => {
  for (const type of [
    'text/plain',
    'application/xml',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'nonsense',
  ]) {
    const { status, body } = await service.call('/webhooks', {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': type },
    });
    assert.equal(status, 415, type);
    assert.equal(body.error.code, 'unsupported_media_type');
  }
  const large = await service.call('/webhooks', {
    method: 'POST',
    body: `{"url":"${long}"}`,
    headers: { 'content-type': 'application/json' },
  });
  assert.equal(large.status, 413);
  // Without a Content-Length it is found out while it arrives.
  const chunked = await rawRequest(service.url, {
    method: 'POST',
    path: '/api/v1/webhooks',
    headers: {
      authorization: `Bearer ${service.key}`,
      'content-type': 'application/json; charset=utf-8',
      'transfer-encoding': 'chunked',
    },
    body: `{"url":"${long}"}`,
  });
  assert.equal(chunked.status, 413);
  const exact = JSON.stringify({ url: 'https://example.org/', description: '' });
  const fits = await service.call('/webhooks', {
    method: 'POST',
    body: exact + ' '.repeat(65_536 - exact.length),
    headers: { 'content-type': 'application/json' },
  });
  assert.equal(fits.status, 201);
});

test('a well-formed X-Request-Id is kept, and any other is replaced', async () => {
  const idOf = async (given: string) =>
    (await service.call('/orgs', { headers: { 'x-request-id': given } })).headers.get(
      'x-request-id',
    );
  for (const given of ['abc', 'A-1_b.c:d', uuid, 'x'.repeat(128)])
    assert.equal(await idOf(given), given);
  for (const given of ['', 'a b', 'x'.repeat(129), '<script>', 'a,b', 'ä'])
    assert.match((await idOf(given)) ?? '', /^[0-9a-f-]{36}$/, given);
  const missing = await service.call('/nothing', { headers: { 'x-request-id': 'mine' } });
  assert.equal(missing.headers.get('x-request-id'), 'mine');
});

test('a request that is not HTTP gets an envelope too', async () => {
  const head = 'GET /api/v1/status HTTP/1.1\r\nHost: x\r\n';
  for (const bytes of [
    'nonsense\r\n\r\n',
    'GET /api/v1/status HTTP/1.1\r\nHost: x\r\nBad Header: 1\r\n\r\n',
    'FOO /api/v1/status HTTP/1.1\r\nHost: x\r\n\r\n',
    `${head}X-Long: ${'x'.repeat(20_000)}\r\n\r\n`,
    `${head}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
    `${head}Content-Length: -1\r\n\r\n`,
  ]) {
    const text = await sendBytes(service.url, bytes);
    const [headers = '', body = ''] = text.split('\r\n\r\n');
    assert.match(headers, /^HTTP\/1\.1 400 Bad Request\r\n/, bytes.slice(0, 60));
    assert.match(headers, /\r\nX-Request-Id: [0-9a-f-]{36}(\r\n|$)/);
    assert.equal(JSON.parse(body).error.code, 'validation_failed');
  }
});

test('what is not HTTP ends a response that is running, and puts nothing into it', async () => {
  const { port } = new URL(service.url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(
    `GET /api/v1/events/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n\r\n`,
  );
  let received = '';
  socket.on('data', (bytes: Buffer) => {
    if (received === '') socket.write('nonsense\r\n\r\n');
    received += bytes.toString();
  });
  socket.on('error', () => {});
  await once(socket, 'close');
  assert.match(received, /^HTTP\/1\.1 200 OK\r\n/);
  assert.doesNotMatch(received, /400 Bad Request/);
});

test('a caller who leaves before its turn is no failure of the service', async () => {
  const { rows, service: logged } = await startLogged();
  const head = `GET /api/v1/orgs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${logged.key}\r\n\r\n`;
  // What is not HTTP ends the connection at once.
  await sendBytes(logged.url, `${head}nonsense\r\n\r\n`);
  // A request of the same caller has its turn after it.
  assert.equal((await logged.call('/orgs')).status, 200);
  assert.deepEqual(rows, []);
});

test('an address that is not encoded says so', async () => {
  const head = 'GET /api/v1/orgs?search=müller HTTP/1.1\r\nHost: x\r\n\r\n';
  const [, body = ''] = (await sendBytes(service.url, head)).split('\r\n\r\n');
  assert.equal(
    JSON.parse(body).error.message,
    'request: must have its address in percent-encoded UTF-8',
  );
});

test('an internal error reveals nothing and is logged', async () => {
  const { rows, service: broken } = await startBroken();
  const { status, body, text } = await broken.call('/orgs');
  assert.equal(status, 500);
  assert.deepEqual(body.error, {
    code: 'internal_error',
    message: 'Something went wrong on our side.',
    details: {},
  });
  assert.doesNotMatch(text, /orgs|relation|select|\.ts/);
  const [line] = rows;
  assert.equal(line?.msg, 'request.failed');
  assert.equal(line?.route, '/api/v1/orgs');
});

test('a write for which the server has no disk or memory left is refused until later, and logged in a line', async () => {
  const { rows, service: full } = await startLogged();
  for (const code of ['53100', '53200']) {
    await sql`
      create function fail() returns trigger language plpgsql as
        ${sql.raw(`'begin raise exception ''no room'' using errcode = ''${code}''; end'`)}
    `.execute(full.database);
    await sql`create trigger fail before insert on webhooks execute function fail()`.execute(
      full.database,
    );
    const json = { url: 'https://example.org/' };
    const { status, headers } = await full.call('/webhooks', { method: 'POST', json });
    assert.deepEqual([status, headers.get('retry-after')], [503, '5']);
    await sql`drop function fail cascade`.execute(full.database);
  }
  assert.deepEqual(
    rows.map(({ reason, err }) => [reason, err]),
    [
      ['no room', undefined],
      ['no room', undefined],
    ],
  );
});

/** A service with a missing table. */
async function startBroken() {
  const started = await startLogged();
  await sql`alter table orgs rename to orgs_elsewhere`.execute(started.service.database);
  return started;
}

async function startLogged() {
  const rows: { msg: string; route: string; reason?: string; err?: object }[] = [];
  const log = pino({ level: 'error' }, { write: (line: string) => rows.push(JSON.parse(line)) });
  return { rows, service: await startTestService({ log }) };
}
