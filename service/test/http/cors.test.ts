import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enableMaintenance } from '../../src/system/maintenance.ts';
import { testActor } from '../support/actor.ts';
import { put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { rawRequest, type RawAnswer, type RawRequest } from '../support/raw-request.ts';
import { makeKey, startTestService } from '../support/service.ts';

const service = await startTestService({ env: { RATE_LIMIT_PER_MINUTE: '100' } });
await put(service.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
const reader = await makeKey(service, { scopes: ['read:directory'] });

const ask = ({ path, headers = {}, ...rest }: RawRequest, key: string | null = service.key) =>
  rawRequest(service.url, {
    ...rest,
    path: `/api/v1${path}`,
    headers: {
      origin: 'https://page.example',
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...headers,
    },
  });

const names = (list: string | string[] | undefined) =>
  String(list ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase());

/** Every origin may read the response and all its headers. */
function assertReadable(answer: RawAnswer, what: string): void {
  assert.equal(answer.headers['access-control-allow-origin'], '*', what);
  assert.equal(answer.headers['access-control-allow-credentials'], undefined, what);
  const exposed = names(answer.headers['access-control-expose-headers']);
  const hidden = Object.keys(answer.headers).filter(
    (name) => !name.startsWith('access-control-') && !exposed.includes(name),
  );
  assert.deepEqual(hidden, [], what);
  assert.ok(answer.headers['x-request-id'], what);
}

const json = { 'content-type': 'application/json' };

test('any origin can read responses and errors with all headers', async () => {
  const cases: [number, RawRequest, (string | null)?][] = [
    [200, { path: '/orgs' }],
    [200, { path: '/status' }, null],
    [200, { path: '/openapi.json' }, null],
    [200, { path: '/orgs', method: 'HEAD' }],
    [304, { path: '/orgs', headers: { 'if-none-match': '*' } }],
    [400, { path: '/orgs?limit=0' }],
    [400, { path: '/webhooks', method: 'POST', headers: json, body: '{' }],
    [401, { path: '/orgs' }, null],
    [403, { path: '/webhooks' }, reader.key],
    [404, { path: '/orgs/none' }],
    [404, { path: '/nothing' }],
    [404, { path: '/orgs/%ff' }],
    [404, { path: `/orgs/${'a'.repeat(300)}` }],
    [405, { path: '/orgs', method: 'DELETE' }],
    [413, { path: '/webhooks', method: 'POST', headers: json, body: 'x'.repeat(70_000) }],
    [
      415,
      {
        path: '/webhooks',
        method: 'POST',
        headers: { ...json, 'content-encoding': 'gzip' },
        body: '{}',
      },
    ],
    [
      415,
      { path: '/webhooks', method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{}' },
    ],
  ];
  for (const [status, request, key] of cases) {
    const answer = await ask(request, key);
    const what = `${request.method ?? 'GET'} ${request.path.slice(0, 40)}`;
    assert.equal(answer.status, status, what);
    assertReadable(answer, what);
  }
});

test('any origin can read that a creation was repeated', async () => {
  const headers = { ...json, 'idempotency-key': 'once' };
  const request = {
    path: '/webhooks',
    method: 'POST',
    headers,
    body: '{"url":"https://example.org/"}',
  };
  await ask(request);
  const answer = await ask(request);
  assert.equal(answer.headers['idempotent-replayed'], 'true');
  assertReadable(answer, 'repeated');
});

test('a preflight needs no key, for every URL', async () => {
  for (const path of ['/orgs', '/orgs/acme', '/webhooks', '/webhooks/x/test', '/status']) {
    const answer = await ask(
      {
        path,
        method: 'OPTIONS',
        headers: {
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization,content-type',
        },
      },
      null,
    );
    assert.equal(answer.status, 204, path);
    assert.equal(answer.text, '');
    assert.equal(answer.headers['access-control-allow-origin'], '*');
    assert.equal(answer.headers['access-control-max-age'], '86400');
    const allowed = names(answer.headers['access-control-allow-headers']);
    const wanted = [
      'authorization',
      'x-api-key',
      'content-type',
      'if-none-match',
      'idempotency-key',
      'x-request-id',
    ];
    for (const name of wanted) assert.ok(allowed.includes(name), name);
    const methods = names(answer.headers['access-control-allow-methods']);
    for (const name of ['get', 'head', 'post', 'patch', 'delete'])
      assert.ok(methods.includes(name), name);
    assert.ok(answer.headers['x-request-id']);
  }
});

test('an OPTIONS request that is not a preflight works too', async () => {
  const answer = await rawRequest(service.url, { method: 'OPTIONS', path: '/api/v1/orgs' });
  assert.equal(answer.status, 204);
});

test('any origin can read 429 and 503 responses', async () => {
  const busy = await startTestService({ beside: service, env: { RATE_LIMIT_PER_MINUTE: '1' } });
  const from = () => rawRequest(busy.url, { path: '/api/v1/status' });
  await from();
  const limited = await from();
  assert.equal(limited.status, 429);
  assertReadable(limited, 'rate limited');
  await enableMaintenance(service.database, testActor, { message: null, expectedEnd: null });
  const stopped = await eventually(async () => {
    const answer = await ask({ path: '/orgs' });
    return answer.status === 503 && answer;
  });
  assertReadable(stopped, 'maintenance');
});
