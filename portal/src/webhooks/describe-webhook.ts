import type { Webhook } from '../api/types.ts';
import { formatCount } from '../ui/format-count.ts';

export type WebhookHealth = NonNullable<Webhook['health']>;
type Reason = Webhook['deactivatedReason'];

/** The worst first. What is broken has a colour of its own; what is not stays quiet. */
const looks: Record<WebhookHealth, { label: string; color: string; quiet?: true }> = {
  suspended: { label: 'Suspended', color: 'red' },
  deactivated: { label: 'Deactivated', color: 'red' },
  failing: { label: 'Failing', color: 'red' },
  retrying: { label: 'Retrying', color: 'orange' },
  new: { label: 'New', color: 'gray.6', quiet: true },
  healthy: { label: 'Healthy', color: 'green', quiet: true },
};

/** `reason`: why it is deactivated. If its owner wanted it so, it is not broken. */
export function lookOf(health: WebhookHealth, reason: Reason) {
  const isByOwner = health === 'deactivated' && reason === 'owner';
  return isByOwner
    ? { ...looks.deactivated, color: 'gray.6', quiet: true as const }
    : looks[health];
}

/** The worst first, in the order of the overview; of the same health, the oldest first. */
export function sortByHealth(webhooks: Webhook[]): Webhook[] {
  const order = Object.keys(looks);
  const rank = ({ health, deactivatedReason }: Webhook) =>
    health === 'deactivated' && deactivatedReason === 'owner'
      ? order.indexOf('retrying') + 0.5
      : order.indexOf(health ?? 'healthy');
  return webhooks.toSorted((one, other) => rank(one) - rank(other));
}

const deactivationReasons: Record<NonNullable<Reason>, string> = {
  failing: 'too many deliveries failed',
  gone: 'your server responded with 410 Gone',
  owner: 'by a member or an API key',
};

type Described = Pick<Webhook, 'health' | 'suspendedReason' | 'exhaustedInARow'> & {
  reason: Reason;
};

/** Why the webhook has this health, as it continues a sentence; null if it needs no reason. */
export function describeHealth({
  health,
  reason,
  suspendedReason,
  exhaustedInARow,
}: Described): string | null {
  if (health === 'suspended') return suspendedReason;
  if (health === 'deactivated') return deactivationReasons[reason ?? 'owner'];
  if (health === 'failing') return describeFailures(exhaustedInARow);
  return health === 'retrying' ? 'the last attempt failed' : null;
}

/** `2 deliveries in a row failed`. */
function describeFailures(count: number): string {
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

/** The host next to a description, which names the webhook; otherwise the path, which the host lacks. A viewer gets no path. */
export function placeOf({ url, description }: Pick<Webhook, 'url' | 'description'>): string {
  const path = URL.parse(url)?.pathname ?? '/';
  if (description?.trim()) return hostOf(url);
  return path === '/' ? '' : path;
}

/** The path and query are left out, because they may hold a token. */
function hostOf(url: string): string {
  return URL.parse(url)?.host ?? url;
}
