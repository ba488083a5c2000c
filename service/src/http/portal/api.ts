/**
 * Mounts the server side of the developer portal: every route, in order. Signed-in users manage their own apps through
 * the same functions as the public API. Only the portal's own pages may call it: no CORS, and the origin of writes is
 * checked.
 */
import type { FastifyContextConfig, FastifyInstance } from 'fastify';
import { ServiceError } from '../../errors.ts';
import { trackMethods } from '../methods.ts';
import { mountOperations } from '../operations.ts';
import { operatorOperations } from '../operator/operations.ts';
import { operatorSurfaceOf, type OperatorDependencies } from '../operator/surface.ts';
import { deleteAccount } from './account-deletion.ts';
import { accountOperations } from './account.ts';
import { appOperations, appUsage } from './apps.ts';
import { registerAuthentication, type PortalAuthenticationDependencies } from './authenticate.ts';
import { bindingOperations } from './bindings.ts';
import { registerCallback } from './callback.ts';
import { deliveryOperations } from './deliveries.ts';
import { eventOperations } from './events.ts';
import { invitationLinkOperations, invitationOperations } from './invitations.ts';
import { keyOperations } from './keys.ts';
import { memberOperations } from './members.ts';
import { type OpenApiDependencies, describeApi, registerOpenApiRoute } from '../openapi/openapi.ts';
import { getOverview, listAudit } from './overview.ts';
import { getSession } from './portal-session.ts';
import { completeSignIn, passkeySignIn, proofOperations } from './proofs.ts';
import {
  authenticatorOperations,
  createRecoveryCodes,
  passkeyOperations,
} from './second-factor.ts';
import { signInOperations } from './sign-in.ts';
import {
  createSurfaces,
  type PortalRouteDependencies,
  type PortalSurfaces,
  openSurface,
} from './surface.ts';
import { registerWebhooks } from './webhooks.ts';

export type PortalDependencies = PortalAuthenticationDependencies &
  OpenApiDependencies &
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
  const surfaces = createSurfaces(dependencies);
  mountAccount(portal, surfaces, dependencies);
  mountApps(portal, surfaces);
  rejectOtherMethods();
  // Afterwards: a 405 would show that there is a console.
  mountOperations(
    portal,
    operatorSurfaceOf(surfaces, dependencies),
    'Operator',
    operatorOperations,
  );
}

/** Signing in, and the user's own account. */
function mountAccount(
  portal: FastifyInstance,
  { open, signedIn }: PortalSurfaces,
  dependencies: PortalRouteDependencies,
): void {
  const { publicUrl } = dependencies;
  const surfaceWith = (config: FastifyContextConfig) => ({
    ...signedIn,
    config: { ...signedIn.config, ...config },
  });
  mountOperations(portal, open, 'Sign-in', signInOperations(publicUrl));
  registerCallback(portal, dependencies);
  // Available during maintenance too: a stolen session can be ended, and a stolen factor removed, at any time.
  const always = surfaceWith({ duringMaintenance: true });
  mountOperations(portal, always, 'Account', accountOperations(publicUrl));
  // It changes apps, too.
  mountOperations(portal, signedIn, 'Account', [deleteAccount]);
  mountOperations(portal, open, 'Sign-in', passkeySignIn);
  const unconfirmed = surfaceWith({ duringMaintenance: true, whileMissing: ['confirm'] });
  mountOperations(portal, unconfirmed, 'Sign-in', [completeSignIn]);
  const unset = surfaceWith({ duringMaintenance: true, whileMissing: ['set_up'] });
  mountOperations(portal, unset, 'Security', [
    ...proofOperations,
    ...passkeyOperations,
    ...authenticatorOperations,
    createRecoveryCodes,
  ]);
  const incomplete = surfaceWith({ whileMissing: ['confirm', 'set_up'], whileSuspended: true });
  mountOperations(portal, incomplete, 'Session', [getSession]);
}

function mountApps(portal: FastifyInstance, surfaces: PortalSurfaces): void {
  const { open, signedIn } = surfaces;
  mountOperations(portal, signedIn, 'Overview', [getOverview, listAudit]);
  mountOperations(portal, signedIn, 'Apps', [...appOperations, ...bindingOperations, appUsage]);
  mountOperations(portal, signedIn, 'Members', [...memberOperations, ...invitationOperations]);
  mountOperations(portal, open, 'Members', invitationLinkOperations);
  mountOperations(portal, signedIn, 'Keys', keyOperations);
  registerWebhooks(portal, surfaces);
  mountOperations(portal, signedIn, 'Webhooks', deliveryOperations);
  mountOperations(portal, signedIn, 'Events', eventOperations);
}

const tags = [
  { name: 'Sign-in', description: 'Signing in and out, and links that set a password.' },
  { name: 'Session', description: 'The signed-in user.' },
  { name: 'Account', description: 'Your own account.' },
  { name: 'Security', description: 'Your second factor, and proving who you are.' },
  { name: 'Overview', description: 'The state of your apps, and the changes to them.' },
  { name: 'Apps', description: 'Apps own keys and webhooks.' },
  { name: 'Members', description: 'The members of apps, and invitations to become one.' },
  { name: 'Keys', description: 'API keys for the public API.' },
  { name: 'Webhooks', description: 'Receivers of events, and their deliveries.' },
  { name: 'Events', description: 'The events that can be delivered.' },
  {
    name: 'Operator',
    description: 'The console: for operators only; for others it does not exist.',
  },
  { name: 'Description', description: 'This document.' },
];

const description = `The pages of the developer portal use this API. It can change with every version, and other origins cannot call it. Use the public API in your programs.

Every response is an envelope: \`success\`, \`data\` and \`meta\`, or \`success\` and \`error\`. A cookie identifies the user.
Changes require an \`Origin\` header with the origin of this service. Apps of which you are no member return 404, and what your role does not allow returns 403.`;

const securitySchemes = {
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'orgdir.session_token',
    description: 'Set by signing in. By TLS it is called `__Host-orgdir.session_token`.',
  },
};

/** For openapi.portal.json, separate from the public description. */
async function registerPortalOpenApi(
  portal: FastifyInstance,
  dependencies: OpenApiDependencies,
): Promise<void> {
  const title = `${dependencies.serviceName} portal`;
  await describeApi(portal, dependencies, { title, description, tags, securitySchemes });
  registerOpenApiRoute(portal, "The portal's server side", openSurface);
}
