/** GET /status needs no key and works while the database is away. */
import type { FastifyInstance } from 'fastify';
import { apiVersion, envelope } from '../../contract/envelope.ts';
import { examples } from '../../contract/examples.ts';
import { noQuery } from '../../contract/shapes.ts';
import { Status } from '../../contract/status.ts';
import type { Health } from '../../system/health.ts';
import { errorsOf, oneOf, responses } from '../responses/responses.ts';
import { toEntry } from '../responses/response-cache.ts';
import { sendEntry } from '../responses/send-entry.ts';

const cacheControl = 'public, max-age=5';

export function registerStatus(
  app: FastifyInstance,
  { health, version }: { health: Health; version: string },
): void {
  app.get(
    '/status',
    {
      config: { scope: null, duringMaintenance: true },
      schema: {
        operationId: 'getStatus',
        tags: ['Status'],
        summary: 'Get the status of the service',
        description: 'Requires no key. The HTTP status is always 200; `status` reports problems.',
        security: [],
        querystring: noQuery,
        response: responses(
          200,
          'The state of the service.',
          oneOf(Status, 'StatusResponse', examples.status),
          errorsOf.open,
          { conditional: true },
        ),
      },
    },
    async (request, reply) => {
      const content = envelope(readStatus(health, version));
      return sendEntry(request, reply, toEntry(0, content), cacheControl);
    },
  );
}

function readStatus(health: Health, version: string): Status {
  const snapshot = health.snapshot();
  const { maintenance, components, counts } = snapshot;
  return {
    status: stateOf(snapshot),
    version,
    apiVersion,
    time: new Date().toISOString(),
    maintenance,
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
