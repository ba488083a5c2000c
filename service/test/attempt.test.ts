import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import ipaddr from 'ipaddr.js';
import { createSender } from '../src/webhooks/attempt.ts';

const timeoutMs = 400;
const loopback = [ipaddr.parseCIDR('127.0.0.0/8')];
const sender = createSender({ allowedNetworks: loopback, timeoutMs });
after(() => sender.close());

/** A receiver that speaks in bytes. */
async function attempt(speak: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => speak(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const outcome = await sender.attempt({
    url: `http://127.0.0.1:${port}/`,
    headers: { 'x-a': 'b' },
    body: Buffer.from('{}'),
  });
  for (const socket of sockets) socket.destroy();
  server.close();
  return outcome;
}

const head = (status: string, ...lines: string[]) =>
  [`HTTP/1.1 ${status}`, ...lines, '', ''].join('\r\n');

/** Writes for as long as somebody listens. */
function pour(socket: Socket, chunk: Buffer): void {
  const more = () => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', more);
  more();
}

test('an answer is kept: status, headers, the first 4 KiB', async () => {
  const outcome = await attempt((socket) =>
    socket.end(
      `${head('200 OK', 'X-Twice: a', 'X-Twice: b', 'Content-Length: 10000')}${'x'.repeat(10_000)}`,
    ),
  );
  assert.equal(outcome.statusCode, 200);
  assert.equal(JSON.parse(String(outcome.responseHeaders))['x-twice'], 'a, b');
  assert.equal(outcome.responseBody?.length, 4096);
});

test('Retry-After is heard behind more headers than are kept', async () => {
  const many = Array.from({ length: 90 }, (_, index) => `X-Filler-${index}: ${'y'.repeat(100)}`);
  const outcome = await attempt((socket) =>
    socket.end(head('503 Busy', ...many, 'Retry-After: 120', 'Content-Length: 0')),
  );
  assert.deepEqual(
    [outcome.statusCode, outcome.retryAfter, Number(outcome.responseHeaders?.length) < 9_000],
    [503, '120', true],
  );
});

test('a receiver that keeps a hundred waiting delays nobody else on the same host', async () => {
  const hundred = 100;
  let waiting = 0;
  let allWait = () => {};
  const allWaiting = new Promise<void>((resolve) => (allWait = resolve));
  const server = createHttpServer((request, response) => {
    if (request.url === '/quick') response.end();
    else if ((waiting += 1) === hundred) allWait();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const patient = createSender({ allowedNetworks: loopback, timeoutMs: 30_000 });
  const send = (path: string) =>
    patient.attempt({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
      headers: {},
      body: Buffer.from('{}'),
    });
  const slow = Array.from({ length: hundred }, () => send('/slow'));
  await allWaiting;
  assert.equal((await send('/quick')).statusCode, 200);
  await patient.close();
  await Promise.all(slow);
  server.close();
});

test('only HTTP/1.1 is offered, so that no two attempts share a connection', async () => {
  const hello = await new Promise<Buffer>((resolve) => {
    const server = createServer((socket) =>
      socket
        .on('error', () => {})
        .once('data', (bytes) => {
          resolve(bytes);
          socket.destroy();
          server.close();
        }),
    ).listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      void sender.attempt({
        url: `https://127.0.0.1:${port}/`,
        headers: {},
        body: Buffer.from(''),
      });
    });
  });
  assert.deepEqual([hello.includes('\x08http/1.1'), hello.includes('\x02h2')], [true, false]);
});

test('a body without end decides nothing: the status had come', async () => {
  const outcome = await attempt((socket) => {
    socket.write(head('200 OK', 'Transfer-Encoding: chunked'));
    pour(socket, Buffer.from(`1000\r\n${'y'.repeat(4096)}\r\n`));
  });
  assert.deepEqual(
    [outcome.statusCode, outcome.error, outcome.responseBody?.length],
    [200, null, 4096],
  );
});

test('a body that dribbles ends at the deadline, and the status counts', async () => {
  const outcome = await attempt((socket) => {
    socket.write(
      `${head('204 No Content'.replace('204 No Content', '201 Created'), 'Content-Length: 100')}a`,
    );
  });
  assert.deepEqual(
    [outcome.statusCode, outcome.error, String(outcome.responseBody)],
    [201, null, 'a'],
  );
});

test('a reset after the headers leaves the status', async () => {
  const outcome = await attempt((socket) => {
    socket.write(`${head('500 Oops', 'Content-Length: 100')}partial`, () =>
      socket.resetAndDestroy(),
    );
  });
  assert.deepEqual([outcome.statusCode, outcome.error], [500, null]);
});

test('compressed bodies stay compressed', async () => {
  const bomb = gzipSync(Buffer.alloc(1_000_000));
  const outcome = await attempt((socket) => {
    socket.write(head('200 OK', 'Content-Encoding: gzip', `Content-Length: ${bomb.length}`));
    socket.end(bomb);
  });
  assert.deepEqual(outcome.responseBody, bomb.subarray(0, 4096));
});

test('silence, headers without end and informational answers without end are timeouts', async () => {
  const silence = await attempt(() => {});
  const halfAHeader = await attempt((socket) => socket.write('HTTP/1.1 200 OK\r\nX-A: '));
  const informational = await attempt((socket) =>
    socket.write(head('103 Early Hints', 'Link: </a>')),
  );
  assert.deepEqual(
    [silence, halfAHeader, informational].map(({ statusCode, error }) => statusCode ?? error),
    ['timeout', 'timeout', 'timeout'],
  );
});

test('a closed connection and an answer that is not HTTP are resets', async () => {
  const closed = await attempt((socket) => socket.end());
  const garbage = await attempt((socket) => socket.end('SSH-2.0-OpenSSH\r\n'));
  const hugeHeader = await attempt((socket) =>
    socket.end(head('200 OK', `X-Big: ${'z'.repeat(200_000)}`)),
  );
  assert.deepEqual(
    [closed, garbage, hugeHeader].map(({ statusCode, error }) => statusCode ?? error),
    ['reset', 'reset', 'reset'],
  );
});

test('a redirect is an answer like any other', async () => {
  const outcome = await attempt((socket) =>
    socket.end(head('302 Found', 'Location: http://127.0.0.1:1/', 'Content-Length: 0')),
  );
  assert.deepEqual([outcome.statusCode, outcome.error], [302, null]);
});
