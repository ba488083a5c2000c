/** Which app may have which event at this moment, written from docs/reference/events.md#who-receives-an-event alone. */
import type { Event, State } from './state.ts';

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
