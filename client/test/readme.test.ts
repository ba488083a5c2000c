/** The examples of the README, run as they stand there but for the addresses. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { blueprint, put } from '../../service/test/support/directory.ts';
import { loopbackAllowed, startReceiver } from '../../service/test/support/receiver.ts';
import { startTestService } from '../../service/test/support/service.ts';
import { createClient, type MirrorStore } from '@orgdir/client';
import { makeConsumer } from './support/consumer.ts';
import type { MemoryStore } from './support/memory-store.ts';

const service = await startTestService({ worker: true, env: loopbackAllowed });
const client = createClient({ baseUrl: service.url, apiKey: service.key });
await put(service.database, 'orgs', [
  { slug: 'acme-corporation', name: 'Acme Corporation', recruiting: true, memberCount: 42 },
]);
await put(service.database, 'blueprints', [blueprint({ name: 'Gear', category: 'materials' })]);
await service.settled();

const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
const blocks = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code);
const consumer = await makeConsumer();
for (const [index, code] of blocks.entries())
  await consumer.write(
    `${index}.ts`,
    code.replace('https://directory.example.org', service.url).replace('listen(4000)', 'listen(0)'),
  );
const fileOf = (text: string) => `${blocks.findIndex((code) => code.includes(text))}.ts`;
const env = { ORGDIR_API_KEY: service.key };

const announce = (name: string) => put(service.database, 'orgs', [{ name }], { emitEvents: true });

test('every example fits the types', async () => {
  const files = blocks.map((_, index) => `${index}.ts`);
  assert.equal(files.length, 8);
  assert.equal(await consumer.check({ types: ['node'], files }), '');
});

test('reading the directory', async () => {
  const program = consumer.start(fileOf('client.blueprints.all'), { env });
  assert.equal(await program.ended, 0, program.output());
  assert.equal(
    program.output(),
    'Acme Corporation 42\n1 of 1\nGear\norganization acme-corporation Acme Corporation\n',
  );
});

test('keeping a copy', async () => {
  const source = await readFile(join(consumer.folder, fileOf('client.mirror')), 'utf8');
  const tellSize = `setInterval(() => console.log('copied', copies.orgs.size), 50);\nawait client.mirror`;
  await consumer.write('mirror.ts', source.replace('await client.mirror', tellSize));
  const program = consumer.start('mirror.ts', { env });
  await program.prints(/copied 1/);
  await program.stop();

  const exported = source.replace(/await client\.mirror.*/, 'export { copies, store };');
  await consumer.write('store.ts', exported);
  const file = pathToFileURL(join(consumer.folder, 'store.ts')).href;
  const { copies, store } = (await import(file)) as { copies: MemoryStore['copies'] } & {
    store: MirrorStore;
  };
  const entry = await client.orgs.get('acme-corporation');
  const interrupted = new Error('interrupted');
  async function* batches(error?: Error) {
    yield [{ ...entry, id: error ? 'new' : 'old' }];
    if (error) throw error;
  }
  await store.replace('orgs', batches(), 'first');
  await assert.rejects(
    async () => store.replace('orgs', batches(interrupted), 'next'),
    interrupted,
  );
  assert.deepEqual([...copies.orgs.keys()], ['old'], 'nothing is replaced');
  assert.equal(await store.cursor('orgs'), 'first');
});

test('verifying with Node.js', async () => {
  const file = fileOf('createServer');
  const source = await readFile(join(consumer.folder, file), 'utf8');
  const tellPort = `server.once('listening', () => console.log(server.address()));\n`;
  await consumer.write('receiver.ts', source + tellPort);

  // The secret is known only once there is a webhook, and its address only once there is a receiver.
  const { id, secret } = await client.webhooks.create({ url: 'https://receiver.test/' });
  const program = consumer.start('receiver.ts', { env: { WEBHOOK_SECRET: secret } });
  const [, port] = await program.prints(/port: (\d+)/);
  const url = `http://127.0.0.1:${port}/`;
  await client.webhooks.update(id, { url });
  await announce('Novelty');
  await program.prints(/new: Novelty/);

  const sample = await readFile(join(consumer.folder, fileOf('signWebhook')), 'utf8');
  await consumer.write('handler.test.ts', sample.replace('http://127.0.0.1:4000/', url));
  const tested = consumer.start('handler.test.ts', { env: { WEBHOOK_SECRET: secret } });
  assert.equal(await tested.ended, 0, tested.output());

  const forged = await fetch(url, { method: 'POST', body: '{}' });
  assert.equal(forged.status, 401);
  await program.prints(/rejected: missing_header/);
  await client.webhooks.delete(id);
  await program.stop();
});

test('verifying a Fetch request', async () => {
  const receiver = await startReceiver();
  const { id, secret } = await client.webhooks.create({ url: receiver.url });
  await client.webhooks.test(id);
  const { headers, body } = (await receiver.waitFor(1))[0]!;
  process.env['WEBHOOK_SECRET'] = secret;
  const file = pathToFileURL(join(consumer.folder, fileOf('function POST'))).href;
  const { POST } = (await import(file)) as { POST: (request: Request) => Promise<Response> };
  const request = new Request('http://worker.test/', { method: 'POST', headers, body });
  assert.equal((await POST(request)).status, 204);
  await client.webhooks.delete(id);
});

test('following events, and going on after a stop', async () => {
  const file = fileOf('client.events.follow');
  await announce('First');
  const { data } = await eventsUpTo('First');
  // As a crash while it is written leaves it.
  await consumer.write('cursor', '');
  const first = consumer.start(file, { env });
  await first.prints(new RegExp(data.at(-1)!.id));
  const cursor = join(consumer.folder, 'cursor');
  while ((await readFile(cursor, 'utf8').catch(() => '')) === '') await nextTurn();
  await first.stop();

  await announce('Second');
  const more = await eventsUpTo('Second');
  const second = consumer.start(file, { env });
  await second.prints(new RegExp(more.data.at(-1)!.id));
  assert.equal(second.output().trim().split('\n').length, 1, 'nothing twice');
  await second.stop();
});

test('what goes wrong', async () => {
  const program = consumer.start(fileOf('TimeoutError'));
  assert.equal(await program.ended, 0, program.output());
  assert.match(program.output(), /^unauthorized 401 \S+\n$/);
});

/** The stream once it has so many events at least. */
/** All events, once this organisation's is among them. */
async function eventsUpTo(name: string) {
  for (;;) {
    const page = await client.events.list();
    const { data } = page;
    if ((data.at(-1)?.data as { name?: string } | undefined)?.name === name) return page;
    await nextTurn();
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
