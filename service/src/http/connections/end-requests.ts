import type { FastifyInstance } from 'fastify';

/** Together with closing the database, this stays within the five seconds that a stop may take. */
export const requestsEndWithinMs = 3_500;
const idleCheckMs = 25;

/**
 * Takes no new requests, waits for those in flight, and cuts those that exceed the grace period. May be called twice.
 */
export async function endRequests(
  app: FastifyInstance,
  withinMs = requestsEndWithinMs,
): Promise<void> {
  // Otherwise a connection that stays open after its response would delay the stop for over a minute.
  const idle = setInterval(() => app.server.closeIdleConnections(), idleCheckMs);
  const late = setTimeout(() => app.server.closeAllConnections(), withinMs);
  try {
    await app.close();
  } finally {
    clearInterval(idle);
    clearTimeout(late);
  }
}
