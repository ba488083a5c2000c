/** Announces new organisations in a chat. Starts the bot, and stops it on Ctrl-C or SIGTERM. */
import { createClient } from '@orgdir/client';
import { createBot } from './bot.ts';
import { createChat } from './chat.ts';
import { openMemory } from './memory.ts';
import { startReceiver } from './receiver.ts';

const bot = createBot({
  client: createClient({ baseUrl: setting('ORGDIR_URL'), apiKey: setting('ORGDIR_API_KEY') }),
  chat: createChat(setting('CHAT_WEBHOOK_URL')),
  memory: await openMemory(setting('STATE_FILE', 'announce-bot.json')),
});
const receiver = await startReceiver({
  host: setting('HOST', '127.0.0.1'),
  port: Number(setting('PORT', '4000')),
  secret: setting('WEBHOOK_SECRET'),
  // A delivery only wakes the bot, which then reads the events once each and in order.
  onDelivery: () => bot.wake(),
});
console.log(`waiting for deliveries at ${receiver.url}`);

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    receiver.stop();
    bot.stop();
  });
await bot.run();

function setting(name: string, fallback?: string): string {
  const value = process.env[name] ?? fallback;
  if (!value) throw new Error(`${name} is not set; README.md describes all settings`);
  return value;
}
