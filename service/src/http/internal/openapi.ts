/** Builds openapi.internal.json from the routes, separate from the public description. */
import type { FastifyInstance } from 'fastify';
import { describeApi, registerOpenApiRoute, type OpenApiDependencies } from '../openapi/openapi.ts';
import { openSurface } from './surface.ts';

export type InternalOpenApiDependencies = OpenApiDependencies & {
  /** The address of the internal listener. */
  internalUrl: string;
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

export async function registerInternalOpenApi(
  v1: FastifyInstance,
  dependencies: InternalOpenApiDependencies,
): Promise<void> {
  const { serviceName, internalUrl: url } = dependencies;
  const title = `${serviceName} internal API`;
  await describeApi(v1, dependencies, { title, description, tags, url });
  registerOpenApiRoute(v1, 'The internal API', openSurface);
}
