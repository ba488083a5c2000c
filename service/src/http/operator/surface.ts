/** The surface of the console's operations: below the portal's server side, and absent for everybody but operators. */
import { coalesce } from '../../database/coalesce.ts';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { suspendableKinds } from '../../contract/suspension.ts';
import { uuid } from '../../contract/shapes.ts';
import { ServiceError } from '../../errors.ts';
import type { SettingInForce } from '../../settings/list-settings.ts';
import { readInstallation } from '../../webhooks/management/installation.ts';
import { operationFor, type Surface } from '../operations.ts';
import { readMethods, signedInOf } from '../portal/authenticate.ts';
import { surfaceOf, type PortalContext, type PortalRouteDependencies } from '../portal/surface.ts';
import type { QueueState } from '../../runtime/metrics.ts';

const subjectKind = Type.Enum(Object.keys(suspendableKinds) as (keyof typeof suspendableKinds)[], {
  type: 'string',
  description: 'The kind of what is suspended or restored.',
});

export type OperatorDependencies = {
  readQueue: () => Promise<QueueState>;
  settingsInForce: SettingInForce[];
};
export type OperatorContext = PortalContext &
  OperatorDependencies & { readInstallation: () => ReturnType<typeof readInstallation> };

/** It looks at every webhook, and open pages of the console ask for it all the time. */
const installationBounds = { timeoutMs: 10_000, reuseMs: 5_000 };

export const operation = operationFor<OperatorContext>();

export function operatorSurfaceOf({
  readQueue,
  settingsInForce,
  ...dependencies
}: PortalRouteDependencies & OperatorDependencies): Surface<OperatorContext> {
  const portal = surfaceOf(dependencies);
  const more = {
    readQueue,
    settingsInForce,
    readInstallation: coalesce(() => readInstallation(dependencies.database), installationBounds),
  };
  return {
    ...portal,
    root: '/operator',
    // What is wrong may be why there is maintenance.
    config: { portal: 'operator', duringMaintenance: true },
    parameters: {
      kind: subjectKind,
      id: uuid({ description: 'The id of what is suspended or restored.' }),
    },
    errors: {
      read: [...portal.errors.read, 'not_found'],
      write: portal.errors.write.filter((code) => code !== 'maintenance'),
    },
    async contextOf(request) {
      if (!readMethods.has(request.method)) requireFullRole(request);
      return { ...(await portal.contextOf(request)), ...more };
    },
  };
}

function requireFullRole(request: FastifyRequest): void {
  if (signedInOf(request).operatorRole !== 'operator')
    throw new ServiceError('forbidden', 'Your role in the console is read-only.');
}
