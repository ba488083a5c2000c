/**
 * Discord's REST API as a chat provider: a guild with its counts, by the token of a bot.
 * https://docs.discord.com/developers/resources/guild#get-guild, and …/topics/rate-limits for the waiting.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { ChatAnswer, ChatProvider } from './chat-provider.ts';
import { createHttpClient, HttpFault, httpFault, type HttpAnswer } from './http-client.ts';
import { createRateLimit } from './rate-limit.ts';

export type DiscordOptions = {
  /** Without a slash at its end. */
  baseUrl: string;
  token: string;
  userAgent: string;
  /** Of one request, to the last byte of its answer; ten seconds. */
  timeoutMs?: number;
};

const timeoutMs = 10_000;
/** A guild with all its roles and emojis stays far below. */
const bodyBytesMax = 2 * 1024 * 1024;
/** Of one guild. Its 429s are not among them: they say when to come again, and the run's own end ends that. */
const faultsMax = 2;
const membersMax = 2 ** 31 - 1;
/** Codes of Discord's that speak of the bot and not of the guild: unauthorised, and an account to be verified. */
const botCodes = new Set([40_001, 40_002]);
const unknownGuildCode = 10_004;

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
      // Anything else would change the address that is asked.
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

/** `status` is null where no answer came. */
type Said = { status: number | null; headers: IncomingHttpHeaders; body: unknown; fault: string };

function unsaid(fault: string): Said {
  return { status: null, headers: {}, body: null, fault };
}

async function hear({ status, headers, body }: HttpAnswer): Promise<Said> {
  const text = await readText(body);
  return { status, headers, body: parse(text), fault: '' };
}

/** Null for what is longer than any guild. */
async function readText(body: Readable): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Leaving the loop ends the connection.
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
  // Without its code a 404 is not about the guild: the address leads elsewhere.
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
