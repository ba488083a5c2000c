/** The process of the receivers. Its first argument is their `Setup`. */
import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { answerParent } from './answer-parent.ts';
import {
  marker,
  ownHeader,
  type Behaviour,
  type Question,
  type Received,
  type Setup,
  type Tally,
} from './receivers.ts';
import { tlsFolder } from './service.ts';
import { now, readStamp } from './stamp.ts';

const { host, servers, behaviours, records } = JSON.parse(process.argv[2] ?? '') as Setup;
const slowestMs = 200;
/** Longer than a run, so that no connection is closed while a request is on its way. */
const keepAliveTimeout = 600_000;

const received: Received[] = [];
const usedSockets = new WeakSet<Socket>();
/** How often each delivery was refused, and when for the last time. */
const refusals = new Map<string, { count: number; at: number }>();
/** Deliveries whose latency is measured. */
const measured = new Set<string>();
let secrets: Record<string, string> = {};
let hungPaths: string[] = [];
let isHealed = false;
let tally = createTally();
let arrived = 0;
let arrivedAtReset = 0;
let resetAt = 0;
let waiting: { for: number; resolve: (value: null) => void }[] = [];

const ports = await Promise.all(servers.map(listen));
answerParent(answer, ports);

function answer(question: Question): unknown {
  switch (question.do) {
    case 'expect':
      secrets = question.secrets;
      return null;
    case 'heal':
      [isHealed, hungPaths] = [true, []];
      return null;
    case 'hang':
      hungPaths.push(question.path);
      return null;
    case 'reset':
      [tally, arrivedAtReset, resetAt] = [createTally(), arrived, now()];
      return null;
    case 'wait':
      return waitFor(question.count + (question.since === 'now' ? arrived : arrivedAtReset));
    case 'report':
      return received;
    default:
      return tally;
  }
}

function createTally(): Tally {
  return { count: 0, duplicates: 0, lastAt: 0, latenciesMs: [], retriesMs: [] };
}

async function waitFor(total: number): Promise<null> {
  return arrived >= total ? null : new Promise((resolve) => waiting.push({ for: total, resolve }));
}

async function listen({ tls }: { tls: boolean }): Promise<number> {
  const read = (name: string) => readFileSync(join(tlsFolder, name));
  const server = tls
    ? createTlsServer({ key: read('server-key.pem'), cert: read('valid.pem') }, take)
    : createServer(take);
  server.keepAliveTimeout = keepAliveTimeout;
  await once(server.listen(0, host), 'listening');
  return (server.address() as AddressInfo).port;
}

function take(request: IncomingMessage, response: ServerResponse): void {
  if (request.method !== 'POST') {
    // Somebody asks whether a process is ready that had this port before.
    response.writeHead(405).end();
    return;
  }
  const path = request.url?.split('?')[0] ?? '';
  const name = path.split('/')[1] ?? '';
  const behaviour = behaviours[name] ?? (name as Behaviour);
  if (behaviour === 'fickle' && usedSockets.has(request.socket)) {
    request.socket.resetAndDestroy();
    return;
  }
  usedSockets.add(request.socket);
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const hangs =
      hungPaths.some((each) => path.startsWith(each)) || (behaviour === 'hung' && !isHealed);
    const body = Buffer.concat(chunks);
    const one = records ? note(request, path, body) : null;
    if (records || (!hangs && count(request, body))) arrive();
    if (!hangs)
      act(isHealed ? 'prompt' : behaviour, request, (status) => {
        if (one) one.status = status;
        response.writeHead(status).end(records ? marker : 'ok');
      });
  });
}

function arrive(): void {
  arrived += 1;
  if (waiting.length === 0) return;
  for (const each of waiting) if (each.for <= arrived) each.resolve(null);
  waiting = waiting.filter((each) => each.for > arrived);
}

function act(
  behaviour: Behaviour,
  request: IncomingMessage,
  respond: (status: number) => void,
): void {
  const [kind, number] = behaviour.split('-');
  switch (kind) {
    case 'slow':
      setTimeout(respond, (arrived * 37) % slowestMs, 200);
      return;
    case 'after':
      setTimeout(respond, Number(number), 200);
      return;
    case 'alternating':
      return respond(arrived % 2 === 0 ? 200 : 500);
    case 'error':
      return respond(500);
    case 'fails':
      return respond(refuses(request, Number(number)) ? 503 : 204);
    case 'probes':
      if (request.headers['x-service-event'] === 'webhook.probe')
        setTimeout(respond, slowestMs, 200);
      else respond(500);
      return;
    case 'reset':
      request.socket.resetAndDestroy();
      return;
    default:
      return respond(200);
  }
}

function refuses({ headers }: IncomingMessage, times: number): boolean {
  const id = String(headers['webhook-id']);
  const before = refusals.get(id);
  if (before) tally.retriesMs.push(now() - before.at);
  const refused = before?.count ?? 0;
  if (refused < times) refusals.set(id, { count: refused + 1, at: now() });
  return refused < times;
}

/** Returns whether it counts. */
function count({ headers }: IncomingMessage, body: Buffer): boolean {
  const at = now();
  // Announcements are large, and do not say when they were published.
  const sentAt = headers['x-service-event'] === 'org.created' ? null : readStamp(body);
  if (sentAt !== null) {
    // A late one from before the reset.
    if (sentAt < resetAt) return false;
    const id = String(headers['webhook-id']);
    if (measured.has(id)) tally.duplicates += 1;
    if (measured.has(id)) return false;
    measured.add(id);
    tally.latenciesMs.push(at - sentAt);
  }
  tally.count += 1;
  tally.lastAt = at;
  return true;
}

function note({ headers, socket }: IncomingMessage, webhookPath: string, body: Buffer): Received {
  const header = (name: string) => String(headers[name] ?? '');
  const one = {
    deliveryId: header('x-service-delivery'),
    webhookPath,
    at: Date.now(),
    from: socket.remoteAddress ?? '',
    digest: createHash('sha256').update(body).digest('hex'),
    body: body.toString(),
    signed: isSigned(secrets[webhookPath] ?? ''),
    hasOwnHeader: header(ownHeader.name.toLowerCase()) === ownHeader.value,
    status: null,
  };
  received.push(one);
  return one;

  function isSigned(secret: string): boolean {
    const github = createHmac('sha256', secret).update(body).digest('hex');
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    const prefix = `${header('webhook-id')}.${header('webhook-timestamp')}.`;
    const standard = createHmac('sha256', key).update(prefix).update(body).digest('base64');
    return (
      secret !== '' &&
      header('x-service-signature') === `sha256=${github}` &&
      // While a rotation overlaps, there is one for each secret.
      header('webhook-signature').split(' ').includes(`v1,${standard}`) &&
      header('webhook-id') === header('x-service-delivery')
    );
  }
}
