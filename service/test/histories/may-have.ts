/**
 * Which app may have which event at this moment, and which webhook wants it, written from
 * docs/reference/events.md#who-receives-an-event and #filters alone.
 */
import type { Event, State, Webhook } from './state.ts';

export function mayHave(state: State, event: Event, app: string): boolean {
  if (![...state.apps.values()].some(({ key }) => key === app)) return false;
  switch (event.name) {
    case 'org.created':
      // Global, but unlisted organisations are not announced.
      return [...state.orgs.values()].some(({ key, listed }) => key === event.subject && listed);
    case 'webhook.probe':
    case 'alliance.created':
    case 'system.maintenance.enabled':
    case 'system.maintenance.disabled':
      return true;
    default: {
      // Bound: to whom is bound to its subject, and was when it happened.
      const binding = state.bindings.get(app);
      return binding?.subject === event.subject && binding.at < event.at;
    }
  }
}

/** Null without a filter of the event. */
export function passes({ events }: Webhook, { name, expected }: Event): boolean | null {
  if (!events?.includes(name) || !('exactly' in expected)) return null;
  const data = JSON.parse(expected.exactly);
  if (name === 'application.created')
    return ['x', 'x"}', 'x北京'].includes(data.application.applicantHandle);
  if (name === 'event.created') return !(data.event.title > 'x1');
  if (name === 'resource.request.created')
    return data.request.items.some((item: { quantity: number }) => item.quantity >= 1);
  return null;
}
