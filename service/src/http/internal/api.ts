/**
 * Mounts the internal API, which the platform uses to write the directory. A platform key may call all of it. It works
 * during maintenance and without a rate limit, because only the operator calls it.
 */
import type { FastifyInstance } from 'fastify';
import { ServiceError } from '../../errors.ts';
import { readJsonBodies } from '../json-bodies.ts';
import { trackMethods } from '../methods.ts';
import { registerAuthentication, type AuthenticationDependencies } from './authenticate.ts';
import { registerEvents } from './events.ts';
import { registerMaintenance } from './maintenance.ts';
import { registerManagers } from './managers.ts';
import { registerBulk } from './bulk.ts';
import { registerInternalOpenApi, type InternalOpenApiDependencies } from './openapi.ts';
import { registerReads } from './reads.ts';
import type { RouteDependencies } from './route.ts';
import { registerSyncs, type SyncRouteDependencies } from './syncs.ts';
import { registerWrites } from './writes.ts';

export type InternalApiDependencies = AuthenticationDependencies &
  InternalOpenApiDependencies &
  RouteDependencies &
  SyncRouteDependencies;

export async function registerInternalApi(
  v1: FastifyInstance,
  dependencies: InternalApiDependencies,
): Promise<void> {
  readJsonBodies(v1);
  v1.setNotFoundHandler(() => {
    throw new ServiceError('not_found');
  });
  const rejectOtherMethods = trackMethods(v1, { crossOrigin: false });
  registerAuthentication(v1, dependencies);
  await registerInternalOpenApi(v1, dependencies);
  registerReads(v1, dependencies);
  registerWrites(v1, dependencies);
  registerManagers(v1, dependencies);
  await registerBulk(v1, dependencies);
  registerEvents(v1, dependencies);
  registerMaintenance(v1, dependencies);
  registerSyncs(v1, dependencies);
  rejectOtherMethods();
}
