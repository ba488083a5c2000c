/** A receiver that speaks in bytes: what no well-behaved server would say, and when. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { after } from 'node:test';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

/** Called for each complete request, with its number on this receiver, from 1. */
export type Speak = (socket: Socket, request: number) => void;

export type ByteReceiver = {
  port: number;
  url: string;
  /** Complete requests so far. */
  requests(): number;
  /** Connections so far. */
  connections(): number;
  /** Resolves when every connection so far has closed. */
  allClosed(): Promise<void>;
};

export type ByteReceiverOptions = {
  tls?: TlsOptions;
  host?: string;
  port?: number;
  /** Instead of waiting for requests. */
  onConnection?: (socket: Socket) => void;
};

export async function startByteReceiver(
  speak: Speak,
  { tls, host = '127.0.0.1', port: wantedPort = 0, onConnection }: ByteReceiverOptions = {},
): Promise<ByteReceiver> {
  let requests = 0;
  let connections = 0;
  const open = new Set<Socket>();
  const closed: Promise<unknown>[] = [];

  function take(socket: Socket): void {
    connections += 1;
    open.add(socket);
    socket.on('error', () => {});
    closed.push(new Promise((resolve) => socket.once('close', resolve)));
    socket.once('close', () => open.delete(socket));
    if (onConnection) return onConnection(socket);
    let bytes = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      for (let end = requestEnd(bytes); end > 0; end = requestEnd(bytes)) {
        bytes = bytes.subarray(end);
        requests += 1;
        speak(socket, requests);
      }
    });
  }

  const server: Server = tls ? createTlsServer(tls, take) : createServer(take);
  server.on('tlsClientError', () => {});
  server.listen(wantedPort, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  after(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  return {
    port,
    url: `${tls ? 'https' : 'http'}://${host}:${port}/hook`,
    requests: () => requests,
    connections: () => connections,
    allClosed: async () => void (await Promise.all(closed)),
  };
}

/** Returns the end of the first request, or 0 while it is not complete. */
function requestEnd(bytes: Buffer): number {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return 0;
  const length = /content-length: (\d+)/i.exec(bytes.toString('latin1', 0, headEnd))?.[1] ?? '0';
  const end = headEnd + 4 + Number(length);
  return bytes.length >= end ? end : 0;
}

export function head(status: string, ...lines: string[]): string {
  return [`HTTP/1.1 ${status}`, ...lines, '', ''].join('\r\n');
}

export const okAnswer = `${head('200 OK', 'Content-Length: 2')}ok`;

/** Writes for as long as somebody listens. */
export function pour(socket: Socket, chunk: Buffer | string): void {
  const more = () => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', more);
  more();
}

/** One byte at a time, over and over, until the socket closes. */
export function dribble(socket: Socket, text: string, intervalMs = 5): void {
  let at = 0;
  const timer = setInterval(() => {
    socket.write(text.charAt(at % text.length));
    at += 1;
  }, intervalMs);
  socket.once('close', () => clearInterval(timer));
}
