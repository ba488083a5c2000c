/**
 * Mounts the internal API, which the platform uses to write the directory. A platform key may call all of it. It works
 * during maintenance and without a rate limit, because only the operator calls it.
 */
import type { FastifyInstance } from 'fastify';
import { readApp } from '../../access/apps.ts';
import type { KeyCache } from '../../access/key-cache.ts';
import { ServiceError } from '../../errors.ts';
import { traceRequests } from '../apply-defaults.ts';
import { readJsonBodies } from '../json-bodies.ts';
import { mountOperations } from '../operations.ts';
import { trackMethods } from '../methods.ts';
import { getAppUsage, listUsage } from '../usage-operations.ts';
import { registerEvents } from './events.ts';
import { maintenanceOperations } from './maintenance.ts';
import { allianceManagers, orgManagers } from './managers.ts';
import { registerBulk } from './bulk.ts';
import { allianceReads, blueprintReads, orgReads } from './reads.ts';
import {
  registerAuthentication,
  surfaceOf,
  type InternalContext,
  type RouteDependencies,
  openSurface,
} from './surface.ts';
import { syncOperations } from './syncs.ts';
import { allianceWrites, blueprintWrites, orgWrites } from './writes.ts';
import { describeApi, registerOpenApiRoute, type OpenApiDependencies } from '../openapi/openapi.ts';

export type InternalApiDependencies = RouteDependencies &
  InternalOpenApiDependencies & { keyCache: KeyCache };

export async function registerInternalApi(
  v1: FastifyInstance,
  dependencies: InternalApiDependencies,
): Promise<void> {
  traceRequests(v1, { fromCaller: true });
  readJsonBodies(v1);
  v1.setNotFoundHandler(() => {
    throw new ServiceError('not_found');
  });
  const rejectOtherMethods = trackMethods(v1, { crossOrigin: false });
  registerAuthentication(v1, dependencies);
  await registerInternalOpenApi(v1, dependencies);
  const surface = surfaceOf(dependencies);
  mountOperations(v1, surface, 'Organisations', [...orgReads, ...orgWrites, ...orgManagers]);
  mountOperations(v1, surface, 'Alliances', [
    ...allianceReads,
    ...allianceWrites,
    ...allianceManagers,
  ]);
  mountOperations(v1, surface, 'Blueprints', [...blueprintReads, ...blueprintWrites]);
  await registerBulk(v1, surface);
  await registerEvents(v1, surface);
  mountOperations(v1, surface, 'System', [
    ...maintenanceOperations,
    ...syncOperations,
    listUsage,
    getAppUsage('/usage/:appId', ({ database }: InternalContext, appId) =>
      readApp(database, appId),
    ),
  ]);
  rejectOtherMethods();
}

type InternalOpenApiDependencies = OpenApiDependencies & {
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

/** For openapi.internal.json, separate from the public description. */
async function registerInternalOpenApi(
  v1: FastifyInstance,
  dependencies: InternalOpenApiDependencies,
): Promise<void> {
  const { serviceName, internalUrl: url } = dependencies;
  const title = `${serviceName} internal API`;
  await describeApi(v1, dependencies, { title, description, tags, url });
  registerOpenApiRoute(v1, 'The internal API', openSurface);
}
