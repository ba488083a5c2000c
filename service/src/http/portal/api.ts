/**
 * Mounts the server side of the developer portal: every route, in order. Signed-in users manage their own apps through
 * the same functions as the public API. Only the portal's own pages may call it: no CORS, and the origin of writes is
 * checked.
 */
import type { FastifyInstance } from 'fastify';
import { ServiceError } from '../../errors.ts';
import { trackMethods } from '../methods.ts';
import { registerAccount } from './account.ts';
import { registerApps } from './apps.ts';
import { registerAudit } from './audit.ts';
import { registerAuthentication, type PortalAuthenticationDependencies } from './authenticate.ts';
import { registerBindings } from './bindings.ts';
import { registerCallback } from './callback.ts';
import { registerEvents } from './events.ts';
import { registerKeys } from './keys.ts';
import { registerPortalOpenApi, type PortalOpenApiDependencies } from './openapi.ts';
import { registerOverview } from './overview.ts';
import type { PortalRouteDependencies } from './route.ts';
import { registerSession } from './session.ts';
import { registerSignIn } from './sign-in.ts';
import { registerWebhooks } from './webhooks.ts';

export type PortalDependencies = PortalAuthenticationDependencies &
  PortalOpenApiDependencies &
  PortalRouteDependencies;

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
  registerSignIn(portal, dependencies);
  registerCallback(portal, dependencies);
  registerSession(portal);
  registerAccount(portal, dependencies);
  registerOverview(portal, dependencies);
  registerApps(portal, dependencies);
  registerBindings(portal, dependencies);
  registerKeys(portal, dependencies);
  registerWebhooks(portal, dependencies);
  registerEvents(portal, dependencies);
  registerAudit(portal, dependencies);
  rejectOtherMethods();
}
