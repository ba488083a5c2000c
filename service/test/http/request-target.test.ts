/** Request targets in every form, and the Host field (RFC 9112 section 3.2), on both listeners. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { startInternalApi } from '../support/internal-api.ts';
import { rawRequest, sendBytes } from '../support/raw-request.ts';
import { startTestService } from '../support/service.ts';

const lines: string[] = [];
const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
const service = await startTestService({
  env: { GITHUB_CLIENT_ID: 'id', GITHUB_CLIENT_SECRET: 'secret' },
  log,
});
const withPort = await startTestService({
  beside: service,
  env: { PUBLIC_URL: 'http://directory.localhost:8080' },
  log,
});
const internal = await startInternalApi(service);
await put(service.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
await service.settled();
service.search.start();
await eventually(async () => service.search.loading().indexes.length === 0);
const publicKey = { authorization: `Bearer ${service.key}` };
const platformKey = { authorization: `Bearer ${internal.key}` };

/** Stands in for a token in a link; no log line may hold it. */
const secret = 'c2VjcmV0LXRva2Vu';

test('every route accepts the absolute form of a request target', async () => {
  const routes = [
    [service.url, '/api/v1/status', publicKey],
    [service.url, '/api/v1/orgs?limit=1', publicKey],
    [service.url, '/api/v1/orgs/acme', publicKey],
    [service.url, '/api/v1/nothing', publicKey],
    [service.url, '/docs', {}],
    [service.url, '/portal/api/sign-in-options', {}],
    [service.url, '/portal/api/overview', {}],
    [withPort.url, `/portal/api/auth/callback/oidc?code=${secret}`, {}],
    [withPort.url, `/portal/api/auth/callback/${secret}?code=x`, {}],
    [service.url, '/profile/developer', {}],
    [service.url, '/profile/developer/apps', {}],
    [internal.url, '/livez', {}],
    [internal.url, '/readyz', {}],
    [internal.url, '/internal/v1/orgs/acme', platformKey],
  ] as const;
  for (const [url, path, headers] of routes) {
    const origin = await rawRequest(url, { path, headers });
    assert.ok(origin.status < 500, `${path} ${origin.status}`);
    for (const authority of ['http://127.0.0.1', 'HTTPS://127.0.0.1:8443', 'http://[::1]:80']) {
      const absolute = await rawRequest(url, { path: `${authority}${path}`, headers });
      assert.equal(absolute.status, origin.status, `${authority}${path}`);
      assert.equal(absolute.headers.location, origin.headers.location);
    }
  }
  assert.ok(!lines.join('').includes(secret));
});

test('a provider can return in the absolute form, and its code is not logged', async () => {
  const path = `http://directory.localhost/portal/api/auth/callback/github?state=x&code=${secret}`;
  const { status } = await rawRequest(service.url, { path });
  assert.equal(status, 302);
  assert.ok(!lines.join('').includes(secret));
});

test('an absolute target without a path is the root', async () => {
  for (const path of ['http://127.0.0.1', 'http://127.0.0.1?x=1', 'http://127.0.0.1/'])
    for (const [{ url }, status] of [
      [service, 200],
      [internal, 404],
    ] as const)
      assert.equal((await rawRequest(url, { path })).status, status, path);
});

test('an invalid request target is rejected and not logged', async () => {
  const below = `/portal/api/auth/callback/oidc?code=${secret}`;
  const authorities = ['', '/', 'u:p@h', 'u@h', '@h', '[::', '%zz', 'h:99999', 'h:ab', 'a b'];
  const targets = [
    ...authorities.map((authority) => `http://${authority}${below}`),
    `http://h#${below}`,
    `ftp://127.0.0.1${below}`,
    `http:${below}`,
    `127.0.0.1:80${below}`,
    `/${below}`,
    `*${below}`,
    below.slice(1),
    '*',
  ];
  for (const { url } of [service, withPort, internal])
    for (const target of targets) {
      const request = `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`;
      const text = await sendBytes(url, request);
      assert.match(text, /^HTTP\/1\.1 (400|404) /, target);
      assert.match(text, /"code":"(validation_failed|not_found)"/, target);
    }
  assert.ok(!lines.join('').includes(secret));
});

test('a request with two Host fields, or none in HTTP/1.1, is rejected', async () => {
  for (const [url, path] of [
    [service.url, '/api/v1/status'],
    [service.url, '/portal/api/sign-in-options'],
    [service.url, '/profile/developer'],
    [service.url, '/nothing'],
    [internal.url, '/livez'],
    [internal.url, '/internal/v1/orgs'],
  ] as const)
    for (const fields of [
      'Host: 127.0.0.1\r\nHost: 127.0.0.1',
      'Host: 127.0.0.1\r\nX-Other: 1\r\nhOST: evil.example',
      'Host: 127.0.0.1\r\nHost:',
      'X-Host: 127.0.0.1',
    ]) {
      const request = `GET ${path} HTTP/1.1\r\n${fields}\r\nConnection: close\r\n\r\n`;
      const [head = '', body = ''] = (await sendBytes(url, request)).split('\r\n\r\n');
      assert.match(head, /^HTTP\/1\.1 400 /, `${path} ${fields}`);
      assert.match(head, /\r\nx-request-id: /);
      if (url === service.url) assert.match(head, /\r\naccess-control-allow-origin: \*\r\n/);
      assert.deepEqual(JSON.parse(body).error, {
        code: 'validation_failed',
        message: 'headers.host: must be sent once',
        details: { issues: [{ path: 'headers.host', message: 'must be sent once' }] },
      });
    }
  const alike = 'X-Host: a\r\nHost: 127.0.0.1\r\nX-Forwarded-Host: b\r\nHosts: c';
  const single = `GET /livez HTTP/1.1\r\n${alike}\r\nConnection: close\r\n\r\n`;
  assert.match(await sendBytes(internal.url, single), /^HTTP\/1\.1 200 /);
});
