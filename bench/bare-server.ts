/**
 * A bare `node:http` server that sends the same response to every request: the best that this machine can do. The
 * parent sets the response, as often as it likes.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The header lines as they were on the wire, name and value in turn. */
export type Answer = { status: number; rawHeaders: string[]; body: string };

let answer: { status: number; rawHeaders: string[]; body: Buffer | undefined };

process.on('message', ({ status, rawHeaders, body }: Answer) => {
  answer = { status, rawHeaders, body: body === '' ? undefined : Buffer.from(body) };
  process.send?.('ready');
});
process.on('disconnect', () => process.exit());

const server = createServer((_, response) => {
  response.writeHead(answer.status, answer.rawHeaders);
  response.end(answer.body);
});
server.listen(0, '127.0.0.1', () => {
  console.log(`Serving at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
