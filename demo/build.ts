/**
 * Generates the demo's files from real names: companies of the public IEEE registry by country, and Minecraft's recipes.
 * npm run demo:build -- DIR, with the folder of the source files.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const orgsWanted = 320;
const here = import.meta.dirname;
const source = process.argv[2] ?? join(here, '../../shared/data');

type SourceOrg = { name: string; country: string; size: number };
type SourceAlliance = { name: string; members: string[] };
type Recipe = {
  key: string;
  name: string;
  category: string;
  output: object;
  ingredients: { item: string; name: string; quantity: number }[];
  version: string;
};

const organisations = await readLines<SourceOrg>('organisations.ndjson');
const alliances = await readLines<SourceAlliance>('alliances.ndjson');
const recipes = await readLines<Recipe>('recipes-1.21.4.ndjson');

const slugOf = (name: string) =>
  name
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
const allianceSlugs = new Map(alliances.map(({ name }) => [name, slugOf(name)]));

await writeLines(
  'alliances.ndjson',
  alliances.map(({ name }) => ({
    slug: slugOf(name),
    name,
    description: `Registered makers of network hardware: ${name}.`,
  })),
);
await writeLines(
  'orgs.ndjson',
  chooseOrgs().map(({ name, country, size }) => ({
    name,
    description: `Holds ${size} address ${size === 1 ? 'block' : 'blocks'} in the public IEEE registry.`,
    primaryActivity: activityOf(name),
    location: country === 'Private' ? null : country,
    memberCount: size,
    alliance: allianceSlugs.get(country) ?? null,
  })),
);
await writeLines('blueprints.ndjson', recipes);

/** The largest companies, every tenth, and those with unusual names: accents, commas, or equal slugs. */
function chooseOrgs(): SourceOrg[] {
  const seen = new Set<string>();
  const sameSlug = organisations.filter(({ name }) => {
    const slug = slugOf(name);
    if (seen.has(slug)) return true;
    seen.add(slug);
    return false;
  });
  const twins = new Set(sameSlug.slice(0, 15).map(({ name }) => slugOf(name)));
  const special = organisations.filter(
    ({ name }) => /[^\u0020-\u007e]/.test(name) || twins.has(slugOf(name)),
  );
  const largest = [...organisations].sort((a, b) => b.size - a.size).slice(0, 60);
  const regular = organisations.filter((_, index) => index % 10 === 0);
  return [...new Set([...largest, ...special.slice(0, 80), ...regular])].slice(0, orgsWanted);
}

/** Guesses the activity from a name. */
function activityOf(name: string): string | null {
  const words: [RegExp, string][] = [
    [/telecom|communicat|mobile|wireless|network/i, 'telecommunications'],
    [/electronic|electric|semiconductor|microelectronic/i, 'electronics'],
    [/software|systems|technolog|comput|digital/i, 'technology'],
    [/automotive|motor/i, 'automotive'],
    [/medical|health/i, 'health'],
  ];
  return words.find(([pattern]) => pattern.test(name))?.[1] ?? null;
}

async function readLines<T>(file: string): Promise<T[]> {
  const text = await readFile(join(source, file), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as T);
}

async function writeLines(file: string, rows: object[]): Promise<void> {
  await writeFile(join(here, file), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}
