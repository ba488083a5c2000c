import type { Config } from '../settings/config.ts';
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { createHttpClient, HttpFault, httpFault, type HttpAnswer } from './http-client.ts';
import { createRateLimit } from './provider-rate-limit.ts';

/** The chat provider as the chat sync uses it: it counts the members of a server. */

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
  return { status, headers, body: parse(text), fault: '' };
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

function parse(text: string | null): unknown {
  try {
    return text === null ? null : (JSON.parse(text) as unknown);
  } catch {
    return null;
  }
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
