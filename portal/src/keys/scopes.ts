import type { PortalKey } from '../api/types.ts';

export type Scope = PortalKey['scopes'][number];

export const scopeTexts: Record<Scope, { title: string; description: string }> = {
  'read:directory': {
    title: 'Read the directory',
    description: 'Organisations, alliances and blueprints, with search and filters.',
  },
  'read:events': {
    title: 'Read events',
    description: 'All events in order, without gaps. Includes internal events if the app is bound.',
  },
  'write:webhooks': {
    title: 'Manage webhooks',
    description:
      'Create, change, test and delete the webhooks of this app, and read their deliveries.',
  },
};

export const scopes = Object.keys(scopeTexts) as Scope[];

/** `Read the directory, manage webhooks`. */
export function describeScopes(chosen: Scope[]): string {
  const words = scopes
    .filter((scope) => chosen.includes(scope))
    .map((scope, index) => {
      const { title } = scopeTexts[scope];
      return index === 0 ? title : title.toLowerCase();
    });
  return words.join(', ');
}
