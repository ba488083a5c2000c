import assert from 'node:assert/strict';
import { createServer as createHttpServer } from 'node:http';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import ipaddr from 'ipaddr.js';
import { createSender } from '../../../src/webhooks/sending/attempt.ts';
import { isSuccess } from '../../../src/contract/delivery-rules.ts';
import { dribble, head, okAnswer, pour, startByteReceiver } from '../../support/byte-receiver.ts';
import type { Speak } from '../../support/byte-receiver.ts';

const loopback = [ipaddr.parseCIDR('127.0.0.0/8')];
/** Never reached by what ends by itself. */
const longMs = 60_000;
/** For attempts that only the deadline ends, before a response. */
const shortMs = 300;
/** For attempts that only the deadline ends, after a status that must arrive before it on a busy machine too. */
const middleMs = 3_000;
/** Attempts that time out together. */
const crowd = 200;
/** A turn of the event loop of a process that gets little processor time. */
const slowTurnMs = 200;
const post = { headers: { 'x-a': 'b' }, body: Buffer.from('{}') };

/** The outcome of one attempt that reached its receiver exactly once, or at most once before its deadline. */
async function attemptOnce(speak: Speak, timeoutMs = longMs) {
  const receiver = await startByteReceiver(speak);
  const sender = createSender({ allowedNetworks: loopback, timeoutMs });
  const outcome = await sender.attempt({ ...post, url: receiver.url });
  await sender.close();
  await receiver.allClosed();
  const counts = [receiver.requests(), receiver.connections()];
  // On a busy machine, a short deadline is over before the request is on its way.
  if (outcome.error === 'timeout')
    assert.ok(
      counts.every((count) => count <= 1),
      counts.join(),
    );
  else assert.deepEqual(counts, [1, 1]);
  return outcome;
}

/** As `[status or error, body]`. */
async function attemptBriefly(speak: Speak, timeoutMs?: number) {
  const { statusCode, error, responseBody } = await attemptOnce(speak, timeoutMs);
  return [statusCode ?? error, responseBody === null ? null : String(responseBody)];
}

test('a response is captured: status, headers, the first 4 KiB', async () => {
  const outcome = await attemptOnce((socket) =>
    socket.end(
      `${head('200 OK', 'X-Twice: a', 'X-Twice: b', 'Content-Length: 10000')}${'x'.repeat(10_000)}`,
    ),
  );
  assert.equal(outcome.statusCode, 200);
  assert.equal(JSON.parse(String(outcome.responseHeaders))['x-twice'], 'a, b');
  assert.equal(outcome.responseBody?.length, 4096);
});

test('Retry-After is read even after more headers than are captured', async () => {
  const many = Array.from({ length: 90 }, (_, index) => `X-Filler-${index}: ${'y'.repeat(100)}`);
  const outcome = await attemptOnce((socket) =>
    socket.end(head('503 Busy', ...many, 'Retry-After: 120', 'Content-Length: 0')),
  );
  assert.deepEqual(
    [outcome.statusCode, outcome.retryAfter, Number(outcome.responseHeaders?.length) < 9_000],
    [503, '120', true],
  );
});

test('a hundred slow attempts delay nobody else on the same host', async () => {
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
  const patient = createSender({ allowedNetworks: loopback, timeoutMs: longMs });
  const { port } = server.address() as AddressInfo;
  const send = (path: string) =>
    patient.attempt({ ...post, url: `http://127.0.0.1:${port}${path}` });
  const slow = Array.from({ length: hundred }, () => send('/slow'));
  await allWaiting;
  assert.equal((await send('/quick')).statusCode, 200);
  await patient.close();
  await Promise.all(slow);
  server.close();
});

test('only HTTP/1.1 is offered, so that no two attempts share a connection', async () => {
  const sender = createSender({ allowedNetworks: loopback, timeoutMs: longMs });
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
      void sender.attempt({ ...post, url: `https://127.0.0.1:${port}/` });
    });
  });
  assert.deepEqual([hello.includes('\x08http/1.1'), hello.includes('\x02h2')], [true, false]);
  await sender.close();
});

