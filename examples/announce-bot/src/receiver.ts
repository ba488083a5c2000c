/** Receives deliveries and rejects those that are not genuine and recent. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifyWebhook, WebhookVerificationError, type WebhookEvent } from '@orgdir/client';

export type ReceiverOptions = {
  host: string;
  port: number;
  secret: string;
  onDelivery: (event: WebhookEvent) => void;
};

export async function startReceiver({ host, port, secret, onDelivery }: ReceiverOptions) {
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') return respond(response, 405);
    onDelivery(await verifyWebhook({ body: request, headers: request.headers, secret }));
    // Respond at once: the service times out after ten seconds.
    respond(response, 204);
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      const isRejected = error instanceof WebhookVerificationError;
      console.error(isRejected ? `rejected: ${error.reason}` : error);
      respond(response, isRejected ? 401 : 500);
    });
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}/`,
    stop: () => server.close(),
  };
}

function respond(response: ServerResponse, status: number): void {
  response.writeHead(status, { connection: 'close' }).end();
}
