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
import { registerInternalOpenApi, type InternalOpenApiDependencies } from './openapi.ts';
import { allianceReads, blueprintReads, orgReads } from './reads.ts';
import {
  registerAuthentication,
  surfaceOf,
  type InternalContext,
  type RouteDependencies,
} from './surface.ts';
import { syncOperations } from './syncs.ts';
import { allianceWrites, blueprintWrites, orgWrites } from './writes.ts';

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
