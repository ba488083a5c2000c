/** Where the service delivers to. Only what is genuine and fresh counts. */
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
  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') return answer(response, 405);
    onDelivery(await verifyWebhook({ body: request, headers: request.headers, secret }));
    // At once: the service waits for this, and gives up after ten seconds.
    answer(response, 204);
  }

  const server = createServer((request, response) => {
    take(request, response).catch((error: unknown) => {
      const refused = error instanceof WebhookVerificationError;
      console.error(refused ? `refused: ${error.reason}` : error);
      answer(response, refused ? 401 : 500);
    });
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}/`,
    stop: () => server.close(),
  };
}

function answer(response: ServerResponse, status: number): void {
  response.writeHead(status, { connection: 'close' }).end();
}
