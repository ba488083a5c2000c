import type { CatalogueEvent } from '../api/types.ts';

type Kind = Pick<CatalogueEvent, 'audience' | 'optIn'>;
type Group = Kind & { title: string; lead: string };

/** Who gets which events, in the order of the lists. */
const groups: Group[] = [
  {
    audience: 'global',
    optIn: false,
    title: 'For every app',
    lead: 'Public events of the whole directory.',
  },
  {
    audience: 'global',
    optIn: true,
    title: 'For every app, opt-in',
    lead: "Every change of the directory, only for webhooks that name these events. The API's list of events does not have them.",
  },
  {
    audience: 'organization',
    optIn: false,
    title: 'For apps of an organisation',
    lead: 'Internal events, only for apps bound to the organisation.',
  },
  {
    audience: 'alliance',
    optIn: false,
    title: 'For apps of an alliance',
    lead: 'Internal events, only for apps bound to the alliance.',
  },
  {
    audience: 'webhook',
    optIn: false,
    title: 'For one webhook',
    lead: 'Sent only when you send a test.',
  },
];

/** The events of each audience that has any; opt-in ones apart. */
export function byAudience<Event extends { audience: string; optIn: boolean }>(all: Event[]) {
  return groups
    .map(({ audience, optIn, title, lead }) => {
      const events = all.filter((event) => event.audience === audience && event.optIn === optIn);
      return { title, lead, events };
    })
    .filter(({ events }) => events.length > 0);
}
