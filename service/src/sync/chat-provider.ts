/** The chat provider as the chat sync uses it: it counts the members of a server, within the provider's rate limit. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { parseJson } from '../contract/json.ts';
import type { Config } from '../settings/config.ts';
import { createHttpClient, HttpFault, httpFault, type HttpAnswer } from './http-client.ts';

export type ChatAnswer =
  | { kind: 'members'; members: number }
  /** Only this server cannot be read. */
  | { kind: 'refused'; reason: string }
  /** The provider gave no usable response; it may be down. */
  | { kind: 'away'; reason: string }
  /** The provider no longer accepts our credentials; asking again would be useless. */
  | { kind: 'unauthorized'; reason: string };

/** `reason` is our own text, because a provider's message could contain anything. */
export type ChatProvider = {
  /** The name in the event: `discord`. */
  name: string;
  /** Throws only when `signal` aborts. Waits as the provider asks, but not past `deadline` (in `performance.now()`). */
  readMembers(serverId: string, deadline: number, signal: AbortSignal): Promise<ChatAnswer>;
  close(): Promise<void>;
};

/** Creates the provider of member counts, which is Discord. Close it with `close()`. */
export function createChatProvider(
  { token, baseUrl }: NonNullable<Config['syncs']['chat']>,
  { publicUrl, version }: { publicUrl: string; version: string },
): ChatProvider {
  // The format that Discord requires: https://docs.discord.com/developers/reference#user-agent
  return createDiscord({ baseUrl, token, userAgent: `DiscordBot (${publicUrl}, ${version})` });
}

type DiscordOptions = {
  /** Without a trailing slash. */
  baseUrl: string;
  token: string;
  userAgent: string;
  /** The time limit of one request, to the last byte of its response; ten seconds. */
  timeoutMs?: number;
};

const timeoutMs = 10_000;
/** The limit of a response; a guild with all its roles and emojis stays far below it. */
const bodyBytesMax = 2 * 1024 * 1024;
/** Failures allowed per guild. 429s don't count: they say when to try again, and the run's deadline bounds them. */
const faultsMax = 2;
const membersMax = 2 ** 31 - 1;
/** Discord error codes about the bot and not the guild: unauthorised, and account verification required. */
const botCodes = new Set([40_001, 40_002]);
const unknownGuildCode = 10_004;

/**
 * Discord's REST API: a guild with its counts, by the token of a bot.
 * https://docs.discord.com/developers/resources/guild#get-guild, and …/topics/rate-limits for the waiting.
 */
export function createDiscord(options: DiscordOptions): ChatProvider {
  const client = createHttpClient();
  const limit = createRateLimit();
  const headers = {
    authorization: `Bot ${options.token}`,
    'user-agent': options.userAgent,
    accept: 'application/json',
  };

  async function ask(serverId: string, signal: AbortSignal): Promise<Said> {
    const url = new URL(`${options.baseUrl}/guilds/${serverId}?with_counts=true`);
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs ?? timeoutMs)]);
    try {
      return await hear(await client.get(url, headers, inTime));
    } catch (error) {
      signal.throwIfAborted();
      const fault = error instanceof HttpFault ? error : httpFault(error);
      if (!(fault instanceof HttpFault)) throw error;
      return unsaid(fault.message);
    }
  }

  async function askWithPermit(serverId: string, signal: AbortSignal): Promise<Said> {
    let said = unsaid('was not asked to the end');
    try {
      said = await ask(serverId, signal);
    } finally {
      limit.note(said);
    }
    return said;
  }

  return {
    name: 'discord',
    async readMembers(serverId, deadline, signal) {
      // Any other id would change the URL.
      if (!/^\d{1,20}$/.test(serverId))
        return { kind: 'refused', reason: 'its chat server id is none of Discord: a number is' };
      let faults = 0;
      for (;;) {
        if (!(await limit.take(deadline, signal)))
          return { kind: 'away', reason: 'Discord asked to wait longer than the run may take' };
        const said = await askWithPermit(serverId, signal);
        if (said.status === 429) continue;
        const answer = classifyResponse(said);
        if (answer.kind !== 'away') return answer;
        faults += 1;
        if (faults >= faultsMax) return answer;
      }
    },
    close: () => client.close(),
  };
}

/** `status` is null if no response came. */
type Said = { status: number | null; headers: IncomingHttpHeaders; body: unknown; fault: string };

function unsaid(fault: string): Said {
  return { status: null, headers: {}, body: null, fault };
}

async function hear({ status, headers, body }: HttpAnswer): Promise<Said> {
  const text = await readText(body);
  return { status, headers, body: parseJson(text ?? ''), fault: '' };
}

