/** Builds openapi.portal.json from the routes, separate from the public description. */
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { withNamedComponents } from '../openapi-components.ts';
import { infoOf, type OpenApiDependencies } from '../openapi.ts';
import { registerOpenApiRoute } from '../openapi-route.ts';
import { openConfig, portalErrors, portalResponses } from './route.ts';

export type PortalOpenApiDependencies = OpenApiDependencies;

const tags = [
  { name: 'Sign-in', description: 'Signing in and out, and links that set a password.' },
  { name: 'Session', description: 'Who is signed in.' },
  { name: 'Account', description: 'Your own account.' },
  { name: 'Overview', description: 'How your apps are doing, and what was done to them.' },
  { name: 'Apps', description: 'What keys and webhooks belong to.' },
  { name: 'Keys', description: 'What opens the public API.' },
  { name: 'Webhooks', description: 'Receivers of events, and what was sent to them.' },
  { name: 'Events', description: 'What can be delivered.' },
  { name: 'Description', description: 'This document.' },
];

const description = `What the pages of the developer portal call. It is for them alone: it may change with every version, and no other origin may call it. Programs have the public API.

Every answer is an envelope: \`success\`, \`data\` and \`meta\`, or \`success\` and \`error\`. Who is signed in is known by a cookie;
signing in, up and out is below \`/portal/api/auth\`, in the form of the library that does it (better-auth). Changes need an \`Origin\` header
that names this service. What belongs to somebody else answers as what is not there.`;

/** Register it before the routes; the document includes only routes that come later. */
export async function registerPortalOpenApi(
  portal: FastifyInstance,
  dependencies: PortalOpenApiDependencies,
): Promise<void> {
  await portal.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: infoOf(`${dependencies.serviceName} portal`, description, dependencies),
      servers: [{ url: dependencies.publicUrl }],
      tags,
      components: {
        securitySchemes: {
          session: {
            type: 'apiKey',
            in: 'cookie',
            name: 'orgdir.session_token',
            description: 'Set by signing in. By TLS it is called `__Host-orgdir.session_token`.',
          },
        },
      },
    },
    transformObject: withNamedComponents,
  });
  registerOpenApiRoute(portal, {
    title: "The portal's server side",
    config: openConfig,
    responses: (body) =>
      portalResponses(200, 'The document.', body, portalErrors.open, { conditional: true }),
  });
}
