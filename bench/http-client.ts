/** A keep-alive connection with one request at a time. */
import { Agent, request, type IncomingMessage } from 'node:http';
import type { Answer } from './bare-server.ts';

export type Client = {
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  close(): void;
};

export function createClient(port: number, key: string): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    get(path, headers = {}) {
      return new Promise((resolve, reject) => {
        const sent = request(
          {
            host: '127.0.0.1',
            port,
            path,
            agent,
            headers: { authorization: `Bearer ${key}`, ...headers },
          },
          (response) => void readResponse(response).then(resolve, reject),
        );
        sent.on('error', reject);
        sent.end();
      });
    },
    close: () => agent.destroy(),
  };
}

async function readResponse(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return {
    status: response.statusCode ?? 0,
    rawHeaders: response.rawHeaders,
    body: Buffer.concat(chunks).toString(),
  };
}
