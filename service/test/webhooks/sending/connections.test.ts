/** Checks connections between attempts: which response belongs to which attempt, and what remains at the end. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { after, test, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import ipaddr from 'ipaddr.js';
import {
  createSender,
  type Sender,
  type SenderOptions,
} from '../../../src/webhooks/sending/attempt.ts';
import { head, okAnswer, startByteReceiver, type Speak } from '../../support/byte-receiver.ts';

const allowedNetworks = [ipaddr.parseCIDR('127.0.0.0/8')];
const post = { headers: {}, body: Buffer.from('{}') };
/** A response without a request. */
const stray = `${head('299 Stray', 'Content-Length: 5')}stray`;

function openSender(options: SenderOptions = {}): Sender {
  const sender = createSender({ allowedNetworks, timeoutMs: 30_000 }, options);
  after(() => sender.close());
  return sender;
}

/** Returns the statuses or errors of consecutive attempts, and the receiver. */
async function attempts(count: number, speak: Speak) {
  const receiver = await startByteReceiver(speak);
  const sender = openSender();
  const outcomes: (number | string | null)[] = [];
  for (let number = 1; number <= count; number += 1) {
    const { statusCode, error } = await sender.attempt({ ...post, url: receiver.url });
    outcomes.push(statusCode ?? error);
  }
  return { outcomes, receiver };
}

test('a connection serves one attempt after the other', async () => {
  const { outcomes, receiver } = await attempts(5, (socket) => socket.write(okAnswer));
  assert.deepEqual(outcomes, [200, 200, 200, 200, 200]);
  assert.equal(receiver.connections(), 1);
});

test('concurrent attempts use separate connections, which later attempts reuse', async () => {
  const together = 8;
  let answerAll = () => {};
  const waiting: Socket[] = [];
  const allArrived = new Promise<void>((resolve) => (answerAll = resolve));
  const receiver = await startByteReceiver((socket, request) => {
    if (request > together) socket.write(okAnswer);
    else if (waiting.push(socket) === together) answerAll();
  });
  const sender = openSender();
  const send = () => sender.attempt({ ...post, url: receiver.url });
  const first = Array.from({ length: together }, send);
  await allArrived;
  for (const socket of waiting) socket.write(okAnswer);
  const second = (await Promise.all(first)).map(send);
  const statuses = (await Promise.all(second)).map(({ statusCode }) => statusCode);
  assert.deepEqual(new Set(statuses), new Set([200]));
  assert.deepEqual([receiver.requests(), receiver.connections()], [2 * together, together]);
});

test("a second response on a connection is not taken for the next attempt's", async () => {
  const { outcomes, receiver } = await attempts(4, (socket) => socket.write(okAnswer + stray));
  assert.deepEqual(outcomes, [200, 200, 200, 200]);
  assert.deepEqual([receiver.requests(), receiver.connections()], [4, 4]);
});

test("half of a second response is not taken for the next attempt's", async () => {
  const half = stray.length - 3;
  const begun = new Set<Socket>();
  const { outcomes, receiver } = await attempts(4, (socket) => {
    if (begun.has(socket)) return socket.write(stray.slice(half));
    begun.add(socket);
    return socket.write(okAnswer + stray.slice(0, half));
  });
  assert.deepEqual(outcomes, [200, 200, 200, 200]);
  assert.equal(receiver.connections(), 4);
});

test('a body longer than its Content-Length is not taken for the next response', async () => {
  const smuggled = `${head('200 OK', 'Content-Length: 0')}${stray}`;
  const { outcomes } = await attempts(4, (socket) => socket.write(smuggled));
  assert.deepEqual(outcomes, [200, 200, 200, 200]);
});

test('an unexpected body is not taken for the next response', async () => {
  for (const status of ['204 No Content', '304 Not Modified']) {
    const { outcomes } = await attempts(3, (socket) => socket.write(head(status) + stray));
    assert.deepEqual(new Set(outcomes), new Set([Number(status.slice(0, 3))]));
  }
});

