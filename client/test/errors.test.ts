import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { put } from '../../service/test/support/directory.ts';
import { makeKey, startTestService } from '../../service/test/support/service.ts';
import {
  ApiError,
  createClient,
  NetworkError,
  OrgdirError,
  TimeoutError,
  UnexpectedResponseError,
  type ClientOptions,
} from '@orgdir/client';
import { errorAnswer, okAnswer, startScriptedServer } from './support/scripted-server.ts';

const service = await startTestService();
await put(service.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
await service.settled();
const { key } = service;
const client = createClient({ baseUrl: service.url, apiKey: key });

/** Returns the thrown error after checking that no text or field of it contains the key. */
async function thrownBy(work: Promise<unknown>): Promise<any> {
  const error = await work.then(
    () => assert.fail('it went well'),
    (thrown: unknown) => thrown,
  );
  const shown = inspect(error, { depth: 20, showHidden: true, maxStringLength: null });
  assert.ok(!shown.includes(key) && !shown.includes(key.slice(4)), 'the key is in the error');
  return error;
}

test('an error of the service is an ApiError with code, status, message, details and request id', async () => {
  const error = await thrownBy(client.orgs.get('nobody'));
  assert.ok(error instanceof ApiError && error instanceof OrgdirError);
  const { name, code, status, message, details, retryAfter } = error;
  assert.deepEqual(
    { name, code, status, message, details, retryAfter },
    {
      name: 'ApiError',
      code: 'not_found',
      status: 404,
      message: 'There is no such route or resource.',
      details: {},
      retryAfter: null,
    },
  );
  assert.match(error.requestId ?? '', /^\S{8,}$/);
});

test('invalid parameters, keys, scopes and conflicts are distinct errors', async () => {
  const invalid = await thrownBy(client.orgs.list({ limit: 101 }));
  assert.deepEqual([invalid.code, invalid.status], ['validation_failed', 400]);
  assert.equal(invalid.details.issues[0].path, 'query.limit');

  for (const apiKey of [undefined, 'odk_nobody']) {
    const unauthorized = await thrownBy(createClient({ baseUrl: service.url, apiKey }).orgs.list());
    assert.deepEqual([unauthorized.code, unauthorized.status], ['unauthorized', 401]);
  }

  const reader = await makeKey(service, { scopes: ['read:directory'] });
  const readOnly = createClient({ baseUrl: service.url, apiKey: reader.key });
  const forbidden = await thrownBy(readOnly.webhooks.list());
  assert.deepEqual(forbidden.details, { requiredScope: 'write:webhooks' });
});

test('a rate limit error has retryAfter', async () => {
  const limited = await startTestService({ env: { RATE_LIMIT_PER_MINUTE: '1' } });
  const hasty = createClient({ baseUrl: limited.url, apiKey: limited.key, retries: 0 });
  await hasty.orgs.list();
  const error = await thrownBy(hasty.orgs.list());
  assert.deepEqual([error.code, error.status], ['rate_limited', 429]);
  assert.ok(error.retryAfter >= 1 && error.retryAfter <= 60);
});

test('a refused connection is a NetworkError with its code', async () => {
  const port = await freePort();
  const nobody = createClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey: key, retries: 0 });
  const error = await thrownBy(nobody.orgs.list());
  assert.ok(error instanceof NetworkError && error instanceof OrgdirError);
  assert.equal(error.message, 'GET /api/v1/orgs: no response (ECONNREFUSED)');
});

test('a broken response is a NetworkError, an endless one a TimeoutError', async () => {
  const { body = '' } = okAnswer;
  const cut = await startScriptedServer({ status: 200, body, cutAfterBytes: 10 });
  const options = { apiKey: key, retries: 0 };
  const broken = await thrownBy(createClient({ baseUrl: cut.url, ...options }).orgs.list());
  assert.ok(broken instanceof NetworkError);

  const slow = await startScriptedServer({ ...okAnswer, stall: true });
  const hurried = createClient({ baseUrl: slow.url, ...options, timeoutMs: 100 });
  const late = await thrownBy(hurried.orgs.list());
  assert.ok(late instanceof TimeoutError && late instanceof OrgdirError);
  assert.equal(late.timeoutMs, 100);
  const own = await thrownBy(hurried.orgs.list({}, { timeoutMs: 120 }));
  assert.equal(own.message, 'GET /api/v1/orgs: no response within 120 ms');
});

