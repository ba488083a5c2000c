/** Requests whose bodies do not arrive. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import fastify, { type FastifyReply } from 'fastify';
import { pino } from 'pino';
import { handleClientError } from '../../src/http/connections/client-error.ts';
import { endUnfinishedBodies } from '../../src/http/connections/end-stalled.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService } from '../support/service.ts';

type Client = { socket: Socket; text: () => string; closed: Promise<unknown> };

async function open(url: string, bytes: string): Promise<Client> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += String(chunk)));
  socket.on('error', () => {});
  const closed = once(socket, 'close');
  await once(socket, 'connect');
  socket.write(bytes);
  return { socket, text: () => text, closed };
}

const head = (line: string, ...headers: string[]) =>
  [`${line} HTTP/1.1`, 'Host: 127.0.0.1', 'Content-Length: 100', ...headers, '', '{'].join('\r\n');

test('a body that does not arrive ends its request, answered or not, but not that of a route with a rule of its own', async () => {
  const app = fastify({
    forceCloseConnections: true,
    clientErrorHandler: handleClientError({ crossOrigin: false, arrivesWithin: 'a moment' }),
  });
  endUnfinishedBodies(app, 300);
  app.addContentTypeParser('text/own', (_request, payload, done) => done(null, payload));
  app.post('/rows', async () => 'stored');
  const onRequest = (_request: unknown, reply: FastifyReply) => void reply.code(401).send('no');
  app.post('/refused', { onRequest }, async () => 'stored');
  const config = { endsUnfinishedBodies: true };
  let bulk: (() => void) | undefined;
  app.post('/bulk', { config }, (_request, reply) => void (bulk = () => void reply.send('stored')));
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  after(() => app.close());

  const own = await open(url, head('POST /bulk', 'Content-Type: text/own'));
  const [waiting, refused] = [
    await open(url, head('POST /rows', 'Content-Type: application/json')),
    await open(url, head('POST /refused', 'Content-Type: application/json')),
  ];
  await Promise.all([waiting.closed, refused.closed]);
  assert.match(waiting.text(), /^HTTP\/1\.1 400 .+must arrive within a moment/s);
  assert.match(refused.text(), /^HTTP\/1\.1 401 /);
  assert.doesNotMatch(refused.text(), /a moment/);
  assert.equal(own.socket.closed, false);
  bulk?.();
  await own.closed;
  assert.match(own.text(), /stored/);
});

test('a client that breaks off its request is no fault of the database', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const service = await startTestService({ log });
  const request = head(
    'POST /api/v1/webhooks',
    'Content-Type: application/json',
    `Authorization: Bearer ${service.key}`,
  );
  const arrived = once(service.app.server, 'request') as Promise<[IncomingMessage]>;
  const { socket } = await open(service.url, request);
  const [received] = await arrived;
  await eventually(async () => received.listenerCount('data') > 0);
  const ended = new Promise((resolve) => received.once('close', resolve));
  socket.destroy();
  await ended;
  await setImmediate();
  assert.deepEqual(
    lines.filter((line) => line.includes('request.failed')),
    [],
  );
});
