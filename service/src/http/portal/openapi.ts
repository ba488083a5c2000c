/** Builds openapi.portal.json from the routes, separate from the public description. */
import type { FastifyInstance } from 'fastify';
import { describeApi, registerOpenApiRoute, type OpenApiDependencies } from '../openapi/openapi.ts';
import { openSurface } from './surface.ts';

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

export async function registerPortalOpenApi(
  portal: FastifyInstance,
  dependencies: OpenApiDependencies,
): Promise<void> {
  const title = `${dependencies.serviceName} portal`;
  await describeApi(portal, dependencies, { title, description, tags, securitySchemes });
  registerOpenApiRoute(portal, "The portal's server side", openSurface);
}
