/**
 * A receiver of deliveries on many origins. It responds with 200 when it has read the body, on paths that begin with `/after-N`
 * N milliseconds later, never on `/silent`, with 500 on `/fail`, on `/once` with 503 to the first attempt, and on `/limited`
 * with 429, as a chat platform that wants to be left alone for a second. It counts
 * deliveries, and measures the latency of those that contain their time of publishing, once for each delivery, and of
 * retries.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { now } from './wall-clock.ts';

export type ReceiverOrder =
  | { do: 'reset' }
  /** Resolves after so many deliveries since the reset. */
  | { do: 'wait'; count: number }
  /** From now on nothing is answered. */
  | { do: 'silence' }
  | { do: 'tally' };
export type Tally = {
  count: number;
  firstAt: number;
  lastAt: number;
  latenciesMs: number[];
  retriesMs: number[];
};

const origins = Number(process.argv[2] ?? 1);
const stamp = /"application":\{"id":"at-([\d.]+)-/;

/** The times of first attempts, by delivery. */
const failed = new Map<string, number>();
/** Deliveries whose latency is measured. */
const measured = new Set<string>();
let tally = empty();
let isSilent = false;
let awaited = Number.POSITIVE_INFINITY;

function empty(): Tally {
  return { count: 0, firstAt: 0, lastAt: 0, latenciesMs: [], retriesMs: [] };
}

function take(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const [, behaviour = ''] = request.url?.split('/') ?? [];
    if (isSilent || behaviour === 'silent') return;
    if (behaviour === 'once' && failFirst(request, response)) return;
    if (behaviour === 'limited') {
      response.writeHead(429, { 'retry-after': '1' }).end();
      return;
    }
    response.statusCode = behaviour === 'fail' ? 500 : 200;
    count(request, chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
    const [, delayMs] = behaviour.split('after-');
    if (delayMs === undefined) response.end('ok');
    else setTimeout(() => response.end('ok'), Number(delayMs));
  });
}

/** Returns false if it is a later attempt. */
function failFirst({ headers }: IncomingMessage, response: ServerResponse): boolean {
  const id = String(headers['webhook-id']);
  const failedAt = failed.get(id);
  if (failedAt === undefined) {
    failed.set(id, now());
    response.writeHead(503).end();
    return true;
  }
  failed.delete(id);
  tally.retriesMs.push(now() - failedAt);
  return false;
}

function count({ headers }: IncomingMessage, body: Buffer): void {
  const at = now();
  // Only small bodies contain a time, so those of the throughput runs are not searched.
  const sentAt = body.length < 600 ? stamp.exec(body.toString('latin1'))?.[1] : undefined;
  const id = String(headers['webhook-id']);
  if (sentAt !== undefined && measured.has(id)) return;
  if (tally.count === 0) tally.firstAt = at;
  tally.lastAt = at;
  tally.count += 1;
  if (sentAt !== undefined) {
    measured.add(id);
    tally.latenciesMs.push(at - Number(sentAt));
  }
  if (tally.count === awaited) process.send?.(tally);
}

process.on('message', (order: ReceiverOrder) => {
  if (order.do === 'reset') tally = empty();
  if (order.do === 'silence') isSilent = true;
  awaited = order.do === 'wait' ? order.count : Number.POSITIVE_INFINITY;
  if (order.do !== 'wait' || tally.count >= order.count) process.send?.(tally);
});
process.on('disconnect', () => process.exit());

const ports = await Promise.all(
  Array.from({ length: origins }, async () => {
    const server = createServer({ keepAliveTimeout: 60_000 }, take).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }),
);
process.send?.(ports);
