/** A receiver of deliveries: a real server that keeps what it gets and answers as the test says. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';

export type Received = {
  method: string;
  path: string;
  headers: Record<string, string>;
  rawHeaders: string[];
  body: Buffer;
  at: number;
};
export type Respond = (response: ServerResponse, received: Received, count: number) => void;

export type Receiver = {
  url: string;
  received: Received[];
  /** Resolves with everything received, once there are `count`. */
  waitFor(count: number): Promise<Received[]>;
  respond: Respond;
};

const ok: Respond = (response) => response.writeHead(200).end('ok');

export async function startReceiver(respond: Respond = ok): Promise<Receiver> {
  const received: Received[] = [];
  const waiting = new Set<() => void>();
  const receiver: Receiver = { url: '', received, respond, waitFor };

  async function waitFor(count: number): Promise<Received[]> {
    while (received.length < count) await new Promise<void>((resolve) => waiting.add(resolve));
    return received;
  }

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const one: Received = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers as Record<string, string>,
      rawHeaders: request.rawHeaders,
      body: Buffer.concat(chunks),
      at: performance.now(),
    };
    received.push(one);
    receiver.respond(response, one, received.length);
    for (const resolve of waiting) resolve();
    waiting.clear();
  }

  const server = createServer(
    (request, response) => void take(request, response).catch(() => response.destroy()),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  return receiver;
}

/** Allows a test's service to send to this machine. */
export const loopbackAllowed = {
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  WEBHOOK_ALLOW_HTTP: 'true',
};
