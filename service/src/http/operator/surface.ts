/** The surface of the console's operations: below the portal's server side, and absent for everybody but operators. */
import { coalesce } from '../../database/coalesce.ts';
import type { SettingInForce } from '../../settings/list-settings.ts';
import { readInstallation } from '../../webhooks/management/installation.ts';
import { operationFor, type Surface } from '../operations.ts';
import { surfaceOf, type PortalContext, type PortalRouteDependencies } from '../portal/surface.ts';
import type { QueueState } from '../../runtime/metrics.ts';

export type OperatorDependencies = {
  readQueue: () => Promise<QueueState>;
  settingsInForce: SettingInForce[];
};
export type OperatorContext = PortalContext &
  OperatorDependencies & { readInstallation: () => ReturnType<typeof readInstallation> };

/** It looks at every webhook, and the console's pages ask every ten seconds. */
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
    config: { portal: 'operator' },
    errors: { ...portal.errors, read: [...portal.errors.read, 'not_found'] },
    contextOf: async (request) => ({ ...(await portal.contextOf(request)), ...more }),
  };
}
