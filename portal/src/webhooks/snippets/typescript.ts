import { createServer } from 'node:http';
import { verifyWebhook, WebhookVerificationError } from '@orgdir/client';

const secret = process.env['WEBHOOK_SECRET'] ?? ''; // whsec_…
const port = Number(process.env['PORT'] ?? 8080);

createServer((request, response) => {
  // It reads the body itself: the signature is over the bytes as they came.
  verifyWebhook({ body: request, headers: request.headers, secret })
    .then(({ id, event, data }) => {
      // Store it and answer; work on it afterwards. The id is the same if it comes again.
      console.log(id, event, data);
      response.writeHead(204).end();
    })
    .catch((error: unknown) => {
      const isRefused = error instanceof WebhookVerificationError;
      response.writeHead(isRefused ? 401 : 500, { connection: 'close' }).end();
    });
}).listen(port, '127.0.0.1');
