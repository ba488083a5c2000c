/** Requests that a client sends at once on one connection, at both listeners and at a server of which the test sees more. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import fastify from 'fastify';
import { runOneAtATime } from '../../src/http/connections/one-at-a-time.ts';
import { put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { startInternalApi } from '../support/internal-api.ts';
import { sendBytes } from '../support/raw-request.ts';
import { makeKey, startTestService } from '../support/service.ts';

/** Its requests get a response when the test says so. */
async function start() {
  const app = fastify({ forceCloseConnections: true });
  runOneAtATime(app);
  const begun: string[] = [];
  const responses: (() => void)[] = [];
  app.all('/:name', (request, reply) => {
    const { name } = request.params as { name: string };
    begun.push(name);
    responses.push(() => void reply.send(`${name} ${JSON.stringify(request.body ?? null)}`));
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  after(() => app.close());
  const { port } = app.server.address() as { port: number };
  return { app, url: `http://127.0.0.1:${port}`, begun, respond: () => responses.pop()?.() };
}

const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
const post = (path: string, body: string) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

test('each begins when the one before it has its response, whatever their bodies', async () => {
  const { url, begun, respond } = await start();
  const large = JSON.stringify('x'.repeat(200_000));
  const last = get('/d', 'Connection: close\r\n');
  const responses = sendBytes(url, get('/a') + post('/b', large) + post('/c', '[1]') + last);
  for (const expected of ['a', 'b', 'c', 'd']) {
    await eventually(async () => begun.includes(expected));
    assert.equal(begun.at(-1), expected);
    respond();
  }
  const bodies = (await responses).split(/HTTP\/1\.1 200[^]*?\r\n\r\n/).slice(1);
  assert.deepEqual(bodies, ['a null', `b ${large}`, 'c [1]', 'd null']);
  assert.deepEqual(begun, ['a', 'b', 'c', 'd']);
});

test('those behind one whose client leaves never begin', async () => {
  const { url, begun, respond } = await start();
  const { hostname, port } = new URL(url);
  const client = connect(Number(port), hostname);
  client.on('error', () => {});
  client.write(get('/a') + get('/b'));
  await eventually(async () => begun.length === 1);
  client.resetAndDestroy();
  await once(client, 'close');
  respond();
  const next = sendBytes(url, get('/c', 'Connection: close\r\n'));
  await eventually(async () => begun.length === 2);
  respond();
  await next;
  assert.deepEqual(begun, ['a', 'c']);
});

test('behind one without a response, a client sends no more than a few reads', async () => {
  const { app, url, begun, respond } = await start();
  let came = 0;
  app.server.on('request', (request) => (came += request.url === '/' ? 1 : 0));
  const { hostname, port } = new URL(url);
  const client = connect(Number(port), hostname);
  after(() => client.destroy());
  const requests = 50_000;
  client.write(get('/a'));
  client.write(get('/').repeat(requests));
  await eventually(async () => begun.length === 1);
  // Once another connection has its response, all that this one may send has come, or the next read would be under way.
  let before = -1;
  await eventually(async () => {
    const isStill = came === before;
    before = came;
    const next = fetch(`${url}/b`);
    await eventually(async () => begun.includes('b'));
    respond();
    await next;
    begun.pop();
    return isStill;
  });
  assert.ok(came < requests / 5, `${came} came`);
});

test('a client that sends hundreds and reads nothing has a few responses in memory', async () => {
  const perMinute = 1_000;
  const service = await startTestService({ env: { RATE_LIMIT_PER_MINUTE: String(perMinute) } });
  const description = 'word '.repeat(400);
  const many = Array.from({ length: 100 }, (_, index) => `many-${index}`);
  await put(
    service.database,
    'orgs',
    many.map((slug) => ({ slug, name: slug, description })),
  );
  await service.settled();
  const { key } = await makeKey(service);
  const { hostname, port } = new URL(service.url);
  const client = connect(Number(port), hostname);
  after(() => client.destroy());
  const requests = 400;
  client.write(
    `GET /api/v1/orgs?limit=100 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`.repeat(
      requests,
    ),
  );
  await once(client, 'readable');
  const { headers } = await service.call('/status', { key });
  const begun = perMinute - Number(headers.get('x-ratelimit-remaining'));
  assert.ok(begun < requests / 2, `${begun} have begun`);
});

test('at the internal listener a read behind a write finds what it wrote', async () => {
  const service = await startTestService();
  const { url, key } = await startInternalApi(service);
  const body = JSON.stringify({ name: 'Acme' });
  const head = (method: string) =>
    `${method} /internal/v1/orgs/acme HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n`;
  const write = `${head('PUT')}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const text = await sendBytes(url, `${write}${head('GET')}Connection: close\r\n\r\n`);
  assert.deepEqual(text.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 201', 'HTTP/1.1 200'], text);
});
