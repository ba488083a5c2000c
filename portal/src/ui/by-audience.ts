import type { CatalogueEvent } from '../api/types.ts';

type Audience = { name: CatalogueEvent['audience']; title: string; lead: string };

/** Who gets which events, in the order of the lists. */
const audiences: Audience[] = [
  { name: 'global', title: 'For every app', lead: 'Public events of the whole directory.' },
  {
    name: 'organization',
    title: 'For apps of an organisation',
    lead: 'Internal events, only for apps bound to the organisation.',
  },
  {
    name: 'alliance',
    title: 'For apps of an alliance',
    lead: 'Internal events, only for apps bound to the alliance.',
  },
  { name: 'webhook', title: 'For one webhook', lead: 'Sent only when you send a test.' },
];

/** The events of each audience that has any. */
export function byAudience<Event extends { audience: string }>(all: Event[]) {
  return audiences
    .map(({ name, title, lead }) => {
      const events = all.filter(({ audience }) => audience === name);
      return { title, lead, events };
    })
    .filter(({ events }) => events.length > 0);
}
