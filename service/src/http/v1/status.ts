/** GET /status needs no key and works while the database is away. */
import type { FastifyInstance } from 'fastify';
import { apiVersion, envelope } from '../../contract/envelope.ts';
import { examples } from '../../contract/examples.ts';
import { Status } from '../../contract/status.ts';
import type { Health } from '../../system/health.ts';
import { mountOperations, operationFor } from '../operations.ts';
import { toEntry, type Entry } from '../responses/response-cache.ts';
import { oneOf } from '../responses/responses.ts';
import { openSurface } from './surface.ts';

type StatusContext = { health: Health; version: string };

export function registerStatus(app: FastifyInstance, { health, version }: StatusContext): void {
  const surface = { ...openSurface, contextOf: () => ({ health, version }) };
  mountOperations(app, surface, 'Status', [getStatus]);
}

const getStatus = operationFor<StatusContext>()({
  operationId: 'getStatus',
  method: 'GET',
  path: '/status',
  summary: 'Get the status of the service',
  description: 'Requires no key. The HTTP status is always 200; `status` reports problems.',
  returns: { 200: 'The state of the service.' },
  response: oneOf(Status, 'StatusResponse', examples.status),
  cacheControl: 'public, max-age=5',
  run: ({ health, version }) => toStatusEntry(readStatus(health, version)),
});

/** Its tag is weak: the time alone is another one each time. */
function toStatusEntry(status: Status): Entry {
  const { etag } = toEntry(0, { ...status, time: null });
  return { ...toEntry(0, envelope(status)), etag: `W/${etag}` };
}

function readStatus(health: Health, version: string): Status {
  const snapshot = health.snapshot();
  const { maintenance, announcements, components, counts } = snapshot;
  return {
    status: stateOf(snapshot),
    version,
    apiVersion,
    time: new Date().toISOString(),
    maintenance,
    announcements,
    components,
    counts,
  };
}

export function stateOf({
  maintenance,
  components,
}: ReturnType<Health['snapshot']>): Status['status'] {
  if (maintenance) return 'maintenance';
  const isWell = components.database === 'ok' && components.deliveries === 'ok';
  return isWell ? 'ok' : 'degraded';
}
