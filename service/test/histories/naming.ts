/** The names of objects, shared by the runner and the model. */
import type { Filters } from '../../src/webhooks/filters/compile-filters.ts';
import { maskUrl } from '../../src/webhooks/sending/chat-platforms.ts';
import type { BoundName, Name } from './commands.ts';

export const slugOf = (kind: 'org' | 'alliance', slot: number) => `${kind}-${slot}`;
export const personOf = (person: number) => `person-${person}@example.org`;
export const nameOf = (slot: number, version: number) =>
  `Zažit "№${slot}" \\ ${'*'.repeat(version)}😀`;
/** One webhook posts into a chat channel. */
export const isChat = (webhook: number) => webhook === 4;
/** Every second move leaves the origin, but a channel stays on its platform. */
export const addressOf = (webhook: number, moves: number) =>
  isChat(webhook)
    ? `https://receiver-${webhook}.example.org/services/${moves}`
    : `https://receiver-${webhook}-${Math.floor(moves / 2)}.example.org/${moves}`;
/** As it is stored and shown. */
export const shownAddressOf = (webhook: number, moves: number) =>
  isChat(webhook) ? maskUrl(addressOf(webhook, moves)) : addressOf(webhook, moves);
/** The headers that a webhook is created with; it loses them with its origin. */
export const headersOf = (webhook: number, moves = 0): Record<string, string> | null =>
  moves < 2 && !isChat(webhook) ? { 'X-Key': `key-${webhook}` } : null;
/** Stands in private fields and must never be sent. */
export const privateWord = 'do-not-tell';

/** The data of a bound event, with `text` and `amount` wherever they fit. */
export function innerOf(name: BoundName, text: string, amount: number): Record<string, unknown> {
  const at = '2026-11-20T12:00:00.000Z';
  const items = [{ unit: null, quantity: amount, name: `item ${text}` }];
  switch (name) {
    case 'application.created':
      return { submittedAt: at, applicantHandle: `x${text}`, id: 'a-1' };
    case 'event.created':
      return {
        title: `x${text}`,
        id: 'e-1',
        category: null,
        startsAt: at,
        endsAt: null,
        timezone: null,
        location: null,
        url: null,
      };
    case 'resource.request.created':
      return { id: 'r-1', items, title: `x${text}`, organization: null, deadline: null };
    case 'resource.offer.created':
      return { id: 'o-1', items, title: `x${text}`, availableUntil: null, organization: null };
    default:
      throw new Error(`${String(name)} is no bound event`);
  }
}

/** The filters of a webhook that names these events: some of their data matches. */
export function filtersOf(events: Name[] | null): Filters | null {
  const chosen = Object.entries(filters).filter(([name]) => events?.includes(name as Name));
  return chosen.length > 0 ? Object.fromEntries(chosen) : null;
}

const filters: Filters = {
  'application.created': { application: { applicantHandle: { $in: ['x', 'x"}', 'x北京'] } } },
  'event.created': { $not: { event: { title: { $gt: 'x1' } } } },
  'resource.request.created': { request: { items: { quantity: { $gte: 1 }, unit: null } } },
};

export const fieldOf: Record<BoundName, string> = {
  'application.created': 'application',
  'event.created': 'event',
  'resource.request.created': 'request',
  'resource.offer.created': 'offer',
};
