/** The state of a webhook in words. Pure. */
import type { Webhook } from '../api/types.ts';

export type WebhookState = 'active' | 'failing' | 'deactivated' | 'paused';

export function stateOf({ active, deactivatedReason, exhaustedInARow }: Webhook): WebhookState {
  if (active) return exhaustedInARow > 0 ? 'failing' : 'active';
  return deactivatedReason === 'owner' ? 'paused' : 'deactivated';
}

/** What stands beside the word of the state; null where the word says it all. */
export function describeState(webhook: Webhook): string | null {
  const { deactivatedReason, exhaustedInARow } = webhook;
  const state = stateOf(webhook);
  if (state === 'active') return null;
  if (state === 'failing') return `${deliveriesInARow(exhaustedInARow)} failed for good`;
  if (state === 'paused') return 'By you';
  return deactivatedReason === 'gone'
    ? 'Your server answered 410 Gone'
    : 'Too many deliveries failed';
}

export function deliveriesInARow(count: number): string {
  return count === 1 ? '1 delivery' : `${count.toLocaleString()} deliveries in a row`;
}

export function describeEvents(events: string[] | null): string {
  if (events === null) return 'All events the app can get, including future ones';
  return events.join(', ');
}

/** A name for headings: an address may be long, and its path or query may hold a token. */
export function hostOf({ url }: Pick<Webhook, 'url'>): string {
  return URL.parse(url)?.host ?? url;
}
