/** Builds openapi.internal.json from the routes, separate from the public description. */
import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { securitySchemes, withNamedComponents } from '../openapi-components.ts';
import { registerOpenApiRoute } from '../openapi-route.ts';
import { internalErrors, internalResponses } from './route.ts';

export type InternalOpenApiDependencies = {
  /** The address of the internal listener. */
  internalUrl: string;
  publicUrl: string;
  serviceName: string;
  version: string;
};

const tags = [
  { name: 'Organisations', description: 'The organisations of the directory, unlisted ones too.' },
  { name: 'Alliances', description: 'Alliances of organisations.' },
  { name: 'Blueprints', description: 'What makes what.' },
  { name: 'Events', description: 'What webhooks are told.' },
  { name: 'System', description: 'Maintenance and syncs.' },
  { name: 'Description', description: 'This document.' },
];

const description = `How the platform that owns the directory feeds it. Not for the public: it has a listener of its own.

Every answer is an envelope: \`success\`, \`data\` and \`meta\`, or \`success\` and \`error\`. Send a key that
\`orgdir keys create --platform\` made as \`Authorization: Bearer <API_KEY>\`; a key of an app opens nothing here.
What is read carries an \`ETag\`; send it as \`If-Match\` with a write, and the write is refused with 412 where somebody
else was faster. \`PUT\` replaces whole: a field left out goes back to its default. \`PATCH\` changes the fields given.

Address the listener by IP address or by a name that \`INTERNAL_ALLOWED_HOSTS\` lists; any other name in the \`Host\` header
is a 403.`;

/** Register it before the routes; the document includes only routes that come later. */
export async function registerInternalOpenApi(
  v1: FastifyInstance,
  dependencies: InternalOpenApiDependencies,
): Promise<void> {
  await v1.register(swagger, options(dependencies));
  registerOpenApiRoute(v1, {
    describes: 'The internal API',
    answers: (body) =>
      internalResponses(200, 'The document.', body, internalErrors.open, { conditional: true }),
  });
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
