/**
 * npm run bench:streams: a thousand live streams of events in one process: the memory that they take, and how long an event takes
 * from its distribution to a stream. `--workers 2` distributes in processes of their own, `--postgres` uses Debian's PostgreSQL 15.
 * Exits with 1 if a target is missed. Linux only, because streams come from many addresses of this machine.
 */
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { isReached, printFigures, quantile } from '../harness/figures.ts';
import { createApp } from '../service/src/access/apps.ts';
import { createKey, createPlatformKey } from '../service/src/access/keys.ts';
import { sql, type Database } from '../service/src/database/database.ts';
import { streamsPerAddressMax, streamsPerAppMax } from '../service/src/http/v1/event-streams.ts';
import { startSystem } from './delivery-load/system.ts';
import { log } from './directory-world.ts';
import { runUntilInterrupted } from './run-until-interrupted.ts';
import { now } from './wall-clock.ts';
import { makeWorkFolder } from './work-folder.ts';

const { values: options } = parseArgs({
  options: {
    streams: { type: 'string', default: '1000' },
    events: { type: 'string', default: '60' },
    perSecond: { type: 'string', default: '4' },
    workers: { type: 'string', default: '1' },
    /** Debian's PostgreSQL 15 instead of the embedded database. */
    postgres: { type: 'boolean', default: false },
  },
});
const streams = Number(options.streams);
const events = Number(options.events);
const appsPerOwner = 10;
const actor = { kind: 'system', id: null, name: 'bench' } as const;
/** Garbage of the start, and of opening, is collected by then. */
const settleMs = 20_000;

const cleanUps = new AsyncDisposableStack();
await runUntilInterrupted(cleanUps, run);

async function run(): Promise<void> {
  const folder = await makeWorkFolder();
  cleanUps.defer(() => rm(folder, { recursive: true, force: true }));
  const system = await startSystem(
    {
      name: 'here',
      checkout: join(import.meta.dirname, '..'),
      folder: join(folder, 'here'),
      postgresSettings: options.postgres ? [] : null,
      workers: Number(options.workers),
      observesWork: false,
    },
    cleanUps,
  );
  const keys = await makeKeys(system.database, Math.ceil(streams / streamsPerAppMax));
  const platformKey = await system.database
    .transaction()
    .execute((tx) => createPlatformKey(tx, actor, { name: 'Bench', expiresAt: null }));
  const call = (method: string, path: string, json: object) =>
    write(`${system.internalUrl}/internal/v1${path}`, platformKey.key, method, json);
  await call('PUT', '/orgs/acme', { name: 'Acme' });
  await wait(settleMs);
  const before = await system.residentMib();
  const arrivals: Arrival[] = [];
  for (let index = 0; index < streams; index += 1) {
    const key = keys[Math.floor(index / streamsPerAppMax)] ?? '';
    const socket = await open(system.url, key, index, arrivals);
    cleanUps.defer(async () => void socket.destroy());
  }
  log(`${streams} streams are open`);
  await wait(settleMs);
  const after = await system.residentMib();
  for (let count = 0; count < events; count += 1) {
    await call('POST', '/events', { event: 'org.created', org: 'acme' });
    await wait(1_000 / Number(options.perSecond));
  }
  await wait(2_000);
  const latencies = await latenciesOf(system.database, arrivals);
  const figures = [
    {
      name: `memory of ${streams} streams`,
      reached: after - before,
      unit: 'MiB',
      asked: { atMost: 50 },
    },
    {
      name: 'events that arrived',
      reached: latencies.length / (events * streams),
      unit: '',
      asked: { atLeast: 1 },
    },
    {
      name: 'from distribution to arrival, p50',
      reached: quantile(latencies, 0.5),
      unit: 'ms',
      asked: { atMost: 20 },
    },
    {
      name: 'from distribution to arrival, p99',
      reached: quantile(latencies, 0.99),
      unit: 'ms',
      asked: { atMost: 100 },
    },
    {
      name: 'memory after the events',
      reached: (await system.residentMib()) - before,
      unit: 'MiB',
      asked: { atMost: 100 },
    },
  ];
  printFigures(figures);
  if (!figures.every(isReached)) process.exitCode = 1;
}

async function makeKeys(database: Database, count: number): Promise<string[]> {
  const keys: string[] = [];
  await database.transaction().execute(async (tx) => {
    while (keys.length < count) {
      const owner = `bench-${Math.floor(keys.length / appsPerOwner)}@example.org`;
      const appId = await createApp(tx, actor, { name: 'Bench', owner });
      const scopes = ['read:events'];
      keys.push(
        (await createKey(tx, actor, { appId, name: 'Bench', scopes, expiresAt: null })).key,
      );
    }
  });
  return keys;
}

type Arrival = { at: number; chunk: Buffer };

/** Notes when each chunk arrives, and no more: reading it would delay the others. */
async function open(url: string, key: string, index: number, arrivals: Arrival[]): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const localAddress = `127.0.1.${1 + Math.floor(index / streamsPerAddressMax)}`;
  const socket = connect({ host: hostname, port: Number(port), localAddress });
  socket.write(
    `GET /api/v1/events/stream HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\n\r\n`,
  );
  const [head] = (await once(socket, 'data')) as [Buffer];
  if (!head.toString().startsWith('HTTP/1.1 200')) throw new Error(head.toString());
  socket.on('data', (chunk: Buffer) => arrivals.push({ at: now(), chunk }));
  return socket;
}

async function write(url: string, key: string, method: string, json: object): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await fetch(url, { method, headers, body: JSON.stringify(json) });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
}

/** In milliseconds, by the one clock of this machine. */
async function latenciesOf(database: Database, arrivals: Arrival[]): Promise<number[]> {
  const all = arrivals.flatMap(({ at, chunk }) =>
    [...chunk.toString().matchAll(/^data: \{"id":"([^"]+)"/gm)].map(([, id = '']) => ({ id, at })),
  );
  const { rows } = await sql<{ id: string; atMs: number }>`
    select id, (extract(epoch from fanned_out_at) * 1000)::float8 as "atMs" from events
    where id = any(${[...new Set(all.map(({ id }) => id))]}::uuid[])
  `.execute(database);
  const distributedAt = new Map(rows.map(({ id, atMs }) => [id, atMs]));
  return all.map(({ id, at }) => at - (distributedAt.get(id) ?? 0));
}
