/** Scopes of an app's key: docs/reference/keys.md#scopes */
export const scopes = ['read:directory', 'read:events', 'write:webhooks'] as const;
