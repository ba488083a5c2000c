/** Serves the webhooks of the user's apps under `/apps/{appId}/webhooks`. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { requireOwnApp } from '../../access/owned.ts';
import { mountOperations } from '../operations.ts';
import { deliveryOperations } from '../webhooks/delivery-operations.ts';
import { webhookOperations } from '../webhooks/webhook-operations.ts';
import { actorOf, ownerOf } from './authenticate.ts';
import { signedInSurface, type PortalRouteDependencies } from './surface.ts';

export function registerWebhooks(
  portal: FastifyInstance,
  dependencies: PortalRouteDependencies,
): void {
  const surface = {
    ...signedInSurface,
    root: '/apps/:appId/webhooks',
    // The only description that mentions a key.
    describe: ({ operationId, description }: { operationId: string; description: string }) =>
      operationId === 'listWebhooks' ? 'The webhooks of the app, oldest first.' : description,
    async contextOf(request: FastifyRequest) {
      const { appId } = request.params as { appId: string };
      await requireOwnApp(dependencies.database, ownerOf(request), appId);
      return { ...dependencies, appId, actor: actorOf(request) };
    },
  };
  mountOperations(portal, surface, 'Webhooks', [...webhookOperations, ...deliveryOperations]);
}
