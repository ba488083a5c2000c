/** Requests that `fetch` would normalise or refuse: as they stand, over a socket. */
import { once } from 'node:events';
import { request, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';

export type RawAnswer = {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  text: string;
};
export type RawRequest = {
  method?: string;
  /** Sent as it stands. */
  path: string;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
};

export function rawRequest(
  url: string,
  { method = 'GET', path, headers: given = {}, body }: RawRequest,
): Promise<RawAnswer> {
  // Node.js does not frame the body of some methods.
  const framed = body === undefined || 'transfer-encoding' in given;
  const headers = framed ? given : { ...given, 'content-length': String(Buffer.byteLength(body)) };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      const { statusCode: status = 0, headers: received } = response;
      const end = () => {
        const bytes = Buffer.concat(chunks);
        resolve({ status, headers: received, bytes, text: bytes.toString() });
      };
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        // Of what does not end, the beginning.
        if (!received['content-type']?.startsWith('text/event-stream')) return;
        end();
        response.destroy();
      });
      response.on('error', reject);
      response.on('end', end);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Writes bytes to the server, and returns all that it writes until it hangs up. */
export async function sendBytes(url: string, bytes: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('error', () => {});
  const closed = once(socket, 'close');
  socket.write(bytes);
  await closed;
  return Buffer.concat(chunks).toString();
}
