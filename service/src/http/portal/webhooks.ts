/**
 * Serves the webhooks of the user's apps under `/apps/{appId}/webhooks`. Viewers may read, developers and owners may
 * change them too.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { holdRole, requireRole } from '../../access/require-role.ts';
import { holdSession } from '../../sign-in/sessions.ts';
import { confirmedChange } from '../confirmed-change.ts';
import { mountOperations } from '../operations.ts';
import { deliveryOperations } from '../webhooks/delivery-operations.ts';
import { webhookOperations } from '../webhooks/webhook-operations.ts';
import { actorOf, emailOf, readMethods, signedInOf } from './authenticate.ts';
import { previewFilters } from './preview-filters.ts';
import { countRecoverableDeliveries } from './recoverable.ts';
import { signedInSurface, type PortalRouteDependencies } from './surface.ts';

export function registerWebhooks(
  portal: FastifyInstance,
  dependencies: PortalRouteDependencies,
): void {
  const surface = {
    ...signedInSurface,
    root: '/apps/:appId/webhooks',
    describe: ({ operationId, description }: { operationId: string; description: string }) =>
      descriptions[operationId] ?? description,
    async contextOf(request: FastifyRequest) {
      const { appId } = request.params as { appId: string };
      const needed = readMethods.has(request.method) ? 'viewer' : 'developer';
      const email = emailOf(request);
      const role = await requireRole(dependencies.database, email, appId, needed);
      return {
        ...dependencies,
        appId,
        actor: actorOf(request),
        readsSecrets: role !== 'viewer',
        change: confirmedChange(dependencies.database, async (tx) => {
          await holdRole(tx, email, appId, needed);
          await holdSession(tx, signedInOf(request).sessionId);
        }),
        requireProof: () => signedInSurface.requireRecentProof(request),
      };
    },
  };
  mountOperations(portal, surface, 'Webhooks', [
    ...webhookOperations,
    ...deliveryOperations,
    countRecoverableDeliveries,
    previewFilters,
  ]);
}

const onlyOrigin = 'A viewer sees only the origin of a URL, because the rest may hold a token.';
/** They differ from those of the public API. */
const descriptions: Record<string, string> = {
  listWebhooks: `Returns the webhooks of the app, oldest first. ${onlyOrigin}`,
  getWebhook: `Returns a webhook without its secret. ${onlyOrigin}`,
  getDelivery:
    'Returns a delivery with its body and attempts. For a viewer, the headers and bodies of all responses are null, and so is the body of an internal event.',
};