test('a response without a request closes the connection', async () => {
  const sockets: Socket[] = [];
  const receiver = await startByteReceiver((socket) => {
    sockets.push(socket);
    socket.write(okAnswer);
  });
  const sender = openSender();
  assert.equal((await sender.attempt({ ...post, url: receiver.url })).statusCode, 200);
  sockets[0]?.write(stray);
  await receiver.allClosed();
  assert.equal((await sender.attempt({ ...post, url: receiver.url })).statusCode, 200);
  assert.deepEqual([receiver.requests(), receiver.connections()], [2, 2]);
});

test("a late response is not taken for the next attempt's", async () => {
  const waiting: Socket[] = [];
  const receiver = await startByteReceiver((socket, request) => {
    if (request === 1) waiting.push(socket);
    else {
      waiting[0]?.write(stray);
      socket.write(okAnswer);
    }
  });
  const sender = createSender({ allowedNetworks, timeoutMs: 2_000 });
  after(() => sender.close());
  const first = sender.attempt({ ...post, url: receiver.url });
  assert.equal((await first).error, 'timeout');
  assert.equal((await sender.attempt({ ...post, url: receiver.url })).statusCode, 200);
  assert.equal(receiver.connections(), 2);
});

test('a connection with Connection: close is not reused', async () => {
  const closing = `${head('200 OK', 'Content-Length: 2', 'Connection: close')}ok`;
  const { outcomes, receiver } = await attempts(3, (socket) => socket.end(closing));
  assert.deepEqual(outcomes, [200, 200, 200]);
  assert.equal(receiver.connections(), 3);
});

test('an idle connection that the receiver closed is not reused', async () => {
  const sockets: Socket[] = [];
  const receiver = await startByteReceiver((socket) => {
    sockets.push(socket);
    socket.write(okAnswer);
  });
  const sender = openSender();
  assert.equal((await sender.attempt({ ...post, url: receiver.url })).statusCode, 200);
  sockets[0]?.end();
  await receiver.allClosed();
  assert.equal((await sender.attempt({ ...post, url: receiver.url })).statusCode, 200);
  assert.deepEqual([receiver.requests(), receiver.connections()], [2, 2]);
});

const breaks = [
  (socket: Socket) => socket.destroy(),
  (socket: Socket) => socket.resetAndDestroy(),
  (socket: Socket) => socket.end(),
];

test('a reused connection that breaks without a response is replaced within the attempt', async () => {
  for (const breakOff of breaks) {
    const { outcomes, receiver } = await attempts(3, (socket, request) =>
      request === 2 ? breakOff(socket) : socket.write(okAnswer),
    );
    assert.deepEqual(outcomes, [200, 200, 200]);
    assert.deepEqual([receiver.requests(), receiver.connections()], [4, 2]);
  }
});

test('a request is sent a second time only once, and only from a reused connection', async () => {
  for (const breakOff of breaks) {
    const { outcomes, receiver } = await attempts(3, (socket, request) =>
      request === 1 ? socket.write(okAnswer) : breakOff(socket),
    );
    assert.deepEqual(outcomes, [200, 'reset', 'reset']);
    // The second attempt made two requests, the third had a new connection.
    assert.deepEqual([receiver.requests(), receiver.connections()], [4, 3]);
  }
});

test('a request whose response has begun is not sent a second time', async () => {
  for (const begun of ['HTTP/1.1 ', head('103 Early Hints')]) {
    const { outcomes, receiver } = await attempts(2, (socket, request) => {
      if (request === 1) socket.write(okAnswer);
      else socket.end(begun);
    });
    assert.deepEqual([outcomes, receiver.requests()], [[200, 'reset'], 2]);
  }
});

test('a receiver that closes just as the next request goes out costs no attempt', async () => {
  // Whether the request or the close is first is left to chance.
  const rounds = 100;
  const { outcomes, receiver } = await attempts(rounds, (socket) => {
    socket.write(okAnswer);
    setImmediate(() => socket.destroy());
  });
  assert.deepEqual(new Set(outcomes), new Set([200]));
  assert.ok(receiver.requests() >= rounds && receiver.requests() <= 2 * rounds);
});

