/** What the chat platforms accept and respond: which URLs are theirs, and what a response says about the next request. Pure. */
import type { ChatFormat } from '../../contract/delivery-rules.ts';
import { parseJson } from '../../contract/json.ts';
import type { AttemptOutcome } from './attempt.ts';
import { retryAfterMaxMs, retryAfterMs } from './retry.ts';

type Platform = { name: string; host: RegExp; path: RegExp; example: string };

export const platforms: Record<ChatFormat, Platform> = {
  // https://docs.discord.com/developers/resources/webhook
  discord: {
    name: 'Discord',
    host: /^(ptb\.|canary\.)?discord(app)?\.com$/,
    path: /^\/api(\/v\d+)?\/webhooks\/\d+\/[\w-]+$/,
    example: 'https://discord.com/api/webhooks/…',
  },
  // https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
  slack: {
    name: 'Slack',
    host: /^hooks\.slack\.com$/,
    path: /^\/services\/[\w/]+$/,
    example: 'https://hooks.slack.com/services/…',
  },
  // Addresses on logic.azure.com ended in November 2025, and webhook.office.com in May 2026:
  // https://github.com/swisscom/backman/issues/102,
  // https://databrickslabs.github.io/dqx/docs/reference/api/actions/destinations/teams/
  teams: {
    name: 'Teams',
    host: /^([a-z0-9-]+\.)+environment\.api\.powerplatform\.com$/,
    path: /^\/powerautomate\//,
    example: 'https://….environment.api.powerplatform.com/powerautomate/…',
  },
};

/** Binds a sealed URL to its webhook, and keeps it apart from the webhook's secrets. */
export function urlOwner(webhookId: string): string {
  return `${webhookId}/url`;
}

/**
 * A URL as it may be shown: its origin, which names the receiver, without the path and query, which authorise whoever has
 * them.
 */
export function maskUrl(url: string): string {
  return `${new URL(url).origin}/…`;
}

/** The name under which the limits of the whole platform are kept. Teams has a host for each customer. */
export function platformName(format: ChatFormat, host: string): string {
  return format === 'teams' ? host : format;
}

export type ChatAnswer = {
  /** The platform asks to wait: the request was refused for that reason alone, and is not an attempt. */
  limited: boolean;
  /** The channel or its webhook does not exist any more. */
  gone: boolean;
  /** How long nothing may be sent to this webhook, and to the whole platform. */
  webhookMs: number;
  platformMs: number;
  /** Whether Discord counts the response among those for which it blocks an address. */
  invalid: boolean;
};

/** If a platform limits requests and does not say for how long. */
const limitedMs = 60_000;
/** After a refusal that counts, so that one webhook causes ten of the 10,000 per ten minutes that Discord allows. */
const refusedMs = 60_000;
/** A platform that asks for less is called no sooner: a request that it refuses is no attempt, so only this ends them. */
const limitedMinMs = 1_000;

export function readAnswer(format: ChatFormat, outcome: AttemptOutcome, now: Date): ChatAnswer {
  const { statusCode } = outcome;
  const headers = parse(outcome.responseHeaders) as Record<string, string>;
  const limited = statusCode === 429;
  const asked = limited ? limitOf(outcome, headers, now) : spentMs(statusCode, headers);
  // A block of the address has none of these headers: https://docs.discord.com/developers/topics/rate-limits
  const isShared =
    limited && format === 'discord' && (headers['x-ratelimit-scope'] ?? 'global') === 'global';
  const refused = statusCode === 401 || statusCode === 403 || statusCode === 404;
  const invalid =
    format === 'discord' && (refused || (limited && headers['x-ratelimit-scope'] !== 'shared'));
  return {
    limited,
    gone: isGone(format, outcome),
    webhookMs: refused || invalid ? Math.max(asked, refusedMs) : asked,
    platformMs: isShared ? asked : 0,
    invalid,
  };
}

function limitOf(
  { retryAfter, responseBody }: AttemptOutcome,
  headers: Record<string, string>,
  now: Date,
): number {
  const { retry_after: seconds } = parse(responseBody) as { retry_after?: unknown };
  const asked = Math.max(
    retryAfterMs(retryAfter ?? '', now, retryAfterMaxMs),
    secondsMs(seconds),
    secondsMs(headers['x-ratelimit-reset-after']),
  );
  return asked === 0 ? limitedMs : Math.max(asked, limitedMinMs);
}

/** Discord says beforehand when the next request would be refused. */
function spentMs(statusCode: number | null, headers: Record<string, string>): number {
  if (statusCode === null || headers['x-ratelimit-remaining'] !== '0') return 0;
  return secondsMs(headers['x-ratelimit-reset-after']);
}

function secondsMs(seconds: unknown): number {
  const ms = Math.ceil(Number(seconds ?? 0) * 1_000);
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), retryAfterMaxMs) : 0;
}

/** Discord's error code "Unknown Webhook": https://docs.discord.com/developers/topics/opcodes-and-status-codes#json */
const unknownWebhook = 10_015;

/** A 404 alone may come from a proxy. */
function isGone(format: ChatFormat, { statusCode, responseBody }: AttemptOutcome): boolean {
  if (statusCode !== 404 && statusCode !== 410) return false;
  if (format === 'discord')
    return (parse(responseBody) as { code?: unknown }).code === unknownWebhook;
  const text = responseBody?.toString() ?? '';
  if (format === 'slack')
    return /^(no_service|no_service_id|no_active_hooks|no_team|channel_is_archived|channel_not_found)\b/.test(
      text,
    );
  // The workflow was deleted.
  return (
    (parse(responseBody) as { error?: { code?: unknown } }).error?.code === 'WorkflowNotFound' ||
    statusCode === 410
  );
}

function parse(bytes: Buffer | null): object {
  const value = parseJson(bytes?.toString() ?? '');
  return typeof value === 'object' && value !== null ? value : {};
}

/** Shorter parts of a path or query are words such as `webhooks`. */
const secretLengthMin = 16;

/** What could post into the channel. */
export function urlSecrets(url: string): string[] {
  const { pathname, search, searchParams } = new URL(url);
  const parts = [...pathname.split('/'), ...search.split(/[?&=]/), ...searchParams.values()];
  return [pathname + search, ...parts.filter(({ length }) => length >= secretLengthMin)];
}
