/**
 * Clients that ask for what is large, or streamed, and read nothing: the memory that they hold in a process of its own, and
 * their end. The routes are all that the API descriptions have, on every listener, and the files of the pages; those of
 * whose responses nothing waits, because the clients' kernels take them whole, are left out. Takes minutes, so it runs only
 * if `READERS` says how many for each route: 500 come to one route at a time, and fewer to several at once.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { setInterval as every } from 'node:timers/promises';
import { createPlatformKey } from '../../src/access/keys.ts';
import { sql } from '../../src/database/database.ts';
import { createPasswordLink } from '../../src/sign-in/password-links.ts';
import { testActor } from '../support/actor.ts';
import { toUrl } from '../support/database.ts';
import { blueprint, put } from '../support/directory.ts';
import { internalOpenApiFile, openApiFile, portalOpenApiFile } from '../support/openapi-file.ts';
import { cookiesOf, password, personOf, postPortal, type Person } from '../support/portal.ts';
import { makeKey, startTestService, testPublicUrl } from '../support/service.ts';
import { startProcess } from '../support/start-process.ts';

const readersPerRoute = Number(process.env['READERS'] ?? 0);
const extraMibMax = 50;
const closedWithinMs = 60_000;
/** More connections than this would weigh more by themselves than what waits in them. */
const readersAtOnceMax = 500;
/** More than a client's kernel takes. */
const largeBytes = 200 * 1024;
/** `DATA_BYTES=65000` is the largest that an event can have. */
const dataBytes = Number(process.env['DATA_BYTES'] ?? 10_000);
const skip =
  process.platform === 'linux' && readersPerRoute > 0
    ? false
    : 'it runs on Linux if READERS says how many';

const local = await startTestService({ env: { TRUST_PROXY: '127.0.0.0/8' } });
const { database, connection, secretKeys } = local;
const count = 100;
const numbers = Array.from({ length: count }, (_, index) => index);
const description = 'd'.repeat(2_000);
await put(
  database,
  'alliances',
  numbers.map((index) => ({ slug: `alliance-${index}`, name: `Alliance ${index}`, description })),
);
await put(
  database,
  'orgs',
  Array.from({ length: 25 * count }, (_, index) => ({
    slug: `org-${index}`,
    name: `Org ${index < count ? 'A' : 'Z'} ${index}`,
    alliance: 'alliance-0',
    ...(index < count && { description }),
  })),
);
await put(
  database,
  'blueprints',
  numbers.map((index) => blueprint({ key: `item_${index}`, slug: `item-${index}`, description })),
);
const owner = await join(0);
const { appId, key } = await makeKey(local, { owner: owner.email });
/** One for each export: another one of the account at the same time is refused. */
const people = [owner];
while (people.length < Math.min(readersPerRoute, 10)) people.push(await join(people.length));
await sql`
  insert into org_managers (org_id, email)
  select id, 'm' || n || '@example.org' from orgs, generate_series(1, 15000) n where slug = 'org-0'
`.execute(database);
await sql`
  insert into org_managers (org_id, email) select id, ${owner.email} from orgs
`.execute(database);
await sql`
  insert into alliance_managers (alliance_id, email)
  select id, 'm' || n || '@example.org' from alliances, generate_series(1, 15000) n where slug = 'alliance-0'
`.execute(database);
await sql`
  insert into app_members (app_id, email, role)
  select ${appId}, u.email, 'viewer' from users u where u.email <> ${owner.email}
`.execute(database);
// Larger than what the kernel takes at once, for everybody's export.
await sql`
  insert into api_keys (id, app_id, name, hash, last4, scopes, revoked_at)
  select uuid_v7(), ${appId}, repeat('n', 2500), sha256(n::text::bytea), 'xxxx', array['read:events'], now()
  from generate_series(1, 2000) n
`.execute(database);
await sql`
  insert into webhooks (id, app_id, url, description, secret, active, deactivated_at, deactivated_reason)
  select uuid_v7(), ${appId}, 'https://example.org/' || repeat('x', 1500), repeat('d', 200), '', false, now(), 'owner'
  from generate_series(1, 20)
`.execute(database);
await sql`
  insert into events (id, name, audience, data, created_at, position)
  select uuid_v7(), 'org.created', 'global', jsonb_build_object('text', repeat('x', ${dataBytes}::int))::text, now(), nextval('event_positions')
  from generate_series(1, ${count}::int)
`.execute(database);
await sql`
  insert into deliveries (id, event_id, event, webhook_id, status, attempt_count, created_at)
  select uuid_v7(), e.id, e.name, (select min(id::text)::uuid from webhooks), 'failed', 0, now() from events e
`.execute(database);
await sql`
  insert into audit_log (actor_kind, actor_id, actor_name, action, subject_kind, subject_id, app_id, details)
  select 'user', u.id::text, u.email, a.action, a.kind, u.id::text, ${appId}, jsonb_build_object('name', repeat('n', 1000))
  from users u, generate_series(1, ${count}::int) n, (values ('key.created', 'key'), ('account.name_changed', 'account')) as a (action, kind)
`.execute(database);
const { key: platformKey } = await database
  .transaction()
  .execute((tx) => createPlatformKey(tx, testActor, { name: 'Platform', expiresAt: null }));