test('close ends running and idle connections, can be called twice, and nothing is sent afterwards', async () => {
  let arrived = () => {};
  const oneWaits = new Promise<void>((resolve) => (arrived = resolve));
  const silent = await startByteReceiver(() => arrived());
  const kept = await startByteReceiver((socket) => socket.write(okAnswer));
  const sender = openSender();
  await sender.attempt({ ...post, url: kept.url });
  const inFlight = sender.attempt({ ...post, url: silent.url });
  await oneWaits;
  await Promise.all([sender.close(), sender.close()]);
  assert.equal((await inFlight).error, 'interrupted');
  await Promise.all([silent.allClosed(), kept.allClosed()]);
  assert.equal((await sender.attempt({ ...post, url: kept.url })).error, 'interrupted');
  assert.deepEqual([silent.requests(), kept.requests()], [1, 1]);
});

test('close ends a running handshake', async () => {
  let arrived: (socket: Socket) => void = () => {};
  const hello = new Promise<Socket>((resolve) => (arrived = resolve));
  const receiver = await startByteReceiver(() => {}, {
    onConnection: (socket) => socket.once('data', () => arrived(socket)),
  });
  const sender = openSender();
  const inFlight = sender.attempt({ ...post, url: receiver.url.replace('http:', 'https:') });
  const socket = await hello;
  const ended = once(socket, 'close');
  await sender.close();
  await ended;
  assert.equal((await inFlight).error, 'interrupted');
});

/** Makes an attempt, lets the connection idle, and makes another. Returns the number of connections. */
async function connectionsAfterIdling(t: TestContext, idleMs: number, answer = okAnswer) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const receiver = await startByteReceiver((socket) => socket.write(answer));
  const sender = openSender();
  await sender.attempt({ ...post, url: receiver.url });
  // undici starts its timer in the turn after the response.
  await turn();
  t.mock.timers.tick(idleMs);
  assert.equal((await sender.attempt({ ...post, url: receiver.url })).statusCode, 200);
  t.mock.timers.reset();
  return receiver.connections();
}

test('an idle connection stays open while its lifetime leaves time for an attempt', async (t) => {
  assert.equal(await connectionsAfterIdling(t, 29_999), 1);
  assert.equal(await connectionsAfterIdling(t, 30_000), 2);
});

test('an idle connection closes two seconds before the receiver would close it', async (t) => {
  const answer = okAnswer.replace('\r\n', '\r\nKeep-Alive: timeout=10\r\n');
  assert.equal(await connectionsAfterIdling(t, 7_999, answer), 1);
  assert.equal(await connectionsAfterIdling(t, 8_000, answer), 2);
});

test('after an attempt failed on a reused connection, connections to the receiver idle for 4 s only', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const receiver = await startByteReceiver((socket, request) =>
    request === 2 ? socket.destroy() : socket.write(okAnswer),
  );
  const sender = openSender();
  const attempt = async (afterMs: number) => {
    t.mock.timers.tick(afterMs);
    assert.equal((await sender.attempt({ ...post, url: receiver.url })).statusCode, 200);
    await turn();
    return receiver.connections();
  };
  assert.deepEqual(
    [await attempt(0), await attempt(4_000), await attempt(3_999), await attempt(4_000)],
    [1, 2, 2, 3],
  );
});

test('beyond a limit, the connection that has been idle for longest closes', async () => {
  const sender = openSender({ idleConnectionsMax: 2 });
  const receivers = await Promise.all(
    [1, 2, 3].map(() => startByteReceiver((socket) => socket.write(okAnswer))),
  );
  const [first, ...others] = receivers;
  for (const { url } of receivers) await sender.attempt({ ...post, url });
  await first?.allClosed();
  for (const { url } of receivers.toReversed()) await sender.attempt({ ...post, url });
  assert.deepEqual(
    [first, ...others].map((receiver) => receiver?.connections()),
    [2, 1, 1],
  );
});
