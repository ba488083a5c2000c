/** Decides what the user may do with an app. The service checks each request; the portal hides what it would refuse. */
import { includesRole, type AppRole } from '../../../service/src/contract/app-roles.ts';
import type { PortalApp } from '../api/types.ts';

const neededRoles = {
  changeKeys: 'developer',
  /** Includes tests, redelivery and recovery. */
  changeWebhooks: 'developer',
  readInternalBodies: 'developer',
  getFailureMails: 'developer',
  /** Renames, binds and deletes it. */
  changeApp: 'owner',
  /** Includes invitations and the transfer. */
  changeMembers: 'owner',
} as const satisfies Record<string, AppRole>;
export type Action = keyof typeof neededRoles;

/** Of a suspended app everything else stays as it is. */
const readingActions = new Set<Action>(['readInternalBodies', 'getFailureMails']);

/** False while the app loads. */
export function can(
  app: Pick<PortalApp, 'role' | 'suspendedAt'> | undefined,
  action: Action,
): boolean {
  if (app === undefined || !includesRole(app.role, neededRoles[action])) return false;
  return app.suspendedAt === null || readingActions.has(action);
}

/** The members who can, in the plural. */
export function whoCan(action: Action): string {
  return neededRoles[action] === 'owner' ? 'owners' : 'owners and developers';
}
