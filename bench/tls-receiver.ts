/**
 * A receiver on four origins: plain HTTP, TLS, TLS that closes each connection, and the same without tickets, so that no
 * session is resumed. It responds with 1 if the connection resumed a session, otherwise with 0.
 */
import { constants } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';

export type TlsPorts = { plain: number; open: number; resumed: number; cold: number };

const folder = join(import.meta.dirname, '../service/test/support/tls');
const tls = {
  key: readFileSync(join(folder, 'server-key.pem')),
  cert: readFileSync(join(folder, 'valid.pem')),
  keepAliveTimeout: 60_000,
};

function respond(headers: Record<string, string>) {
  return (request: IncomingMessage, response: ServerResponse) => {
    const { isSessionReused } = request.socket as Partial<TLSSocket>;
    const body = isSessionReused?.call(request.socket) ? '1' : '0';
    request
      .resume()
      .on('end', () => response.writeHead(200, { 'content-length': 1, ...headers }).end(body));
  };
}

async function listen(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

const closing = respond({ connection: 'close' });
const withoutTickets = { ...tls, secureOptions: constants.SSL_OP_NO_TICKET };
const ports: TlsPorts = {
  plain: await listen(createServer({ keepAliveTimeout: tls.keepAliveTimeout }, respond({}))),
  open: await listen(createTlsServer(tls, respond({}))),
  resumed: await listen(createTlsServer(tls, closing)),
  cold: await listen(createTlsServer(withoutTickets, closing)),
};
process.on('disconnect', () => process.exit());
process.send?.(ports);
