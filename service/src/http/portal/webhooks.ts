/** Serves the webhooks of the user's apps under `/apps/{appId}/webhooks`. */
import type { FastifyInstance } from 'fastify';
import { requireOwnApp } from '../../access/owned.ts';
import { mountWebhooks } from '../webhooks/mount.ts';
import { actorOf, ownerOf } from './authenticate.ts';
import {
  config,
  portalErrors,
  portalResponses,
  security,
  type PortalRouteDependencies,
} from './route.ts';

export function registerWebhooks(
  portal: FastifyInstance,
  dependencies: PortalRouteDependencies,
): void {
  mountWebhooks(portal, dependencies, {
    root: '/apps/:appId/webhooks',
    config,
    security,
    conditional: false,
    errors: { read: portalErrors.read, write: portalErrors.withBody },
    responses: portalResponses,
    // The only description that mentions a key.
    describe: ({ operationId, description }) =>
      operationId === 'listWebhooks' ? 'The webhooks of the app, oldest first.' : description,
    async callerOf(request) {
      const { appId } = request.params as { appId: string };
      await requireOwnApp(dependencies.database, ownerOf(request), appId);
      return { appId, actor: actorOf(request) };
    },
  });
}
