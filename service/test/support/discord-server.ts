/**
 * A server that behaves as Discord documents for `GET /guilds/{id}?with_counts=true`: the token of a bot, errors with
 * its codes, and rate limits that refuse who does not wait.
 * https://docs.discord.com/developers/resources/guild and …/topics/rate-limits
 */
import type { ServerResponse } from 'node:http';
import { startReceiver } from './receiver.ts';

/** `number` counts the requests for this guild, from 1. */
export type Guild = number | ((response: ServerResponse, number: number) => unknown);

export type DiscordServer = {
  /** The value of `CHAT_BASE_URL`. */
  baseUrl: string;
  token: string;
  guilds: Map<string, Guild>;
  /** The guilds that were asked for, in order. */
  asked: string[];
  /** Requests that came before the server had said they might. */
  early: number;
  /** If set, the number of requests per window for all guilds together. */
  bucket: Bucket | null;
  /** Refuses everybody for so long, and tells it so in the answer that is being made. */
  close(response: ServerResponse, seconds: number, how: LimitHow): ServerResponse;
};
type Bucket = { requests: number; windowMs: number };
/** Where a response says how long to wait. */
type LimitHow = 'remaining' | 'header' | 'json' | 'global';

export async function startDiscord(): Promise<DiscordServer> {
  const token = 'MTk4NjIy.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs';
  let closedUntil = 0;
  let windowEndsAt = 0;
  let drawn = 0;
  /** Takes one from the bucket, and tells of it in the answer; refuses where none is left. */
  function draw(response: ServerResponse, { requests, windowMs }: Bucket): boolean {
    const now = performance.now();
    if (now >= windowEndsAt) {
      windowEndsAt = now + windowMs;
      drawn = 0;
    }
    const left = requests - drawn;
    drawn = Math.min(requests, drawn + 1);
    const resetAfter = (windowEndsAt - now) / 1000;
    response.setHeader('x-ratelimit-limit', String(requests));
    response.setHeader('x-ratelimit-remaining', String(Math.max(0, left - 1)));
    response.setHeader('x-ratelimit-reset-after', resetAfter.toFixed(3));
    response.setHeader('x-ratelimit-bucket', 'abcd1234');
    if (left > 0) return true;
    response.setHeader('retry-after', String(Math.ceil(resetAfter)));
    const retryAfter = { retry_after: Number(resetAfter.toFixed(3)), global: false };
    send(response, 429, { message: 'You are being rate limited.', ...retryAfter });
    return false;
  }
  const server: DiscordServer = {
    baseUrl: '',
    token,
    guilds: new Map(),
    asked: [],
    early: 0,
    bucket: null,
    close(response, seconds, how) {
      closedUntil = performance.now() + seconds * 1000;
      if (how === 'remaining') {
        response.setHeader('x-ratelimit-limit', '5');
        response.setHeader('x-ratelimit-remaining', '0');
        response.setHeader('x-ratelimit-reset-after', String(seconds));
        response.setHeader('x-ratelimit-bucket', 'abcd1234');
        return response;
      }
      const isGlobal = how === 'global';
      if (isGlobal) response.setHeader('x-ratelimit-global', 'true');
      if (how !== 'json') response.setHeader('retry-after', String(Math.ceil(seconds)));
      const body = { message: 'You are being rate limited.', global: isGlobal };
      send(response, 429, how === 'header' ? body : { ...body, retry_after: seconds });
      return response;
    },
  };
  const receiver = await startReceiver((response, { path, headers }) => {
    const id = /^\/api\/guilds\/(\w+)\?with_counts=true$/.exec(path)?.[1];
    if (id === undefined) return send(response, 404, { message: '404: Not Found', code: 0 });
    server.asked.push(id);
    if (performance.now() < closedUntil) {
      server.early += 1;
      return send(response, 429, { message: 'Too early.', retry_after: 0.1, global: false });
    }
    if (server.bucket && !draw(response, server.bucket)) return;
    if (headers['authorization'] !== `Bot ${token}`)
      return send(response, 401, { message: '401: Unauthorized', code: 0 });
    const guild = server.guilds.get(id);
    if (guild === undefined) return send(response, 404, { message: 'Unknown Guild', code: 10_004 });
    if (typeof guild !== 'number')
      return void guild(response, server.asked.filter((each) => each === id).length);
    return sendGuild(response, id, guild);
  });
  server.baseUrl = new URL('/api', receiver.url).href;
  return server;
}

export function sendGuild(response: ServerResponse, id: string, members: unknown): void {
  send(response, 200, { id, name: 'A private name', approximate_member_count: members });
}

export function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
