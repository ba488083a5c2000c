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
import { readMethods } from './authenticate.ts';
import { previewFilters } from './preview-filters.ts';
import { countRecoverableDeliveries } from './recoverable.ts';
import { requireRecentProof, type PortalSurfaces } from './surface.ts';

export function registerWebhooks(
  portal: FastifyInstance,
  { signedIn }: Pick<PortalSurfaces, 'signedIn'>,
): void {
  const surface = {
    ...signedIn,
    root: '/apps/:appId/webhooks',
    describe: ({ operationId, description }: { operationId: string; description: string }) =>
      descriptions[operationId] ?? description,
    async contextOf(request: FastifyRequest) {
      const context = signedIn.contextOf(request);
      const { database, email, account } = context;
      const { appId } = request.params as { appId: string };
      const needed = readMethods.has(request.method) ? 'viewer' : 'developer';
      const role = await requireRole(database, email, appId, needed);
      return {
        ...context,
        appId,
        readsSecrets: role !== 'viewer',
        // Not that of the surface, which counts changes by the account.
        change: confirmedChange(database, async (tx) => {
          await holdRole(tx, email, appId, needed);
          await holdSession(tx, account.sessionId);
        }),
        requireProof: () => requireRecentProof(request),
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
