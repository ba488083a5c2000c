/** Announces new organisations in a chat. Reads its settings, starts the bot, and ends it on Ctrl-C or SIGTERM. */
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
  // What a delivery holds is read from the stream of events: it has each of them once, and in order.
  onDelivery: () => bot.wake(),
});
console.log(`waiting for deliveries at ${receiver.url}`);

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    receiver.stop();
    bot.stop();
  });
await bot.run();

function setting(name: string, otherwise?: string): string {
  const value = process.env[name] ?? otherwise;
  if (!value) throw new Error(`${name} is not set: README.md has all settings`);
  return value;
}
