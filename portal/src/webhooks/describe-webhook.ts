import { startOf } from '../../../service/src/contract/texts.ts';
import { healthLabels } from '../../../service/src/contract/webhook-in-words.ts';
import type { WebhookFormat } from '../../../service/src/contract/delivery-rules.ts';
import type { Webhook } from '../api/types.ts';

export const formatLabels: Record<WebhookFormat, string> = {
  json: 'Signed JSON to a server',
  discord: 'Messages to Discord',
  slack: 'Messages to Slack',
  teams: 'Messages to Teams',
};

/** A process of 1.0.0 leaves the format out. */
export const isChat = ({ format = 'json' }: Pick<Webhook, 'format'>) => format !== 'json';

export type WebhookHealth = NonNullable<Webhook['health']>;
type Reason = Webhook['deactivatedReason'];

/** The worst first. What is broken has a colour of its own; what is not stays quiet. */
const looks: Record<WebhookHealth, { color: string; quiet?: true }> = {
  suspended: { color: 'red' },
  deactivated: { color: 'red' },
  failing: { color: 'red' },
  retrying: { color: 'orange' },
  new: { color: 'gray.6', quiet: true },
  healthy: { color: 'green', quiet: true },
};

/** `reason`: why it is deactivated. If its owner wanted it so, it is not broken. */
export function lookOf(health: WebhookHealth, reason: Reason) {
  const isByOwner = health === 'deactivated' && reason === 'owner';
  const look = isByOwner ? { color: 'gray.6', quiet: true as const } : looks[health];
  return { label: healthLabels[health], ...look };
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

export function describeEvents(events: string[] | null): string {
  return (
    events?.join(', ') ?? 'All events the app can get, including future ones, except opt-in ones'
  );
}

type Named = Pick<Webhook, 'id' | 'url' | 'description'>;

/** The description, which distinguishes webhooks of one host; without one, the host, and the end of the id if no path is shown. */
export function nameOf({ id, url, description }: Named): string {
  const [line = ''] = description?.trim().split('\n') ?? [];
  if (line !== '') return cut(line);
  return isMasked(url) ? `${cut(hostOf(url), maskedHostMax)} (…${id.slice(-4)})` : hostOf(url);
}

/** The name in a list of several: the host with its path, which distinguishes those without a description. */
export function nameInList(webhook: Named): string {
  const name = nameOf(webhook);
  if (webhook.description?.trim() || isMasked(webhook.url)) return name;
  return cut(name + placeOf(webhook));
}

function cut(name: string, lengthMax = nameLengthMax): string {
  return name.length > lengthMax ? `${startOf(name, lengthMax)}…` : name;
}

/** Longer descriptions do not fit into a heading. */
const nameLengthMax = 60;
/** Teams has a longer host for each customer. A row of the list has room for the end of the id after so much. */
const maskedHostMax = 30;

/** Of a chat channel, and for a viewer of every webhook, the API returns only the origin. */
const isMasked = (url: string) => URL.parse(url)?.pathname === encodeURI('/…');

/** The host next to a description, which names the webhook; otherwise the path, which the host lacks. */
export function placeOf({ url, description }: Pick<Webhook, 'url' | 'description'>): string {
  const path = URL.parse(url)?.pathname ?? '/';
  if (description?.trim()) return hostOf(url);
  return path === '/' || isMasked(url) ? '' : path;
}

/** The path and query are left out, because they may hold a token. */
function hostOf(url: string): string {
  return URL.parse(url)?.host ?? url;
}
