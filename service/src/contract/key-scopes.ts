/** What an app's key may do (SPEC 5). */
export const scopes = ['read:directory', 'read:events', 'write:webhooks'] as const;
