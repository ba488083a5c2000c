/** The roles of an app's members, each with all rights of those before it. */
export const appRoles = ['viewer', 'developer', 'owner'] as const;
export type AppRole = (typeof appRoles)[number];

export function includesRole(role: AppRole, needed: AppRole): boolean {
  return appRoles.indexOf(role) >= appRoles.indexOf(needed);
}

/** Scopes of an app's key: docs/reference/keys.md#scopes */
export const scopes = ['read:directory', 'read:events', 'write:webhooks'] as const;
