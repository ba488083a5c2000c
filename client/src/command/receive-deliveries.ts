/** Receives deliveries on this machine, passes each one on, and responds with a fixed status. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { cannotStart } from './command-error.ts';

/** A header that was sent twice has two values. */
export type ReceivedDelivery = {
  headers: Readonly<Record<string, string[] | undefined>>;
  body: Buffer;
};
export type Receiver = {
  url: string;
  /** Accepts no more deliveries and gives running ones a moment to end. */
  stop(): Promise<void>;
};

type Options = {
  port: number;
  /** The status of every response. */
  status: number;
  /** The response waits for it. */
  onDelivery: (delivery: ReceivedDelivery) => Promise<void>;
};

const host = '127.0.0.1';
/** More than any delivery: an event's data has at most some hundred kilobytes. */
const bodyBytesMax = 1024 * 1024;
const requestTimeoutMs = 30_000;
const connectionsMax = 100;
const stopTimeoutMs = 1_000;

export async function startReceiver({ port, status, onDelivery }: Options): Promise<Receiver> {
  const server = createServer(
    { requestTimeout: requestTimeoutMs, headersTimeout: requestTimeoutMs },
    (request, response) => {
      void handle(request, response).catch(() => response.destroy());
    },
  );
  server.maxConnections = connectionsMax;
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw listenError(error as NodeJS.ErrnoException, port);
  }
  const bound = server.address() as AddressInfo;
  return { url: `http://${host}:${bound.port}/`, stop };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') return end(response, 405);
    const body = await readBody(request);
    if (body === null) return end(response, 413);
    await onDelivery({ headers: request.headersDistinct, body });
    end(response, status);
  }

  async function stop(): Promise<void> {
    const closed = once(server, 'close');
    server.close();
    server.closeIdleConnections();
    await Promise.race([closed, wait(stopTimeoutMs, undefined, { ref: false })]);
    server.closeAllConnections();
  }
}

/** Returns null if the body is too large; the rest is not read. */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function end(response: ServerResponse, statusCode: number): void {
  response.writeHead(statusCode, statusCode === 413 ? { connection: 'close' } : {}).end();
}

function listenError(error: NodeJS.ErrnoException, port: number): Error {
  if (error.code === 'EADDRINUSE')
    return cannotStart(
      `another program uses port ${port}; choose another port, for example --port ${port < 65_535 ? port + 1 : 4000}`,
      { cause: error },
    );
  if (error.code === 'EACCES')
    return cannotStart(
      `this user may not use port ${port}; choose a port above 1023, for example --port 4000`,
      { cause: error },
    );
  return error;
}
