/**
 * Hundreds of clients that ask for what is large, or streamed, and read nothing: the memory that they hold in a process of
 * its own, and their end. Takes minutes and a quiet machine, so it runs only if asked: `READERS=500` for each route.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { setInterval as every } from 'node:timers/promises';
import { createPlatformKey } from '../../src/access/keys.ts';
import { sql } from '../../src/database/database.ts';
import { testActor } from '../support/actor.ts';
import { toUrl } from '../support/database.ts';
import { put } from '../support/directory.ts';
import { signUp } from '../support/portal.ts';
import { makeKey, startTestService, testPublicUrl } from '../support/service.ts';
import { startProcess } from '../support/start-process.ts';

const readersPerRoute = Number(process.env['READERS'] ?? 0);
const extraMibMax = 50;
/** `DATA_BYTES=65000` is the largest that an event can have. */
const dataBytes = Number(process.env['DATA_BYTES'] ?? 10_000);
const closedWithinMs = 60_000;
const skip =
  process.platform === 'linux' && readersPerRoute > 0
    ? false
    : 'it runs on Linux if READERS says how many';

const local = await startTestService();
const { database, connection, secretKeys } = local;
const description = 'd'.repeat(2_000);
await put(
  database,
  'orgs',
  Array.from({ length: 100 }, (_, index) => ({
    slug: `org-${index}`,
    name: `Org ${index}`,
    description,
  })),
);
await sql`
  insert into events (id, name, audience, data, created_at, position)
  select uuid_v7(), 'org.created', 'global', jsonb_build_object('text', repeat('x', ${dataBytes}::int))::text, now(), nextval('event_positions')
  from generate_series(1, 100)
`.execute(database);
const people = [];
for (let count = 0; count < 5; count += 1)
  people.push(await signUp(local, `p${count}@example.org`));
await sql`
  insert into audit_log (actor_kind, actor_id, actor_name, action, subject_kind, subject_id, details)
  select 'user', u.id::text, u.email, 'key.created', 'key', n::text, jsonb_build_object('name', repeat('n', 1000))
  from users u, generate_series(1, 8000) n
`.execute(database);
const { key: platformKey } = await database
  .transaction()
  .execute((tx) => createPlatformKey(tx, testActor, { name: 'Platform', expiresAt: null }));
const { key } = await makeKey(local);

const { command, url, internalUrl } = await startProcess('api', {
  DATABASE_URL: toUrl(connection),
  SECRET_KEY: (secretKeys[0] ?? randomBytes(32)).toString('base64'),
  PUBLIC_URL: testPublicUrl,
  RATE_LIMIT_PER_MINUTE: '0',
});

const withKey = (value: string) => ({ authorization: `Bearer ${value}` });
/** Larger than what the clients' kernels take for them: of the rest nothing waits. */
const routes = [
  { base: url, path: '/api/v1/events?limit=100', headers: withKey(key) },
  { base: url, path: '/api/v1/orgs?limit=100', headers: withKey(key) },
  { base: internalUrl, path: '/internal/v1/orgs?limit=100', headers: withKey(platformKey) },
];
/** One for each account: another one at the same time is refused. */
const exports = people.map(({ credentials }) => ({
  base: url,
  path: '/portal/api/account/export',
  headers: credentials,
}));
type Route = { base: string; path: string; headers: Record<string, string> };

/** A few at a time: what many responses take while they are made is not about their readers. */
async function inTurns(all: Route[], act: (route: Route, index: number) => Promise<void>) {
  const left = all.entries();
  const turns = Array.from({ length: 5 }, async () => {
    for (const [index, route] of left) await act(route, index);
  });
  await Promise.all(turns);
}

/** Resolves when the response has begun. */
function stall({ base, path, headers }: Route): Promise<Socket> {
  const { hostname, port } = new URL(base);
  const lines = Object.entries({ host: '127.0.0.1', ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    socket.on('error', reject);
    socket.write([`GET ${path} HTTP/1.1`, ...lines, '', ''].join('\r\n'));
    socket.once('readable', () => resolve(socket));
  });
}

async function residentMib(): Promise<number> {
  const status = await readFile(`/proc/${command.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
}

/** Of these connections, by the clients' ports. A client that reads nothing does not learn of its own end. */
async function findOpen(ports: Set<number | undefined>): Promise<Set<number | undefined>> {
  const established = '01';
  const lines = (await readFile('/proc/net/tcp', 'latin1')).split('\n').slice(1);
  const open = lines.map((line) => {
    const [, address = '', , state] = line.trim().split(/\s+/, 4);
    return state === established ? Number.parseInt(address.slice(9), 16) : undefined;
  });
  return new Set(open.filter((port) => port !== undefined && ports.has(port)));
}

test(
  'clients that read nothing hold little memory, and all lose their connections',
  { skip },
  async () => {
    // As many clients that read.
    let before = 0;
    const readers = [...exports, ...Array.from({ length: readersPerRoute }, () => routes).flat()];
    // Twice, so that the heap has its size.
    await inTurns([...readers, ...readers], async ({ base, path, headers }) => {
      const response = await fetch(base + path, { headers });
      assert.equal(response.status, 200, path);
      await response.arrayBuffer();
      before = Math.max(before, await residentMib());
    });
    const sockets: Socket[] = [];
    let most = 0;
    await inTurns(readers, async (route, index) => {
      sockets[index] = await stall(route);
      most = Math.max(most, await residentMib());
    });
    const startedAt = performance.now();
    const ports = new Set(sockets.map(({ localPort }) => localPort));
    let left = ports;
    for await (const _ of every(250)) {
      most = Math.max(most, await residentMib());
      left = await findOpen(ports);
      const isLate = performance.now() - startedAt > closedWithinMs;
      if (isLate || left.size === 0) break;
    }
    const open = sockets.flatMap(({ localPort }, index) =>
      left.has(localPort) ? [readers[index]?.path] : [],
    );
    sockets.forEach((socket) => socket.destroy());
    const seconds = (performance.now() - startedAt) / 1_000;
    console.log(JSON.stringify({ readers: sockets.length, before, most, seconds }));
    assert.ok(most - before <= extraMibMax, `${before} MiB, then ${most} MiB`);
    assert.deepEqual([...new Set(open)], []);
  },
);
