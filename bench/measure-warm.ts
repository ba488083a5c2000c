/**
 * Measures requests per second, as a share of a bare server that sends the same bytes. Short rounds alternate, so that
 * both see the same machine.
 */
import type { Answer } from './bare-server.ts';
import { cpuMs } from './cpu-time.ts';
import { quantile, type Figure } from '../harness/figures.ts';
import type { Client } from './http-client.ts';
import type { LoadOrder, LoadResult } from './load.ts';
import type { Started } from './start-process.ts';

const rounds = 7;
const roundMs = 1_000;
const warmUpMs = 2_000;

export type Servers = {
  service: Started;
  bare: Started;
  load: Started;
  client: Client;
  key: string;
};

export async function measureWarm(servers: Servers): Promise<Figure[]> {
  const { data } = JSON.parse((await servers.client.get('/api/v1/orgs?limit=20')).body) as {
    data: { slug: string }[];
  };
  const detail = `/api/v1/orgs/${data[10]?.slug}`;
  return [
    await compare(servers, 'warm list of 20', '/api/v1/orgs?limit=20', false),
    await compare(servers, 'warm detail', detail, false),
    await compare(servers, 'warm 304', '/api/v1/orgs?limit=20', true),
  ];
}

async function compare(
  servers: Servers,
  name: string,
  path: string,
  conditional: boolean,
): Promise<Figure> {
  const { service, bare, client, key } = servers;
  const seen = conditional ? { 'if-none-match': etagOf(await client.get(path)) } : {};
  const answer = await client.get(path, seen);
  await bare.ask({ ...answer, rawHeaders: withoutOwn(answer.rawHeaders) });
  const order = { request: requestText(path, key, seen), status: answer.status };
  await round(servers, bare, { ...order, durationMs: warmUpMs });
  await round(servers, service, { ...order, durationMs: warmUpMs });
  const ratios: number[] = [];
  const rates: Rate[][] = [];
  for (let count = 0; count < rounds; count += 1) {
    const best = await round(servers, bare, { ...order, durationMs: roundMs });
    const ours = await round(servers, service, { ...order, durationMs: roundMs });
    ratios.push(ours.perSecond / best.perSecond);
    rates.push([ours, best]);
  }
  return {
    name: `${name}, share of bare node:http`,
    reached: quantile(ratios, 0.5),
    unit: '',
    asked: { atLeast: 0.6 },
    note: `${describe(rates, 0)} of ${describe(rates, 1)} requests/s`,
  };
}

type Rate = { perSecond: number; busy: number | null };

function describe(rates: Rate[][], index: number): string {
  const chosen = rates.flatMap((pair) => pair[index] ?? []);
  const perSecond = Math.round(
    quantile(
      chosen.map((rate) => rate.perSecond),
      0.5,
    ),
  );
  const busy = chosen.flatMap((rate) => rate.busy ?? []);
  return busy.length === 0
    ? String(perSecond)
    : `${perSecond} (core ${Math.round(quantile(busy, 0.5) * 100)} % busy)`;
}

async function round(
  { load }: Servers,
  server: Started,
  order: Omit<LoadOrder, 'port'>,
): Promise<Rate> {
  // If the server was not busy, the client was the bottleneck.
  const before = await cpuMs(server.pid);
  const result = await load.ask<LoadResult>({ ...order, port: server.port });
  if (result.fault !== null) throw new Error(result.fault);
  const after = await cpuMs(server.pid);
  return {
    perSecond: (result.answers * 1000) / result.elapsedMs,
    busy: before === null || after === null ? null : (after - before) / result.elapsedMs,
  };
}

function etagOf({ rawHeaders }: Answer): string {
  const index = rawHeaders.findIndex((name) => name.toLowerCase() === 'etag');
  return rawHeaders[index + 1] ?? '';
}

/** Node's server adds these itself, in the service and in the bare server. */
function withoutOwn(rawHeaders: string[]): string[] {
  const own = new Set(['date', 'connection', 'keep-alive']);
  return rawHeaders.filter((_, index) => {
    const name = rawHeaders[index - (index % 2)] ?? '';
    return !own.has(name.toLowerCase());
  });
}

function requestText(path: string, key: string, headers: Record<string, string>): string {
  const lines = Object.entries({ host: '127.0.0.1', authorization: `Bearer ${key}`, ...headers });
  return `GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}
