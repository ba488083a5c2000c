/**
 * Mounts the server side of the developer portal: every route, in order. Signed-in users manage their own apps through
 * the same functions as the public API. Only the portal's own pages may call it: no CORS, and the origin of writes is
 * checked.
 */
import type { FastifyInstance } from 'fastify';
import { ServiceError } from '../../errors.ts';
import { trackMethods } from '../methods.ts';
import { mountOperations } from '../operations.ts';
import { operatorOperations } from '../operator/operations.ts';
import { operatorSurfaceOf, type OperatorDependencies } from '../operator/surface.ts';
import { registerAccount } from './account.ts';
import { appOperations } from './apps.ts';
import { listAudit } from './audit.ts';
import { registerAuthentication, type PortalAuthenticationDependencies } from './authenticate.ts';
import { bindingOperations } from './bindings.ts';
import { registerCallback } from './callback.ts';
import { deliveryOperations } from './deliveries.ts';
import { eventOperations } from './events.ts';
import { registerInvitations } from './invitations.ts';
import { keyOperations } from './keys.ts';
import { memberOperations } from './members.ts';
import { registerPortalOpenApi, type PortalOpenApiDependencies } from './openapi.ts';
import { getOverview } from './overview.ts';
import { registerProofs } from './proofs.ts';
import { registerSecondFactor } from './second-factor.ts';
import { getSession } from './portal-session.ts';
import { registerSignIn } from './sign-in.ts';
import { createSignInLimits } from './sign-in-limits.ts';
import { surfaceOf, type PortalRouteDependencies } from './surface.ts';
import { getAppUsage } from './usage.ts';
import { registerWebhooks } from './webhooks.ts';

export type PortalDependencies = PortalAuthenticationDependencies &
  PortalOpenApiDependencies &
  PortalRouteDependencies &
  OperatorDependencies;

export async function registerPortal(
  portal: FastifyInstance,
  dependencies: PortalDependencies,
): Promise<void> {
  portal.setNotFoundHandler(() => {
    throw new ServiceError('not_found');
  });
  portal.addHook('onRequest', (_request, reply, done) => {
    // Some responses hold secrets, and all of them hold personal data.
    reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    done();
  });
  const rejectOtherMethods = trackMethods(portal, { crossOrigin: false });
  registerAuthentication(portal, dependencies);
  await registerPortalOpenApi(portal, dependencies);
  const limits = createSignInLimits();
  registerSignIn(portal, dependencies, limits);
  registerCallback(portal, dependencies);
  registerAccount(portal, dependencies, limits);
  registerProofs(portal, dependencies, limits);
  registerSecondFactor(portal, dependencies);
  const surface = surfaceOf(dependencies);
  const incomplete = {
    ...surface.config,
    whileMissing: ['confirm', 'set_up'] as const,
    whileSuspended: true,
  };
  mountOperations(portal, { ...surface, config: incomplete }, 'Session', [getSession]);
  mountOperations(portal, surface, 'Overview', [getOverview, listAudit]);
  mountOperations(portal, surface, 'Apps', [...appOperations, ...bindingOperations, getAppUsage]);
  mountOperations(portal, surface, 'Members', memberOperations);
  registerInvitations(portal, dependencies, limits);
  mountOperations(portal, surface, 'Keys', keyOperations);
  registerWebhooks(portal, dependencies);
  mountOperations(portal, surface, 'Webhooks', deliveryOperations);
  mountOperations(portal, surface, 'Events', eventOperations);
  rejectOtherMethods();
  // Afterwards: a 405 would show that there is a console.
  mountOperations(portal, operatorSurfaceOf(dependencies), 'Operator', operatorOperations);
}
