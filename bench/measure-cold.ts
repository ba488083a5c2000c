/** Measures uncached reads: one request at a time, over HTTP, including the key check. */
import { quantile, type Figure } from '../harness/figures.ts';
import type { Client } from './http-client.ts';
import type { Random } from '../harness/random.ts';

const searches = 200;
const pageReads = 60;
const latePage = 4_000;

export type Names = { orgNames: string[]; blueprintNames: string[] };

export async function measureCold(client: Client, names: Names, random: Random): Promise<Figure[]> {
  const lists = ['/api/v1/orgs', '/api/v1/blueprints'];
  const asked = drawSearches(names, random);
  // Measures the second of two runs, when the code is compiled and the database has its pages in memory.
  await time(client, alternate(lists, pageReads, 'limit=20'));
  const first = await time(client, alternate(lists, pageReads, 'limit=20'));
  await time(client, drawSearches(names, random));
  const search = await time(client, asked);
  const late = await time(client, alternate(lists, pageReads, `limit=20&page=${latePage}`));
  return [
    latency('cold first page, p50', quantile(first, 0.5), 5),
    latency(`cold search, ${searches} different, p95`, quantile(search, 0.95), 25, spread(search)),
    latency(`cold page ${latePage} of 20, p95`, quantile(late, 0.95), 50),
  ];
}

function latency(name: string, reached: number, atMost: number, note = ''): Figure {
  return { name, reached, unit: 'ms', asked: { atMost }, note };
}

function spread(times: number[]): string {
  return `p50 ${quantile(times, 0.5).toFixed(1)} ms, slowest ${Math.max(...times).toFixed(1)} ms`;
}

function alternate(lists: string[], count: number, query: string): string[] {
  return Array.from({ length: count }, (_, index) => `${lists[index % lists.length]}?${query}`);
}

/** Parts of names, three to twelve characters long, half from each list. */
function drawSearches({ orgNames, blueprintNames }: Names, random: Random): string[] {
  const paths = new Set<string>();
  while (paths.size < searches) {
    const forOrgs = paths.size % 2 === 0;
    const name = random.pick(forOrgs ? orgNames : blueprintNames);
    const text = drawPiece(name, random);
    if (text === null) continue;
    paths.add(`/api/v1/${forOrgs ? 'orgs' : 'blueprints'}?search=${encodeURIComponent(text)}`);
  }
  return [...paths];
}

function drawPiece(name: string, random: Random): string | null {
  const characters = Array.from(name);
  const length = 3 + random.below(10);
  if (characters.length < length) return null;
  const start = random.below(characters.length - length + 1);
  const piece = characters.slice(start, start + length).join('');
  return piece.trim().length < 3 ? null : piece;
}

/** The duration of each request in milliseconds, up to the last byte of the response. */
async function time(client: Client, paths: string[]): Promise<number[]> {
  const times: number[] = [];
  for (const path of paths) {
    const startedAt = performance.now();
    const { status } = await client.get(path);
    times.push(performance.now() - startedAt);
    if (status !== 200) throw new Error(`${path} answered ${status}`);
  }
  return times;
}
