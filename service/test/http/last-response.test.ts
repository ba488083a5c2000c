/** Clients get the last response of a connection, whatever they still send, and send bodies only when they are read. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { startInternalApi } from '../support/internal-api.ts';
import { sendBytes } from '../support/raw-request.ts';
import { startTestService } from '../support/service.ts';

const service = await startTestService();
const internal = await startInternalApi(service);

type Options = { path?: string; key?: string; length?: number; type?: string; expect?: string };

function post(options: Options = {}): string {
  const { path = '/api/v1/webhooks', key = service.key, length = 2, expect } = options;
  return [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${key}`,
    `Content-Type: ${options.type ?? 'application/json'}`,
    `Content-Length: ${length}`,
    ...(expect ? [`Expect: ${expect}`] : []),
    '\r\n',
  ].join('\r\n');
}

/** What a client gets that sends more than the sockets hold, and reads only once its system takes no more. */
async function sendTooMuch(url: string, start: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const client = connect(Number(port), hostname);
  client.pause();
  await once(client, 'connect');
  client.write(start);
  client.write(Buffer.alloc(8 * 1024 * 1024, 'x'));
  await Promise.race([once(client, 'drain'), once(client, 'error')]);
  let text = '';
  client.on('data', (chunk: Buffer) => (text += String(chunk)));
  client.resume().end();
  await once(client, 'close');
  return text;
}

test('a client that sends too much reads why, and no request behind it runs', async () => {
  const length = 8 * 1024 * 1024;
  const tooLong = await sendTooMuch(service.url, post({ length }));
  assert.match(tooLong, /^HTTP\/1\.1 413 .*"payload_too_large"/s);
  for (const { url } of [service, internal]) {
    const headers = await sendTooMuch(url, 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ');
    assert.match(headers, /^HTTP\/1\.1 400 .*must have at most 16 KiB of headers/s);
    assert.equal(headers.split('HTTP/1.1 ').length, 2);
  }
});

test('requests that come after the last response do not run', async () => {
  const { hostname, port } = new URL(service.url);
  let begun = 0;
  const count = () => void (begun += 1);
  service.app.server.on('request', count);
  const client = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  client.write('GET /api/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n');
  await once(client.resume(), 'end');
  client.end('GET /api/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  await once(client, 'close');
  service.app.server.off('request', count);
  assert.equal(begun, 1);
});

test('the service asks for a body when the route, the key and the length are right', async () => {
  const expect = '100-continue';
  const bulk = { path: '/internal/v1/orgs/bulk', type: 'application/x-ndjson' };
  for (const [url, request, status] of [
    [service.url, post({ expect, path: '/api/v1/nothing' }), 404],
    [service.url, post({ expect, key: 'wrong' }), 401],
    [service.url, post({ expect, length: 100_000 }), 413],
    [internal.url, post({ expect, key: 'wrong', ...bulk }).replace('POST', 'PUT'), 401],
  ] as const) {
    const text = await sendBytes(url, request);
    assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} .*connection: close`, 's'));
  }
  const asked = await sendBytes(
    service.url,
    `${post({ expect })}{}${post().replace('Host', 'Connection: close\r\nHost')}{}`,
  );
  assert.match(asked, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 400 .*body\.url/s);
  assert.equal(asked.match(/HTTP\/1\.1 400/g)?.length, 2);
});

test('other expectations are ignored', async () => {
  for (const url of [`${service.url}/api/v1/status`, `${internal.url}/livez`]) {
    const response = await sendBytes(
      url,
      `GET ${new URL(url).pathname} HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: more\r\nConnection: close\r\n\r\n`,
    );
    assert.match(response, /^HTTP\/1\.1 200 /);
  }
});

test('a request that ends early is refused as that', async () => {
  const { hostname, port } = new URL(service.url);
  const client = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  client.end(`${post({ length: 100 })}{`);
  const [response] = (await once(client, 'data')) as [Buffer];
  assert.match(String(response), /^HTTP\/1\.1 400 .*request: ended early/s);
  client.destroy();
});

test('a body is refused with 415 if its Content-Type names another charset than UTF-8', async () => {
  for (const [charset, status] of [
    ['latin1', 415],
    ['"ISO-8859-1"', 415],
    ['UTF-8', 400],
    ['"utf8"', 400],
    ['us-ascii', 400],
  ] as const) {
    const { status: actual, body } = await service.call('/webhooks', {
      method: 'POST',
      headers: { 'content-type': `application/json;charset=${charset}` },
      body: '{}',
    });
    assert.equal(actual, status, charset);
    if (status === 415) assert.equal(body.error.message, 'The body must be in UTF-8.');
  }
});
