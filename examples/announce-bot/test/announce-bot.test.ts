import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createClient } from '@orgdir/client';
import { startProgram, type Program } from '../../../client/test/support/program.ts';
import { put } from '../../../service/test/support/directory.ts';
import { eventually } from '../../../service/test/support/eventually.ts';
import { freePort } from '../../../service/test/support/free-port.ts';
import { loopbackAllowed, startReceiver } from '../../../service/test/support/receiver.ts';
import { makeKey, startTestService } from '../../../service/test/support/service.ts';

const service = await startTestService({
  worker: true,
  env: { ...loopbackAllowed, WEBHOOK_RETRY_BASE_MS: '300', WEBHOOK_RETRY_FACTOR: '1' },
});
const chat = await startReceiver((response) => response.writeHead(204).end());
const messages = () => chat.received.map(({ body }) => JSON.parse(body.toString()));

const folder = await mkdtemp(join(tmpdir(), 'orgdir-bot-'));
after(() => rm(folder, { recursive: true, force: true }));
const stateFile = join(folder, 'state.json');

const client = createClient({ baseUrl: service.url, apiKey: service.key });
const port = await freePort();
const url = `http://127.0.0.1:${port}/`;
const webhook = await client.webhooks.create({ url, events: ['org.created'] });
const { key } = await makeKey(service, { scopes: ['read:events'] });

const announce = (...orgs: object[]) => put(service.database, 'orgs', orgs, { emitEvents: true });

async function startBot(): Promise<Program> {
  const bot = startProgram(fileURLToPath(new URL('../src/main.ts', import.meta.url)), {
    env: {
      ORGDIR_URL: service.url,
      ORGDIR_API_KEY: key,
      WEBHOOK_SECRET: webhook.secret,
      CHAT_WEBHOOK_URL: chat.url,
      PORT: String(port),
      STATE_FILE: stateFile,
    },
  });
  await bot.prints(/waiting for deliveries/);
  return bot;
}

const keptCursor = async () =>
  (JSON.parse(await readFile(stateFile, 'utf8').catch(() => '{}')) as { cursor?: string }).cursor;
/** As the bot's app sees it: a cursor belongs to an app. */
const bots = createClient({ baseUrl: service.url, apiKey: key });
const currentCursor = async () =>
  (await bots.events.list({ limit: 100 })).pagination.nextCursor ?? undefined;
/** Every event so far has been announced. */
const caughtUp = () =>
  eventually(async () => {
    const [kept, current] = [await keptCursor(), await currentCursor()];
    return current !== undefined && kept === current;
  });

await announce({ name: 'Long Ago' });
await eventually(currentCursor);
let bot = await startBot();
await caughtUp();

test('new organisations are announced, without markup or mentions', async () => {
  await announce({
    name: '@everyone *Novelty*',
    tag: 'NEW',
    description: 'Makers of\nnew things.',
    memberCount: 1,
    links: { website: 'https://novelty.example/a b' },
  });
  await chat.waitFor(1);
  assert.deepEqual(messages(), [
    {
      content:
        '**\\@everyone \\*Novelty\\*** [NEW] is new in the directory · 1 member\n' +
        'Makers of new things.\n<https://novelty.example/a%20b>',
      allowed_mentions: { parse: [] },
    },
  ]);
  await caughtUp();
});

test('a forged delivery does not wake the bot', async () => {
  const { status } = await fetch(url, { method: 'POST', body: '{}' });
  assert.equal(status, 401);
  await bot.prints(/rejected: missing_header/);
  assert.equal((await fetch(url)).status, 405);
});

test('events during a downtime are announced once', async () => {
  await bot.stop();
  await announce({ name: 'Missed One' });
  await announce({ name: 'Missed Two' });
  // Until the service has tried without success.
  await eventually(async () => {
    const { data } = await client.webhooks.deliveries.list(webhook.id, { status: 'pending' });
    return data.length === 2 && data.every(({ attemptCount }) => attemptCount > 0);
  });
  bot = await startBot();
  await eventually(async () => {
    const { data } = await client.webhooks.deliveries.list(webhook.id, { status: 'pending' });
    return data.length === 0;
  });
  await caughtUp();
  assert.deepEqual(names(), ['Missed One', 'Missed Two']);
});

test('a rate-limited message is posted later', async () => {
  chat.respond = (response, _, count) =>
    response.writeHead(count === 4 ? 429 : 204, { 'retry-after': '0.1' }).end();
  await announce({ name: 'Patience' });
  await chat.waitFor(5);
  await caughtUp();
  assert.deepEqual(names(), ['Patience', 'Patience']);
  await bot.prints(/the chat responded with 429/);
  assert.ok(!bot.output().includes(chat.url), 'the address of the chat is a secret');
});

test('with a cursor that is refused the bot goes on after the newest event that it has read', async () => {
  await bot.stop();
  const state = JSON.parse(await readFile(stateFile, 'utf8')) as object;
  await writeFile(stateFile, JSON.stringify({ ...state, cursor: 'MTo0Mg' }));
  await announce({ name: 'After the Key' });
  bot = await startBot();
  await bot.prints(/the cursor is refused/);
  await chat.waitFor(6);
  await caughtUp();
  assert.deepEqual(names(), ['After the Key']);
});

test('a bot killed while posting does not post again', async () => {
  chat.respond = () => {};
  await announce({ name: 'Interrupted' });
  await chat.waitFor(7);
  await bot.stop();
  chat.respond = (response) => response.writeHead(204).end();
  await announce({ name: 'Afterwards' });
  bot = await startBot();
  await chat.waitFor(8);
  await caughtUp();
  assert.deepEqual(names(), ['Interrupted', 'Afterwards']);
  bot.interrupt();
  assert.equal(await bot.ended, 0, 'Ctrl-C ends it');
});

let seen = 1;

/** The organisations that were announced since the last call. */
function names(): string[] {
  const latest = messages().slice(seen);
  seen += latest.length;
  return latest.map(({ content }) => /\*\*(.*?)\*\*/.exec(content)?.[1] ?? '');
}