test('a signal aborts a call with its reason', async () => {
  const slow = await startScriptedServer({ ...okAnswer, stall: true });
  const reason = new Error('changed my mind');
  const [mine, forAll] = [new AbortController(), new AbortController()];
  const stoppable = createClient({ baseUrl: slow.url, apiKey: key, signal: forAll.signal });
  for (const [controller, signal] of [
    [mine, mine.signal],
    [forAll, undefined],
  ] as const) {
    const answer = stoppable.orgs.list({}, { signal });
    controller.abort(reason);
    assert.equal(await thrownBy(answer), reason);
  }
  const before = slow.asked.length;
  assert.equal(await thrownBy(stoppable.status()), reason, 'aborted before it began');
  assert.equal(slow.asked.length, before);
});

test('an alliance may have as many organisations as a directory', async () => {
  const org = { id: 'x'.repeat(36), slug: 'acme', name: 'Acme', tag: null, memberCount: 0 };
  const data = { orgs: Array.from({ length: 200_000 }, () => org) };
  const server = await startScriptedServer({
    status: 200,
    body: JSON.stringify({ success: true, data }),
  });
  const { orgs } = await createClient({ baseUrl: server.url }).alliances.get('large');
  assert.equal(orgs.length, 200_000);
});

test('a response of another server is an UnexpectedResponseError', async () => {
  const html = { 'content-type': 'text/html', 'x-request-id': 'proxy-7', 'retry-after': '9' };
  const proxy = await startScriptedServer({ status: 418, headers: html, body: '<h1>Teapot</h1>' });
  const error = await thrownBy(createClient({ baseUrl: proxy.url, apiKey: key }).status());
  assert.ok(error instanceof UnexpectedResponseError && error instanceof OrgdirError);
  assert.deepEqual([error.status, error.requestId, error.retryAfter], [418, 'proxy-7', 9]);
  for (const body of ['<p>Hello</p>', '', 'null', '[]', '{"error":"no"}', '{"success":false}']) {
    const other = await startScriptedServer({ status: 200, body });
    const odd = await thrownBy(createClient({ baseUrl: other.url, apiKey: key }).status());
    assert.ok(odd instanceof UnexpectedResponseError, body);
  }
});

test('an error about a response of another server says what came, without the key', async () => {
  const html = { 'content-type': 'text/html; charset=utf-8' };
  const page = `<!doctype html><title> Sign in to
    the network</title><p>${key}</p>`;
  const cases = [
    [
      { status: 200, headers: html, body: page },
      /200, text\/html, beginning with "Sign in to the network"/,
    ],
    [
      { status: 511, headers: html, body: '<p>Pay first</p>' },
      /511, text\/html, beginning with "Pay first"/,
    ],
    [{ status: 404, body: '' }, /404, no content type, without content/],
    [
      { status: 200, headers: { 'content-type': 'application/json' }, body: '{"success":true,"da' },
      /application\/json, beginning with "{\\"success\\":true,\\"da"/,
    ],
    [{ status: 200, body: `Bearer ${key} ${'x'.repeat(200)}` }, /"Bearer … x+…"/],
  ] as const;
  for (const [answer, expected] of cases) {
    const { url } = await startScriptedServer(answer);
    const there = createClient({ baseUrl: url, apiKey: key });
    assert.match((await thrownBy(there.status())).message, expected);
    const download = await thrownBy(there.orgs.download());
    assert.ok(download instanceof UnexpectedResponseError);
    assert.match(download.message, expected);
  }
});

