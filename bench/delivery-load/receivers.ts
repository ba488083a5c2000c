/** A hundred receivers of deliveries, on separate ports. They respond when they have read the body, at once or later. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Receivers = {
  /** One address per receiver. The path is its index. */
  urls: string[];
  /** Gets the index of the receiver and the body of every delivery. */
  onDelivery: (receiver: number, body: string) => void;
};

const count = 100;
/** Longer than any pause between two measurements. */
const keepAliveTimeout = 120_000;

export async function openReceivers(delayMs: number): Promise<Receivers> {
  const servers = Array.from({ length: count }, () =>
    createServer({ keepAliveTimeout }, receive).listen(0, '127.0.0.1'),
  );
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  const receivers: Receivers = {
    urls: ports.map((port, index) => `http://127.0.0.1:${port}/${index}`),
    onDelivery: () => {},
  };

  function receive(request: IncomingMessage, response: ServerResponse): void {
    let body = '';
    request.setEncoding('latin1');
    request.on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      receivers.onDelivery(Number(request.url?.slice(1)), body);
      if (delayMs === 0) response.end();
      else setTimeout(() => response.end(), delayMs);
    });
  }

  return receivers;
}