/** Null if it is longer than any guild. */
async function readText(body: Readable): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Leaving the loop closes the connection.
    if (bytes > bodyBytesMax) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function classifyResponse({ status, body, fault }: Said): ChatAnswer {
  const { code, approximate_member_count: members } = (body ?? {}) as Record<string, unknown>;
  if (status === null) return { kind: 'away', reason: `Discord ${fault}` };
  if (status === 401 || (status === 403 && botCodes.has(Number(code))))
    return { kind: 'unauthorized', reason: `Discord does not accept the token (${status})` };
  if (status === 403) return { kind: 'refused', reason: 'the bot may not read its server (403)' };
  // A 404 without the code is not about the guild: the URL is wrong.
  if (status === 404 && code === unknownGuildCode)
    return { kind: 'refused', reason: 'Discord knows no such server (404)' };
  if (status !== 200) return { kind: 'away', reason: `Discord answered ${status}` };
  if (
    typeof members !== 'number' ||
    !Number.isInteger(members) ||
    members < 0 ||
    members > membersMax
  )
    return { kind: 'away', reason: 'Discord answered without a count of members' };
  return { kind: 'members', members };
}

type RateLimit = {
  /**
   * Resolves when a request may be sent, in the order of calls; false if that is past `deadline`. Note each request
   * that was sent, whatever its outcome, because others may wait for its response.
   */
  take(deadline: number, signal: AbortSignal): Promise<boolean>;
  note(answer: Answer): void;
};

/** `status` is null if no response came. */
type Answer = { status: number | null; headers: IncomingHttpHeaders; body: unknown };

/** Discord blocks an IP address after 10,000 such requests in ten minutes; chat channels may cause half of them. */
const invalidMax = 2_500;
const invalidWindowMs = 600_000;
const invalidStatuses = new Set([401, 403, 429]);

/** The wait after a 429 that does not say how long. */
const unsaidWaitMs = 5_000;

/**
 * Decides when to send the next request, and how many at once. Discord limits each route, perhaps per server, and each bot as a
 * whole. One limit for everything is always safe and costs little, because we use only one route.
 */
export function createRateLimit(options: { invalidMax?: number } = {}): RateLimit {
  let clearAt = 0;
  /** How many more requests may be sent before a response says more. After a wait, one request finds out. */
  let permits = Infinity;
  let inFlight = 0;
  let answered = Promise.withResolvers<void>();
  let lastInLine: Promise<unknown> = Promise.resolve();
  const countInvalid = createInvalidCount(options.invalidMax ?? invalidMax);

  function waitFor(ms: number): void {
    clearAt = Math.max(clearAt, performance.now() + ms);
  }

  /** The timer of the first waiting caller. */
  async function admit(deadline: number, signal: AbortSignal): Promise<boolean> {
    for (;;) {
      signal.throwIfAborted();
      const now = performance.now();
      if (Math.max(now, clearAt) > deadline) return false;
      if (now < clearAt) await wait(Math.ceil(clearAt - now), undefined, { signal });
      else if (permits > 0 || inFlight === 0) break;
      else await answered.promise;
    }
    permits = Math.max(0, permits - 1);
    inFlight += 1;
    return true;
  }

  return {
    take(deadline, signal) {
      const admitted = lastInLine.then(() => admit(deadline, signal));
      lastInLine = admitted.catch(() => {});
      return admitted;
    },
    note({ status, headers, body }) {
      inFlight -= 1;
      const left = remaining(headers);
      if (status === 429) {
        permits = 0;
        waitFor(refusalMs(headers, body));
      } else if (left !== null) {
        // Discord may not have counted the requests in flight yet.
        permits = Math.max(0, left - inFlight);
        if (left === 0) waitFor(secondsToMs(headers['x-ratelimit-reset-after']) ?? 0);
      } else if (status === 200) permits = Infinity;
      if (status !== null && invalidStatuses.has(status)) waitFor(countInvalid());
      answered.resolve();
      answered = Promise.withResolvers();
    },
  };
}

/** Counts a response that Discord counts against us, and returns the wait that results. */
function createInvalidCount(most: number): () => number {
  let windowEndsAt = 0;
  let count = 0;
  return () => {
    const now = performance.now();
    if (now > windowEndsAt) {
      windowEndsAt = now + invalidWindowMs;
      count = 0;
    }
    count += 1;
    return count >= most ? windowEndsAt - now : 0;
  };
}

function remaining(headers: IncomingHttpHeaders): number | null {
  const text = headers['x-ratelimit-remaining'];
  return typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : null;
}

/** Reads the wait from a 429's header and JSON; the longer one counts. */
function refusalMs(headers: IncomingHttpHeaders, body: unknown): number {
  const said = [
    secondsToMs(headers['retry-after']),
    secondsToMs((body as { retry_after?: unknown } | null)?.retry_after),
    secondsToMs(headers['x-ratelimit-reset-after']),
  ].filter((ms) => ms !== null);
  return said.length === 0 ? unsaidWaitMs : Math.max(...said);
}

/** Seconds with or without a fraction, as a header or in JSON. Null for anything else. */
function secondsToMs(value: unknown): number | null {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || !/^\d{1,9}(\.\d+)?$/.test(text.trim())) return null;
  return Number(text) * 1000;
}
