import type { Config } from '../settings/config.ts';
import type { ChatProvider } from './chat-provider.ts';
import { createDiscord } from './discord.ts';

/** Creates the provider of member counts, which is Discord. Close it with `close()`. */
export function createChatProvider(
  { token, baseUrl }: NonNullable<Config['syncs']['chat']>,
  { publicUrl, version }: { publicUrl: string; version: string },
): ChatProvider {
  // The format that Discord requires: https://docs.discord.com/developers/reference#user-agent
  return createDiscord({ baseUrl, token, userAgent: `DiscordBot (${publicUrl}, ${version})` });
}
