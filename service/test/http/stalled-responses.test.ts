/** Responses that clients do not read, over real sockets. What the kernel has taken is no longer Node's. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { after, test } from 'node:test';
import { setInterval as every } from 'node:timers/promises';
import fastify from 'fastify';
import { endStalledResponses } from '../../src/http/connections/end-stalled.ts';

const mib = 1024 * 1024;
const rules = { windowMs: 1_000, checkEveryMs: 200 };

/** A server whose responses are of this size. `/never` does not respond. */
async function start(bytes: number, given = rules) {
  const app = fastify({ forceCloseConnections: true });
  endStalledResponses(app, given);
  const page = Buffer.alloc(bytes, 'x');
  app.get('/page', async () => page);
  app.get('/stream', async () => Readable.from(pieces(bytes), { objectMode: false }));
  const waiting: (() => void)[] = [];
  app.get('/never', (_request, reply) => void waiting.push(() => void reply.send('done')));
  const sockets: Socket[] = [];
  app.server.on('connection', (socket) => void sockets.push(socket));
  await app.listen({ host: '127.0.0.1', port: 0 });
  after(() => app.close());
  const { port } = app.server.address() as { port: number };
  /** A client that reads nothing by itself, and the server's side of its connection. */
  async function ask(path: string): Promise<{ client: Socket; served: Socket }> {
    const client = connect(port, '127.0.0.1');
    client.on('error', () => {});
    const [[served]] = await Promise.all([
      once(app.server, 'connection') as Promise<[Socket]>,
      once(client, 'connect'),
    ]);
    client.pause();
    client.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    return { client, served };
  }
  return { ask, respond: () => waiting.forEach((each) => each()) };
}

async function* pieces(bytes: number) {
  for (let sent = 0; sent < bytes; sent += 64 * 1024) yield Buffer.alloc(64 * 1024, 'x');
}

test('a connection whose client reads nothing is ended, at once a page and a stream', async () => {
  const { ask } = await start(16 * mib);
  const asked = await Promise.all([ask('/page'), ask('/stream'), ask('/page')]);
  await Promise.all(asked.map(({ served }) => once(served, 'close')));
});

test('a response that the kernel has taken waits too', async () => {
  const { ask } = await start(mib);
  const { served } = await ask('/page');
  await once(served, 'close');
});

test('a slow client keeps its connection, although the kernel takes nothing from Node for long', async () => {
  // Client and server share a process, and a pause of it must not look like a client that reads nothing.
  const windowMs = 3_000;
  const { ask } = await start(16 * mib, { ...rules, windowMs });
  const { client, served } = await ask('/page');
  const startedAt = performance.now();
  let read = 0;
  // Node gets room in the kernel's buffer only after megabytes.
  for await (const _ of every(50)) {
    read += client.read()?.length ?? 0;
    client.pause();
    if (performance.now() - startedAt > 3 * windowMs) break;
  }
  assert.ok(read > 0 && read < 16 * mib, `${read} bytes`);
  assert.equal(served.destroyed, false);
  // Then it stops reading.
  await once(served, 'close');
});

test('a request that takes long has nothing to send, and is not ended', async () => {
  const { ask, respond } = await start(1);
  const [quiet, stalled] = [await ask('/never'), await start(16 * mib).then((s) => s.ask('/page'))];
  await once(stalled.served, 'close');
  assert.equal(quiet.served.destroyed, false);
  respond();
  quiet.client.resume();
  const [text] = await once(quiet.client, 'data');
  assert.match(String(text), /done$/);
});

test('while too much waits, the clients that have read nothing for longest give way, and a reader gets all', async () => {
  const { ask } = await start(8 * mib, { ...rules, windowMs: 30_000 });
  const reader = await ask('/page');
  let bytes = 0;
  const stalled: Awaited<ReturnType<typeof ask>>[] = [];
  for (let count = 0; count < 6; count += 1) stalled.push(await ask('/page'));
  const held = () =>
    stalled.reduce((sum, { served }) => sum + (served.destroyed ? 0 : served.writableLength), 0);
  for await (const _ of every(10)) {
    bytes += reader.client.read()?.length ?? 0;
    if (bytes > 8 * mib && held() <= 32 * mib) break;
  }
  assert.ok(stalled.some(({ served }) => !served.destroyed));
});

test('while too much waits, slow clients keep their connections, although the kernel takes nothing from Node for long', async () => {
  const { ask } = await start(8 * mib, { ...rules, windowMs: 30_000 });
  const readers = [await ask('/page'), await ask('/page')] as const;
  const stalled: Awaited<ReturnType<typeof ask>>[] = [];
  const held = () => stalled.filter(({ served }) => !served.destroyed).length * 8 * mib;
  let rounds = 0;
  for await (const _ of every(100)) {
    rounds += 1;
    readers[0].client.read();
    // Longer than others may be idle, and in the next round they are not.
    if (rounds % 15 === 0) readers[1].client.read();
    if (rounds > 40 && stalled.length < 6) stalled.push(await ask('/page'));
    for (const { served } of readers) assert.equal(served.destroyed, false);
    if (stalled.length === 6 && held() + 2 * 8 * mib <= 32 * mib) break;
  }
});
