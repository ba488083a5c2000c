/** Builds openapi.internal.json from the routes, separate from the public description. */
import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { securitySchemes, withNamedComponents } from '../openapi/openapi-components.ts';
import { registerOpenApiRoute } from '../openapi/openapi-route.ts';
import { openSurface } from './surface.ts';

export type InternalOpenApiDependencies = {
  /** The address of the internal listener. */
  internalUrl: string;
  publicUrl: string;
  serviceName: string;
  version: string;
};

const tags = [
  { name: 'Organisations', description: 'Organisations in the directory, listed or not.' },
  { name: 'Alliances', description: 'Alliances of organisations.' },
  { name: 'Blueprints', description: 'Crafting recipes.' },
  { name: 'Events', description: 'Events that are delivered to webhooks.' },
  { name: 'System', description: 'Maintenance, syncs and usage.' },
  { name: 'Description', description: 'This document.' },
];

const description = `The platform that owns the directory uses this API to write it. It is not public and has its own listener.

Every response is an envelope: \`success\`, \`data\` and \`meta\`, or \`success\` and \`error\`. Send a key that
\`orgdir keys create --platform\` made as \`Authorization: Bearer <API_KEY>\`; keys of apps do not
work here. Reads have an \`ETag\`. Send it as \`If-Match\` with a write to get a 412 if somebody else has changed the entry.
\`PUT\` replaces the whole entry: omitted fields get their defaults. \`PATCH\` changes only the given fields.

Use the IP address of the listener or a name in \`INTERNAL_ALLOWED_HOSTS\`. Any other name in the \`Host\` header is a 403.`;

/** Register it before the routes; the document includes only routes that come later. */
export async function registerInternalOpenApi(
  v1: FastifyInstance,
  dependencies: InternalOpenApiDependencies,
): Promise<void> {
  await v1.register(swagger, options(dependencies));
  registerOpenApiRoute(v1, 'The internal API', openSurface);
}

function options(dependencies: InternalOpenApiDependencies): FastifyDynamicSwaggerOptions {
  const { internalUrl, publicUrl, serviceName, version } = dependencies;
  return {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: `${serviceName} internal API`,
        version,
        description,
        license: { name: 'MIT', identifier: 'MIT' },
        contact: { name: 'The operator of this directory', url: publicUrl },
      } as NonNullable<NonNullable<FastifyDynamicSwaggerOptions['openapi']>['info']>,
      servers: [{ url: internalUrl }],
      tags,
      components: { securitySchemes },
    },
    transformObject: withNamedComponents,
  };
}