test('the status decides the outcome, whatever follows in the body', async (t) => {
  const chunked = head('200 OK', 'Transfer-Encoding: chunked');
  const cases: Record<string, [Speak, string, number?]> = {
    'one byte at a time, until the deadline': [
      (socket) => {
        socket.write(`${head('201 Created', 'Content-Length: 1000000')}a`);
        dribble(socket, 'a', 200);
      },
      '201 a',
      middleMs,
    ],
    'silence after its first byte': [
      (socket) => socket.write(`${head('201 Created', 'Content-Length: 100')}a`),
      '201 a',
      middleMs,
    ],
    'without end': [
      (socket) => {
        socket.write(chunked);
        pour(socket, `1000\r\n${'y'.repeat(4096)}\r\n`);
      },
      `200 ${'y'.repeat(4096)}`,
    ],
    'reset in the middle': [
      (socket) =>
        socket.write(`${head('200 OK', 'Content-Length: 100')}part`, () =>
          socket.resetAndDestroy(),
        ),
      '200 ',
    ],
    'cut off': [(socket) => socket.end(`${head('200 OK', 'Content-Length: 100')}part`), '200 part'],
    'longer than it says': [
      (socket) => socket.end(`${head('200 OK', 'Content-Length: 2')}more than two`),
      '200 mo',
    ],
    'chunked, and garbage': [
      (socket) => socket.end(`${chunked}2\r\nok\r\nZZZ not hexadecimal\r\n`),
      '200 ok',
    ],
    'as long as the connection': [
      (socket) => socket.end(`${head('200 OK', 'Connection: close')}to the end`),
      '200 to the end',
    ],
    'where none may be (204)': [
      (socket) => socket.end(`${head('204 No Content', 'Content-Length: 4')}body`),
      '204 ',
    ],
    'where none may be (205)': [
      (socket) => socket.end(`${head('205 Reset Content', 'Content-Length: 4')}body`),
      '205 body',
    ],
    'where none may be (304)': [
      (socket) => socket.end(`${head('304 Not Modified', 'Content-Length: 4')}body`),
      '304 ',
    ],
    'followed by an end of sending only': [
      (socket) => void (socket.write(okAnswer), socket.end()),
      '200 ok',
    ],
  };
  for (const [name, [speak, expected, timeoutMs]] of Object.entries(cases))
    await t.test(name, async () => {
      const [status, body] = await attemptBriefly(speak, timeoutMs);
      // Some systems lose data that a reset overtakes.
      const told = name.startsWith('one byte') ? String(body).slice(0, 1) : body;
      assert.equal(`${status} ${name.startsWith('reset') ? '' : told}`, expected);
    });
});

test('compressed bodies stay compressed', async () => {
  const bomb = gzipSync(Buffer.alloc(20_000_000));
  const outcome = await attemptOnce((socket) => {
    socket.write(head('200 OK', 'Content-Encoding: gzip', `Content-Length: ${bomb.length}`));
    socket.end(bomb);
  });
  assert.deepEqual(outcome.responseBody, bomb.subarray(0, 4096));
});

test('no status before the deadline is a timeout', async (t) => {
  const cases: Record<string, Speak> = {
    silence: () => {},
    'half a header': (socket) => socket.write('HTTP/1.1 200 OK\r\nX-A: '),
    'headers of one byte at a time': (socket) => dribble(socket, 'HTTP/1.1 200 OK\r\nX-A: bcdefgh'),
    'an informational answer alone': (socket) =>
      socket.write(head('103 Early Hints', 'Link: </a>')),
    'informational answers of one byte at a time': (socket) =>
      dribble(socket, head('103 Early Hints', `Link: ${'a'.repeat(500)}`)),
  };
  for (const [name, speak] of Object.entries(cases))
    await t.test(name, async () => {
      assert.deepEqual(await attemptBriefly(speak, shortMs), ['timeout', null]);
    });
});

test('attempts that time out together do not all end in one turn of the event loop', async (t) => {
  // The clock by which attempts are so late that they end together.
  t.mock.method(performance, 'now', () => 0);
  const receiver = await startByteReceiver(() => {});
  const sender = createSender({ allowedNetworks: loopback, timeoutMs: shortMs });
  let ended = 0;
  let mostPerTurn = 0;
  const watch = (before: number): void => {
    mostPerTurn = Math.max(mostPerTurn, ended - before);
    if (ended < crowd) setImmediate(watch, ended);
  };
  setImmediate(watch, 0);
  const outcomes = await Promise.all(
    Array.from({ length: crowd }, async () => {
      const outcome = await sender.attempt({ ...post, url: receiver.url });
      ended += 1;
      return outcome.error;
    }),
  );
  assert.deepEqual(new Set(outcomes), new Set(['timeout']));
  // Four of them, and more on a busy machine.
  assert.ok(mostPerTurn < crowd / 2, `${mostPerTurn} in one turn`);
  await sender.close();
  await receiver.allClosed();
});