const { command, url, internalUrl } = await startProcess('api', {
  DATABASE_URL: toUrl(connection),
  SECRET_KEY: (secretKeys[0] ?? randomBytes(32)).toString('base64'),
  PUBLIC_URL: testPublicUrl,
  RATE_LIMIT_PER_MINUTE: '0',
});

/** From an address of their own, because each address may sign up a few only. */
async function join(number: number): Promise<Person> {
  const email = `p${number}@example.org`;
  const headers = { 'x-forwarded-for': `10.0.0.${number}` };
  const { token } = await createPasswordLink(database, email);
  await postPortal(local, '/password', { token, password, name: email }, { headers });
  const signedIn = await postPortal(local, '/sign-in', { email, password }, { headers });
  return personOf(local, email, cookiesOf(signedIn));
}

type Route = {
  base: string;
  path: string;
  headers: Record<string, string>;
  /** How often it is asked for at once. */
  times?: number;
};
type Operation = { parameters?: { name?: string; in?: string; required?: boolean }[] };

const { rows: deliveries } = await sql<{ id: string; deliveryId: string; eventId: string }>`
  select webhook_id as id, id as "deliveryId", event_id as "eventId" from deliveries limit 1
`.execute(database);
const named: Record<string, string> = { appId, key: 'item_0', q: 'item', ...deliveries[0] };

function valueOf(path: string, name: string): string {
  if (name !== 'slug') return named[name] ?? 'none';
  return path.includes('/orgs') ? 'org-0' : path.includes('/alliances') ? 'alliance-0' : 'item-0';
}

/** Every GET operation of a description, with the longest pages. */
async function describedIn(file: URL, base: string, headers: Route['headers']): Promise<Route[]> {
  const { paths } = JSON.parse(await readFile(file, 'utf8')) as {
    paths: Record<string, Operation & { get?: Operation }>;
  };
  return Object.entries(paths).flatMap(([path, { parameters = [], get }]) => {
    if (!get) return [];
    const query = new URLSearchParams();
    for (const { name = '', in: place, required } of [...parameters, ...(get.parameters ?? [])]) {
      if (name === 'limit') query.set(name, String(count));
      else if (place === 'query' && required) query.set(name, valueOf(path, name));
    }
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => valueOf(path, name));
    return [{ base, path: `${filled}?${query.toString()}`, headers }];
  });
}

/** The files of the pages. */
function filesIn(folder: string, prefix: string): Route[] {
  const names = readdirSync(new URL(`../../../${folder}`, import.meta.url));
  return names
    .filter((name) => !/\.(gz|br|map)$/.test(name))
    .map((name) => ({ base: url, path: `${prefix}${name}`, headers: {} }));
}

const withKey = (value: string) => ({ authorization: `Bearer ${value}` });
const exportPath = '/portal/api/account/export?';
const all = [
  ...(await describedIn(openApiFile, url, withKey(key))),
  ...(await describedIn(portalOpenApiFile, url, owner.credentials)),
  ...(await describedIn(internalOpenApiFile, internalUrl, withKey(platformKey))),
  ...filesIn('portal/dist/assets/', '/profile/developer/assets/'),
  ...filesIn('docs/dist/assets/', '/docs/assets/'),
  ...filesIn('client/download/', '/client/'),
  ...['/', '/docs', '/status', '/profile/developer'].map((path) => ({
    base: url,
    path,
    headers: {},
  })),
  { base: internalUrl, path: '/metrics', headers: {} },
  { base: url, path: '/api/v1/orgs/org-0', headers: withKey(key), times: 200 },
];

/** Of a successful response. */
async function sizeOf({ base, path, headers, times = 1 }: Route): Promise<number> {
  const response = await fetch(base + path, { headers });
  const { byteLength } = await response.arrayBuffer();
  return response.ok ? byteLength * times : 0;
}

