import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that systems give to outgoing connections, which may take one while nobody listens on it, and above 10080,
 * the highest that the URL of a webhook may not have.
 */
const range = { first: 10_081, count: 20_000 };

/** A port of 127.0.0.1 that nobody listens on. */
export async function freePort(): Promise<number> {
  const port = range.first + Math.floor(Math.random() * range.count);
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return freePort();
  }
  server.close();
  await once(server, 'close');
  return port;
}