test('on a busy process, attempts that time out together still end soon', async () => {
  const receiver = await startByteReceiver(() => {});
  const sender = createSender({ allowedNetworks: loopback, timeoutMs: shortMs });
  let ended = 0;
  let turns = 0;
  const delayTurns = (): void => {
    if (ended > 0) turns += 1;
    const until = performance.now() + slowTurnMs;
    while (performance.now() < until);
    if (ended < crowd) setImmediate(delayTurns);
  };
  const attempts = Array.from({ length: crowd }, async () => {
    await sender.attempt({ ...post, url: receiver.url });
    ended += 1;
  });
  setImmediate(delayTurns);
  await Promise.all(attempts);
  assert.ok(turns < crowd / 10, `they took ${turns} turns`);
  await sender.close();
  await receiver.allClosed();
});

test('a connection that breaks or is not HTTP before a status is a reset', async (t) => {
  const cases: Record<string, Speak> = {
    'a closed connection': (socket) => socket.end(),
    'a reset connection': (socket) => socket.resetAndDestroy(),
    'a reset in the headers': (socket) =>
      socket.write('HTTP/1.1 200 OK\r\nX-A: ', () => socket.resetAndDestroy()),
    'another protocol': (socket) => socket.write('SSH-2.0-OpenSSH\r\n'),
    'HTTP/0.9': (socket) => socket.write('<html>hello</html>'),
    'a status line that is none': (socket) => socket.write('HTTP/1.1 OK 200\r\n\r\n'),
    'a status beyond three digits': (socket) =>
      socket.write('HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n'),
    'a length that is no number': (socket) => socket.write(head('200 OK', 'Content-Length: -1')),
    'a header without end': (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nX-Big: ');
      pour(socket, 'z'.repeat(16_384));
    },
    'headers without end': (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      pour(socket, 'X-A: b\r\n'.repeat(1_000));
    },
    'informational answers without end': (socket) =>
      pour(socket, head('103 Early Hints', 'Link: </a>').repeat(100)),
    'continues without end': (socket) => pour(socket, head('100 Continue').repeat(100)),
    'another protocol by upgrade': (socket) =>
      socket.write(head('101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: websocket')),
    'an upgrade to nothing': (socket) => socket.write(head('101 Switching Protocols')),
  };
  for (const [name, speak] of Object.entries(cases))
    await t.test(name, async () => {
      assert.deepEqual(await attemptBriefly(speak), ['reset', null]);
    });
});

test('informational responses are skipped', async () => {
  const hints = head('103 Early Hints', 'Link: </a>') + head('102 Processing');
  assert.deepEqual(await attemptBriefly((socket) => socket.write(hints + okAnswer)), [200, 'ok']);
});

test('a response before the request was read counts', async () => {
  const receiver = await startByteReceiver(() => {}, {
    onConnection: (socket) => socket.once('readable', () => socket.write(okAnswer)),
  });
  const sender = createSender({ allowedNetworks: loopback, timeoutMs: longMs });
  const body = Buffer.alloc(8 * 1024 * 1024, 'x');
  const outcome = await sender.attempt({ ...post, body, url: receiver.url });
  assert.deepEqual([outcome.statusCode, String(outcome.responseBody)], [200, 'ok']);
  await sender.close();
});

test('a redirect is a failed attempt and is not followed', async () => {
  const trap = await startByteReceiver((socket) => socket.end(okAnswer));
  for (const status of ['301 Moved', '302 Found', '303 See Other', '307 Temporary', '308 Moved']) {
    const outcome = await attemptOnce((socket) =>
      socket.end(head(status, `Location: ${trap.url}`, 'Content-Length: 0')),
    );
    assert.deepEqual([outcome.statusCode, outcome.error], [Number(status.slice(0, 3)), null]);
    assert.equal(isSuccess(outcome), false);
  }
  assert.equal(trap.connections(), 0);
});

test('a connection that is refused is a connect error', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  const sender = createSender({ allowedNetworks: loopback, timeoutMs: longMs });
  const outcome = await sender.attempt({ ...post, url: `http://127.0.0.1:${port}/` });
  assert.deepEqual([outcome.error, outcome.errorCause], ['connect', 'refused']);
  await sender.close();
});
