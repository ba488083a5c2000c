/** Texts for the state of a webhook. */
import type { Webhook } from '../api/types.ts';

export type WebhookState = 'active' | 'failing' | 'deactivated' | 'paused';

export function stateOf({ active, deactivatedReason, exhaustedInARow }: Webhook): WebhookState {
  if (active) return exhaustedInARow > 0 ? 'failing' : 'active';
  return deactivatedReason === 'owner' ? 'paused' : 'deactivated';
}

/** The reason for the state; null if the state needs none. */
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

/** A name for headings: a URL may be long, and its path or query may contain a token. */
export function hostOf({ url }: Pick<Webhook, 'url'>): string {
  return URL.parse(url)?.host ?? url;
}
