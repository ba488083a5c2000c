import type { FastifyInstance } from 'fastify';

/** Together with the database's end this stays within the five seconds that a stop may take. */
const requestsEndWithinMs = 3_500;
const idleCheckMs = 25;

/** Takes no new requests; those in flight end, and those that do not in time are cut. May be called twice. */
export async function endRequests(
  app: FastifyInstance,
  withinMs = requestsEndWithinMs,
): Promise<void> {
  // A connection kept alive after the answer in flight would hold the server for over a minute.
  const idle = setInterval(() => app.server.closeIdleConnections(), idleCheckMs);
  const late = setTimeout(() => app.server.closeAllConnections(), withinMs);
  try {
    await app.close();
  } finally {
    clearInterval(idle);
    clearTimeout(late);
  }
}
