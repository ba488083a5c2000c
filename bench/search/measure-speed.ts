/** Measures searches that nobody has made before, over HTTP on several connections, without the response cache. */
import { quantile, type Figure } from '../../harness/figures.ts';
import { createClient, type Client } from '../http-client.ts';
import type { Names } from '../measure-cold.ts';
import type { Random } from '../../harness/random.ts';

const connections = 4;
const searches = 2_000;
const warmUp = 300;
const allFacets = 'facets=activity,language,recruiting,alliance,verified,status';

type Target = { port: number; key: string };
type Load = { name: string; paths: string[]; perSecond: number; p95Ms: number };

export async function measureSpeed(
  { port, key }: Target,
  names: Names,
  random: Random,
): Promise<Figure[]> {
  const clients = Array.from({ length: connections }, () => createClient(port, key));
  try {
    const figures: Figure[] = [];
    for (const load of drawLoads(names, random)) figures.push(...(await measure(clients, load)));
    return figures;
  } finally {
    for (const client of clients) client.close();
  }
}

function drawLoads(names: Names, random: Random): Load[] {
  const count = warmUp + searches;
  const search = (text: string, kind: string) => `/${kind}?search=${encodeURIComponent(text)}`;
  const suggest = (text: string) => `/suggest?q=${encodeURIComponent(text)}`;
  return [
    {
      name: 'new searches',
      paths: drawPaths(names, random, count, drawSearch, search),
      perSecond: 600,
      p95Ms: 8,
    },
    {
      name: 'new searches with a typing error',
      paths: drawPaths(names, random, count, drawTypo, search),
      perSecond: 300,
      p95Ms: 12,
    },
    {
      name: 'relaxed searches',
      paths: drawPaths(names, random, count, drawRelaxed, search),
      perSecond: 150,
      p95Ms: 32,
    },
    {
      name: 'searches with all facets and a sort',
      paths: drawPaths(names, random, count, drawSearch, (text, kind) =>
        kind === 'orgs'
          ? `${search(text, kind)}&${allFacets}&sort=-updatedAt`
          : `${search(text, kind)}&facets=category&sort=-updatedAt`,
      ),
      perSecond: 200,
      p95Ms: 15,
    },
    {
      name: 'pages of all facets without a search',
      paths: Array.from(
        { length: count },
        (_, at) => `/orgs?${allFacets}&sort=createdAt&page=${at + 1}`,
      ),
      perSecond: 200,
      p95Ms: 10,
    },
    {
      name: 'filters',
      paths: Array.from(
        { length: count },
        (_, at) => `/orgs?language=en&language=de&verified=true&memberCountMin=${at}`,
      ),
      perSecond: 200,
      p95Ms: 10,
    },
    {
      name: 'suggestions',
      paths: drawPaths(names, random, count, drawStart, suggest),
      perSecond: 600,
      p95Ms: 5,
    },
  ];
}

async function measure(clients: Client[], load: Load): Promise<Figure[]> {
  await run(clients, load.paths.slice(0, warmUp));
  const startedAt = performance.now();
  const times = await run(clients, load.paths.slice(warmUp));
  const seconds = (performance.now() - startedAt) / 1000;
  const note = `p50 ${quantile(times, 0.5).toFixed(2)} ms, slowest ${Math.max(...times).toFixed(1)} ms`;
  return [
    {
      name: `${load.name} per second`,
      reached: times.length / seconds,
      unit: '',
      asked: { atLeast: load.perSecond },
    },
    {
      name: `${load.name}, ${clients.length} at a time, p95`,
      reached: quantile(times, 0.95),
      unit: 'ms',
      asked: { atMost: load.p95Ms },
      note,
    },
  ];
}

/** The duration of each request in milliseconds. */
async function run(clients: Client[], paths: string[]): Promise<number[]> {
  const times: number[] = [];
  const waiting = paths.values();
  const send = async (client: Client) => {
    for (const path of waiting) {
      const startedAt = performance.now();
      const { status } = await client.get(`/api/v1${path}`);
      times.push(performance.now() - startedAt);
      // A checkout from before suggestions has none.
      if (status !== 200 && !(status === 404 && path.startsWith('/suggest')))
        throw new Error(`${path} answered ${status}`);
    }
  };
  await Promise.all(clients.map(send));
  return times;
}

type Draw = (name: string, random: Random) => string | null;

/** Different paths, half for each list. */
function drawPaths(
  { orgNames, blueprintNames }: Names,
  random: Random,
  count: number,
  draw: Draw,
  toPath: (text: string, kind: string) => string,
): string[] {
  const paths = new Set<string>();
  while (paths.size < count) {
    const isOrg = paths.size % 2 === 0;
    const text = draw(random.pick(isOrg ? orgNames : blueprintNames), random);
    if (text !== null) paths.add(toPath(text, isOrg ? 'orgs' : 'blueprints'));
  }
  return [...paths];
}

/** A part of a name with 3 to 12 characters or, in a third, the starts of two of its words. */
function drawSearch(name: string, random: Random): string | null {
  if (random.below(3) > 0) {
    const length = 3 + random.below(10);
    const piece = name.slice(random.below(name.length)).slice(0, length).trim();
    return piece.length < 3 ? null : piece;
  }
  const words = name.split(/\s+/);
  const first = random.pick(words).slice(0, 2 + random.below(4));
  const second = random.pick(words).slice(0, 2 + random.below(4));
  return first === second || first.length + second.length < 3 ? null : `${first} ${second}`;
}

/** A word of a name in which two neighbours are swapped, and the start of another one to make it new. */
function drawTypo(name: string, random: Random): string | null {
  const words = name.split(/\s+/);
  const word = random.pick(words);
  if (!/^[A-Za-z]{5,12}$/.test(word)) return null;
  const at = 1 + random.below(word.length - 2);
  if (word[at] === word[at + 1]) return null;
  const typo = word.slice(0, at) + word[at + 1] + word[at] + word.slice(at + 2);
  const other = random.pick(words).slice(0, 1 + random.below(5));
  return `${typo} ${other}`;
}

/** A word of a name, and one that no name has. */
function drawRelaxed(name: string, random: Random): string | null {
  const word = random.pick(name.split(/\s+/));
  const unknown = Array.from({ length: 8 }, () => random.pick('bcdfghjkqvwxz'.split(''))).join('');
  return word.length < 3 ? null : `${word} ${unknown}`;
}

/** As somebody has typed it so far. */
function drawStart(name: string, random: Random): string | null {
  const start = name.slice(0, 2 + random.below(14)).trim();
  return start.length < 2 ? null : start;
}
