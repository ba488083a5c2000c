import type { Webhook } from '../api/types.ts';
import { capitalise } from '../ui/capitalise.ts';
import { formatCount } from '../ui/format-count.ts';

/** As the service calls it on the overview, in `orgdir webhooks list` and in mail. */
export type WebhookState = 'active' | 'failing' | 'deactivated' | 'suspended';

export function stateOf({ active, exhaustedInARow, suspendedAt }: Webhook): WebhookState {
  if (suspendedAt !== null) return 'suspended';
  if (!active) return 'deactivated';
  return exhaustedInARow > 0 ? 'failing' : 'active';
}

export const deactivationReasons: Record<NonNullable<Webhook['deactivatedReason']>, string> = {
  failing: 'too many deliveries failed',
  gone: 'your server responded with 410 Gone',
  owner: 'by a member or an API key',
};

/** The reason for the state; null if the state needs none. */
export function describeState(webhook: Webhook): string | null {
  const state = stateOf(webhook);
  if (state === 'active') return null;
  if (state === 'failing') return describeFailures(webhook);
  if (state === 'suspended') return webhook.suspendedReason;
  return capitalise(deactivationReasons[webhook.deactivatedReason ?? 'owner']);
}

/** `2 deliveries in a row failed`. */
export function describeFailures({
  exhaustedInARow: count,
}: Pick<Webhook, 'exhaustedInARow'>): string {
  return `${formatCount(count, 'delivery')}${count === 1 ? '' : ' in a row'} failed`;
}

export function describeEvents(events: string[] | null): string {
  return (
    events?.join(', ') ?? 'All events the app can get, including future ones, except opt-in ones'
  );
}

/** The description, which distinguishes webhooks of one host; without one, the host. */
export function nameOf({ url, description }: Pick<Webhook, 'url' | 'description'>): string {
  const [line = ''] = description?.trim().split('\n') ?? [];
  if (line === '') return hostOf(url);
  return line.length > nameLengthMax ? `${line.slice(0, nameLengthMax)}…` : line;
}

/** Longer descriptions do not fit into a heading. */
const nameLengthMax = 60;

/** The path and query are left out, because they may hold a token. */
function hostOf(url: string): string {
  return URL.parse(url)?.host ?? url;
}
