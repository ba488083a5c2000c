/**
 * A server that behaves as the chat platforms document for incoming webhooks: their responses, error codes and rate limits.
 * https://docs.discord.com/developers/topics/rate-limits, https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
 */
import type { ServerResponse } from 'node:http';
import { startReceiver, type Receiver } from './receiver.ts';

export type ChatPlatform = Receiver & {
  origin: string;
  /** By path: what the platform does instead of posting the message. */
  instead: Map<string, (response: ServerResponse) => unknown>;
  /** If set, the number of messages per window and path, of which Discord tells in headers. */
  bucket: { requests: number; windowMs: number } | null;
  /** The bodies of the messages that were posted, by path. */
  posted(path: string): any[];
  /** Requests that were refused because they came too early. */
  early: number;
};

export const discordPath = (number: number) => `/api/webhooks/${number}/${token(number)}`;
export const slackPath = (number: number) => `/services/T000/B00${number}/${token(number)}`;
export const teamsPath = (number: number) =>
  `/powerautomate/automations/direct/workflows/${number}/triggers/manual/paths/invoke?api-version=1&sig=${token(number)}`;
/** The part of a path that authorises. */
export const token = (number: number) => `s3cr3tTokenOfAChannel${number}`;

export async function startChatPlatform(): Promise<ChatPlatform> {
  const receiver = await startReceiver();
  const posted = new Map<string, any[]>();
  const windows = new Map<string, { endsAt: number; left: number }>();
  const platform: ChatPlatform = Object.assign(receiver, {
    origin: new URL(receiver.url).origin,
    instead: new Map(),
    bucket: null,
    early: 0,
    posted: (path: string) => posted.get(path) ?? [],
  });
  receiver.respond = (response, { path, body }) => {
    const instead = platform.instead.get(path);
    if (instead) instead(response);
    else if (!platform.bucket || admit(path, platform.bucket, response)) post(path, body, response);
  };

  function post(path: string, body: Buffer, response: ServerResponse): void {
    posted.set(path, [...platform.posted(path), JSON.parse(body.toString())]);
    if (path.startsWith('/api/')) response.writeHead(204).end();
    else if (path.startsWith('/services/')) response.end('ok');
    else response.writeHead(202).end();
  }

  function admit(
    path: string,
    bucket: NonNullable<ChatPlatform['bucket']>,
    response: ServerResponse,
  ): boolean {
    const now = performance.now();
    let window = windows.get(path);
    if (!window || window.endsAt <= now)
      windows.set(path, (window = { endsAt: now + bucket.windowMs, left: bucket.requests }));
    const seconds = ((window.endsAt - now) / 1_000).toFixed(3);
    response.setHeader('x-ratelimit-limit', bucket.requests);
    response.setHeader('x-ratelimit-remaining', Math.max(window.left - 1, 0));
    response.setHeader('x-ratelimit-reset-after', seconds);
    response.setHeader('x-ratelimit-bucket', 'abcd');
    window.left -= 1;
    if (window.left >= 0) return true;
    platform.early += 1;
    // After one that counts against the sender, the service waits for longer than a test does.
    limit(response, { seconds: Number(seconds), scope: 'shared' });
    return false;
  }
  return platform;
}

/** 429 as Discord sends it; without a scope, as the network in front of it does. */
export function limit(
  response: ServerResponse,
  { seconds, scope }: { seconds: number; scope?: 'user' | 'shared' | 'global' },
): void {
  response.setHeader('retry-after', Math.ceil(seconds));
  if (scope) response.setHeader('x-ratelimit-scope', scope);
  response.setHeader('content-type', 'application/json');
  const body = {
    message: 'You are being rate limited.',
    retry_after: seconds,
    global: scope === 'global',
  };
  response.writeHead(429).end(JSON.stringify(body));
}

/** An error of Discord. */
export const refuse = (status: number, code: number) => (response: ServerResponse) =>
  response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(JSON.stringify({ message: 'Refused', code }));

/** An error of Slack. */
export const refuseText = (status: number, text: string) => (response: ServerResponse) =>
  response.writeHead(status, { 'content-type': 'text/plain' }).end(text);