/** The smallest first, because what a process has once had of memory it keeps. */
async function findLarge(): Promise<Route[]> {
  const found: (Route & { bytes: number })[] = [];
  for (const route of all) found.push(Object.assign(route, { bytes: await sizeOf(route) }));
  return found.filter(({ bytes }) => bytes >= largeBytes).toSorted((a, b) => a.bytes - b.bytes);
}

/** A few at a time: what many responses take while they are made is not about their readers. */
async function inTurns(readers: Route[], act: (route: Route, index: number) => Promise<void>) {
  const left = readers.entries();
  const turns = Array.from({ length: 5 }, async () => {
    for (const [index, route] of left) await act(route, index);
  });
  await Promise.all(turns);
}

/** Resolves when the response has begun. */
function stall({ base, path, headers, times = 1 }: Route): Promise<Socket> {
  const { hostname, port } = new URL(base);
  const lines = Object.entries({ host: '127.0.0.1', ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    socket.on('error', reject);
    socket.write([`GET ${path} HTTP/1.1`, ...lines, '', ''].join('\r\n').repeat(times));
    socket.once('readable', () => resolve(socket));
  });
}

async function residentMib(): Promise<number> {
  const status = await readFile(`/proc/${command.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
}

/**
 * Of these connections, by both ports, because another process may soon use a client's. A client that reads nothing does not
 * learn of its own end.
 */
async function findOpen(connections: Set<string>): Promise<Set<string>> {
  const established = '01';
  const lines = (await readFile('/proc/net/tcp', 'latin1')).split('\n').slice(1);
  const open = lines.flatMap((line) => {
    const [, from = '', to = '', state] = line.trim().split(/\s+/, 4);
    return state === established ? nameOf(portIn(from), portIn(to)) : [];
  });
  return new Set(open.filter((each) => connections.has(each)));
}

function portIn(address: string): number {
  return Number.parseInt(address.slice(9), 16);
}

function nameOf(from: number | undefined, to: number | undefined): string {
  return `${from}-${to}`;
}

/** As many clients for each route; of an export no more than there are accounts. */
function readersOf(routes: Route[]): Route[] {
  return routes.flatMap((route) =>
    route.path === exportPath
      ? people.map(({ credentials: headers }) => ({ base: route.base, path: route.path, headers }))
      : Array.from({ length: readersPerRoute }, () => route),
  );
}

/** The most memory before the clients came and with them, and the paths of those that keep their connections for too long. */
async function stallAll(readers: Route[]) {
  // As many clients that read. Twice, so that the heap has its size.
  let before = 0;
  for (let pass = 0; pass < 2; pass += 1)
    await inTurns(readers, async (route) => {
      assert.ok((await sizeOf(route)) >= largeBytes, route.path);
      before = Math.max(before, await residentMib());
    });
  const sockets: Socket[] = [];
  let most = 0;
  await inTurns(readers, async (route, index) => {
    sockets[index] = await stall(route);
    most = Math.max(most, await residentMib());
  });
  const startedAt = performance.now();
  const names = sockets.map(({ localPort, remotePort }) => nameOf(localPort, remotePort));
  let left = new Set(names);
  for await (const _ of every(250)) {
    most = Math.max(most, await residentMib());
    left = await findOpen(left);
    const isLate = performance.now() - startedAt > closedWithinMs;
    if (isLate || left.size === 0) break;
  }
  const open = names.flatMap((name, index) => (left.has(name) ? [readers[index]?.path] : []));
  sockets.forEach((socket) => socket.destroy());
  const seconds = (performance.now() - startedAt) / 1_000;
  return { before, most, seconds, open: [...new Set(open)] };
}

test(
  'clients that read nothing hold little memory, and all lose their connections',
  { skip },
  async () => {
    const routes = await findLarge();
    const paths = routes.map(({ path }) => path.split('?')[0] ?? '');
    // A route that became small by mistake would show nothing.
    for (const path of ['/api/v1/events', '/portal/api/account/export', '/internal/v1/orgs'])
      assert.ok(paths.includes(path), path);
    assert.ok(paths.length >= 10, paths.join(' '));
    const atOnce = Math.max(1, Math.floor(readersAtOnceMax / readersPerRoute));
    while (routes.length > 0) {
      const readers = readersOf(routes.splice(0, atOnce));
      const { before, most, seconds, open } = await stallAll(readers);
      const batch = [...new Set(readers.map(({ path }) => path))];
      console.log(JSON.stringify({ readers: readers.length, before, most, seconds, batch }));
      assert.ok(
        most - before <= extraMibMax,
        `${before} MiB, then ${most} MiB: ${batch.join(' ')}`,
      );
      assert.deepEqual(open, []);
    }
  },
);
