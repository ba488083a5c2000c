/** A server that sends the responses of a script, one per request. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { after } from 'node:test';

export type Scripted = {
  status: number;
  headers?: Record<string, string>;
  body?: string;
  /** Only so many bytes of the body leave, then the connection is cut. */
  cutAfterBytes?: number;
  /** Sends the head of a response and never its body. */
  stall?: true;
};
export type Asked = { method: string; url: string; headers: IncomingHttpHeaders; at: number };
export type ScriptedServer = { url: string; asked: Asked[] };

/** The last response is repeated. */
export async function startScriptedServer(...answers: Scripted[]): Promise<ScriptedServer> {
  const asked: Asked[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request;
    asked.push({ method, url, headers, at: performance.now() });
    const answer = answers[Math.min(asked.length, answers.length) - 1];
    if (!answer) throw new Error('a script has at least one answer');
    const { status, body = '', cutAfterBytes, stall } = answer;
    response.writeHead(status, { 'content-length': Buffer.byteLength(body), ...answer.headers });
    if (stall) response.flushHeaders();
    else if (cutAfterBytes === undefined) response.end(body);
    else response.write(body.slice(0, cutAfterBytes), () => response.destroy());
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, asked };
}

export const okAnswer: Scripted = {
  status: 200,
  body: '{"success":true,"data":{},"meta":{"apiVersion":"v1"}}',
};

/** An error in the service's envelope. */
export function errorAnswer(
  status: number,
  code: string,
  headers: Record<string, string> = {},
): Scripted {
  const body = JSON.stringify({ success: false, error: { code, message: 'No.', details: {} } });
  return { status, headers: { 'content-type': 'application/json', ...headers }, body };
}
