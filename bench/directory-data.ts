/**
 * Generates a large directory from real names, companies of the public IEEE registry and Minecraft's recipes, combined in
 * pairs. Writes the import format; `read.ts` imports it.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createRandom, type Random } from '../harness/random.ts';

export type DirectoryFiles = {
  alliances: string;
  /** Two parts: the import of the first one is timed. */
  firstOrgs: string;
  otherOrgs: string;
  blueprints: string;
  /** Public names, for search texts. */
  orgNames: string[];
  blueprintNames: string[];
};
export type DirectorySize = { orgs: number; firstOrgs: number; blueprints: number };

type SourceOrg = {
  name: string;
  country?: string;
  location?: string | null;
  size?: number;
  memberCount?: number;
};
type Recipe = {
  key: string;
  name: string;
  category: string;
  output: { item: string; name: string; quantity: number };
  ingredients: { item: string; name: string; quantity: number }[];
  version: string;
};

const demo = join(import.meta.dirname, '../demo');
const shared = join(import.meta.dirname, '../../shared/data');
const activities = [
  'electronics',
  'technology',
  'communications',
  'manufacturing',
  'research',
  null,
];
const languages = ['en', 'de', 'fr', 'ja', 'pt-BR', null];

export async function makeDirectory(folder: string, size: DirectorySize): Promise<DirectoryFiles> {
  const random = createRandom(20_26);
  const alliances = await readLines<{ slug: string }>(join(demo, 'alliances.ndjson'));
  const sources = await readEither<SourceOrg>('organisations.ndjson', 'orgs.ndjson');
  const recipes = await readEither<Recipe>('recipes-1.21.4.ndjson', 'blueprints.ndjson');
  const orgs = Array.from({ length: size.orgs }, () => makeOrg(random, sources, alliances));
  const blueprints = makeBlueprints(random, recipes, size.blueprints);
  return {
    alliances: await writeLines(folder, 'alliances.ndjson', alliances),
    firstOrgs: await writeLines(folder, 'orgs-first.ndjson', orgs.slice(0, size.firstOrgs)),
    otherOrgs: await writeLines(folder, 'orgs-other.ndjson', orgs.slice(size.firstOrgs)),
    blueprints: await writeLines(folder, 'blueprints.ndjson', blueprints),
    orgNames: orgs.filter(({ listed }) => listed).map(({ name }) => name),
    blueprintNames: blueprints.map(({ name }) => name),
  };
}

/** The first half of one name and the second half of another: `Wuxi Sunning` and `Devices Co., Ltd`. */
function makeOrg(random: Random, sources: SourceOrg[], alliances: { slug: string }[]) {
  const [first, second] = [random.pick(sources), random.pick(sources)];
  const members = first.size ?? first.memberCount ?? 1;
  const place = first.country ?? first.location ?? 'Private';
  return {
    name: `${half(first.name, 'first')} ${half(second.name, 'second')}`.slice(0, 200),
    tag: random.below(3) === 0 ? first.name.replace(/[^A-Za-z]/g, '').slice(0, 4) || null : null,
    description: `Holds ${members} address ${members === 1 ? 'block' : 'blocks'} in the public IEEE registry.`,
    primaryActivity: random.pick(activities),
    secondaryActivity: random.pick(activities),
    language: random.pick(languages),
    recruiting: random.below(4) === 0,
    location: place === 'Private' ? null : place,
    memberCount: members + random.below(500),
    alliance: random.below(5) < 2 ? random.pick(alliances).slug : null,
    links: { website: `https://www.example.org/${random.below(1e9)}` },
    verified: random.below(10) === 0,
    listed: random.below(20) > 0,
  };
}

function half(name: string, which: 'first' | 'second'): string {
  const words = name.split(/\s+/);
  const middle = Math.ceil(words.length / 2);
  return (which === 'first' ? words.slice(0, middle) : words.slice(middle)).join(' ') || name;
}

/** Pairs of recipes, each pair once: `Polished Granite Oak Boat`, out of what both need. */
function makeBlueprints(random: Random, recipes: Recipe[], count: number) {
  const step = Math.floor(recipes.length ** 2 / count);
  return Array.from({ length: count }, (_, index) => {
    const pair = index * step;
    const first = recipes[Math.floor(pair / recipes.length)] as Recipe;
    const second = recipes[pair % recipes.length] as Recipe;
    const key = `${first.key}_${second.key}`;
    const name = `${first.name} ${second.name}`;
    return {
      key,
      name,
      category: first.category,
      output: { item: key, name, quantity: second.output.quantity },
      craftTimeSeconds: random.below(600),
      ingredients: [...first.ingredients, ...second.ingredients],
      sources: [{ kind: 'recipe', name: second.category }],
      version: first.version,
      active: random.below(20) > 0,
    };
  });
}

/** The names of real organisations. */
export async function readNames(): Promise<string[]> {
  const sources = await readEither<SourceOrg>('organisations.ndjson', 'orgs.ndjson');
  return sources.map(({ name }) => name);
}

async function readEither<T>(sharedName: string, demoName: string): Promise<T[]> {
  return readLines<T>(join(shared, sharedName)).catch(() => readLines<T>(join(demo, demoName)));
}

async function readLines<T>(file: string): Promise<T[]> {
  const text = await readFile(file, 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as T);
}

async function writeLines(folder: string, name: string, entries: object[]): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  return file;
}
