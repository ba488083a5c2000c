/**
 * The process of the receivers: one server per kind, which come as JSON in the first argument, and their
 * address in the second. They record every request and
 * verify its signatures.
 */
import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { marker, type Behaviour, type Kind } from './behaviours.ts';
import type { FromReceivers, Received, ToReceivers } from './received.ts';
import { tlsFolder } from './receivers.ts';

const received: Received[] = [];
const seenOfDelivery = new Map<string, number>();
let secrets: Record<string, string> = {};
let awaited: number[] = [];
const slowestMs = 200;
const failuresBeforeRecovery = 2;
const lateMs = 9_000;
const usedSockets = new WeakSet<Socket>();
let isHealed = false;
let hungPaths: string[] = [];

process.on('message', (message: ToReceivers) => {
  if (message.kind === 'secrets') secrets = message.byPath;
  if (message.kind === 'heal') [isHealed, hungPaths] = [true, []];
  if (message.kind === 'hang') hungPaths.push(message.path);
  if (message.kind === 'report') send({ kind: 'report', received });
  if (message.kind === 'notify') {
    awaited.push(message.count);
    notify();
  }
});
process.once('disconnect', () => process.exit());

const ports: number[] = [];
for (const kind of JSON.parse(process.argv[2] ?? '[]') as Kind[]) ports.push(await serve(kind));
send({ kind: 'listening', ports });

async function serve({ behaviour, tls }: Kind): Promise<number> {
  const respond = (request: IncomingMessage, response: ServerResponse) =>
    void take(behaviour, request, response).catch(() => response.destroy());
  const server = tls ? createTlsServer(readCertificate(), respond) : createServer(respond);
  // Longer than a run, so that no connection is closed while a request is on its way.
  server.keepAliveTimeout = 600_000;
  server.listen(0, process.argv[3]);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function readCertificate() {
  const read = (name: string) => readFileSync(join(tlsFolder, name));
  return { key: read('server-key.pem'), cert: read('valid.pem') };
}

async function take(
  behaviour: Behaviour,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (behaviour === 'fickle' && usedSockets.has(request.socket))
    return void request.socket.resetAndDestroy();
  usedSockets.add(request.socket);
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const one = note(request, Buffer.concat(chunks));
  const seen = (seenOfDelivery.get(one.deliveryId) ?? 0) + 1;
  seenOfDelivery.set(one.deliveryId, seen);
  notify();
  const answer = (status: number) => {
    one.status = status;
    response.writeHead(status).end(marker);
  };
  if (hungPaths.some((path) => one.webhookPath.startsWith(path))) return;
  if (isHealed) answer(200);
  else act(behaviour, seen, request, answer);
}

function act(
  behaviour: Behaviour,
  seen: number,
  request: IncomingMessage,
  answer: (status: number) => void,
): void {
  switch (behaviour) {
    case 'prompt':
    case 'fickle':
      return answer(200);
    case 'slow':
      setTimeout(answer, (received.length * 37) % slowestMs, 200);
      return;
    case 'late':
      setTimeout(answer, lateMs, 200);
      return;
    case 'alternating':
      return answer(received.length % 2 === 0 ? 200 : 500);
    case 'error':
      return answer(500);
    case 'recovering':
      return answer(seen > failuresBeforeRecovery ? 204 : 503);
    case 'probes':
      if (request.headers['x-service-event'] === 'webhook.probe')
        setTimeout(answer, slowestMs, 200);
      else answer(500);
      return;
    case 'reset':
      request.socket.resetAndDestroy();
      return;
    case 'hung':
  }
}

function note({ headers, socket, url = '' }: IncomingMessage, body: Buffer): Received {
  const webhookPath = url.split('?')[0] ?? '';
  const one = {
    deliveryId: header('x-service-delivery'),
    webhookPath,
    at: Date.now(),
    from: socket.remoteAddress ?? '',
    digest: createHash('sha256').update(body).digest('hex'),
    body: body.toString(),
    signed: isSigned(secrets[webhookPath] ?? '', body),
    status: null,
  };
  received.push(one);
  return one;

  function header(name: string): string {
    return String(headers[name] ?? '');
  }

  function isSigned(secret: string, bytes: Buffer): boolean {
    const github = createHmac('sha256', secret).update(bytes).digest('hex');
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    const prefix = `${header('webhook-id')}.${header('webhook-timestamp')}.`;
    const standard = createHmac('sha256', key).update(prefix).update(bytes).digest('base64');
    return (
      secret !== '' &&
      header('x-service-signature') === `sha256=${github}` &&
      // While a rotation overlaps, there is one for each secret.
      header('webhook-signature').split(' ').includes(`v1,${standard}`) &&
      header('webhook-id') === header('x-service-delivery')
    );
  }
}

function notify(): void {
  const total = received.length;
  for (const count of awaited.filter((each) => each <= total))
    send({ kind: 'reached', count, total });
  awaited = awaited.filter((each) => each > total);
}

function send(message: FromReceivers): void {
  process.send?.(message);
}