test('the key is not sent to the target of a redirect', async () => {
  const elsewhere = await startScriptedServer(okAnswer);
  const moved = await startScriptedServer({ status: 308, headers: { location: elsewhere.url } });
  const error = await thrownBy(createClient({ baseUrl: moved.url, apiKey: key }).orgs.list());
  assert.ok(error instanceof UnexpectedResponseError);
  assert.match(error.message, /redirect; set baseUrl to its target/);
  assert.equal(elsewhere.asked.length, 0);
});

test('an unknown error code is still an ApiError', async () => {
  const later = await startScriptedServer(errorAnswer(423, 'locked', { 'x-request-id': 'r-1' }));
  const error = await thrownBy(createClient({ baseUrl: later.url, apiKey: key }).orgs.list());
  assert.deepEqual([error.code, error.status, error.requestId], ['locked', 423, 'r-1']);
});

test('no view of the client shows the key, and errors about options do not quote them', async () => {
  assert.ok(!inspect(client, { depth: 20, showHidden: true }).includes(key));
  const wrong: Partial<ClientOptions>[] = [
    { apiKey: `${key}\n` },
    { apiKey: '' },
    { apiKey: `${key} ` },
    { baseUrl: key },
    { baseUrl: '' },
    { baseUrl: `ftp://${key}.test` },
    { baseUrl: `https://user:${key}@directory.test` },
    { baseUrl: `https://directory.test/?key=${key}` },
    { timeoutMs: 0 },
    { timeoutMs: Number.NaN },
    { retries: -1 },
    { retries: 1.5 },
    { retries: 11 },
  ];
  for (const change of wrong) {
    const make = async () => createClient({ baseUrl: service.url, apiKey: key, ...change });
    const error = await thrownBy(make());
    assert.ok(error instanceof TypeError || error instanceof RangeError, inspect(change));
  }
  await assert.rejects(client.orgs.list({}, { retries: 99 }), RangeError);
});

test('missing and misspelt options say what to do', async () => {
  const misused = createClient as unknown as (options?: unknown) => unknown;
  const needed = "pass options, such as { baseUrl: 'https://directory.example.org' }";
  for (const none of [undefined, null, service.url])
    assert.throws(() => misused(none), { name: 'TypeError', message: needed });
  for (const [name, meant] of [
    ['apikey', 'apiKey'],
    ['baseURL', 'baseUrl'],
    ['retires', 'retries'],
    ['timeout', 'timeoutMs'],
    ['singal', 'signal'],
  ] as const) {
    const error = {
      name: 'TypeError',
      message: `${name} is not an option: did you mean ${meant}?`,
    };
    assert.throws(() => misused({ baseUrl: service.url, [name]: 'x' }), error);
    if (meant === 'apiKey' || meant === 'baseUrl') continue;
    const options = { [name]: 5 } as object;
    await assert.rejects(client.orgs.list({}, options), error);
    await assert.rejects(client.webhooks.create({ url: 'https://example.org' }, options), error);
  }
  // An object may have more than options, and one that is not set is not misspelt.
  createClient({ baseUrl: service.url, ...({ receiverUrl: 'x', timeout: undefined } as object) });
});

test('an empty slug or a path as a slug is rejected', async () => {
  for (const slug of ['', '.', '..']) await assert.rejects(client.orgs.get(slug), TypeError);
  for (const slug of ['../webhooks', 'acme?x=1', '%2e%2e', 'acme#'])
    assert.equal((await thrownBy(client.orgs.get(slug))).code, 'not_found');
});

test('baseUrl may end in a slash, have a path, or include /api/v1', async () => {
  const proxy = await startScriptedServer(okAnswer);
  for (const end of ['', '/', '/api/v1', '/api/v1/', '/under/', '/under/api/v1'])
    await createClient({ baseUrl: `${proxy.url}${end}` }).orgs.list({ search: 'a&b' });
  const expected = (root: string) => `${root}/api/v1/orgs?search=a%26b`;
  assert.deepEqual(
    proxy.asked.map(({ url }) => url),
    ['', '', '', '', '/under', '/under'].map(expected),
  );
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
