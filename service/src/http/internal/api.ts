/**
 * Mounts the internal API, through which the platform feeds the directory: every route, in order. A platform key may
 * call all of it. It works during maintenance and has no rate limit, because its caller is the one who runs the
 * service.
 */
import type { FastifyInstance } from 'fastify';
import { ServiceError } from '../../errors.ts';
import { readJsonBodies } from '../json-bodies.ts';
import { mountOperations } from '../operations.ts';
import { watchMethods } from '../methods.ts';
import { registerAuthentication, type AuthenticationDependencies } from './authenticate.ts';
import { publishOperation } from './events.ts';
import { maintenanceOperations } from './maintenance.ts';
import { allianceManagers, orgManagers } from './managers.ts';
import { registerBulk } from './bulk.ts';
import { registerInternalOpenApi, type InternalOpenApiDependencies } from './openapi.ts';
import { allianceReads, blueprintReads, orgReads } from './reads.ts';
import { surfaceOf, type RouteDependencies } from './route.ts';
import { syncOperations } from './syncs.ts';
import { allianceWrites, blueprintWrites, orgWrites } from './writes.ts';

export type InternalApiDependencies = AuthenticationDependencies &
  InternalOpenApiDependencies &
  RouteDependencies;

export async function registerInternalApi(
  v1: FastifyInstance,
  dependencies: InternalApiDependencies,
): Promise<void> {
  readJsonBodies(v1);
  v1.setNotFoundHandler(() => {
    throw new ServiceError('not_found');
  });
  const refuseOtherMethods = watchMethods(v1, { crossOrigin: false });
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
  await registerBulk(v1, dependencies);
  mountOperations(v1, surface, 'Events', [publishOperation]);
  mountOperations(v1, surface, 'System', [...maintenanceOperations, ...syncOperations]);
  refuseOtherMethods();
}
