/**
 * npm run bench:download: measures `/orgs.ndjson` of 100,000 organisations: how long the first download of a process takes, the
 * next one, and how much memory it and 50 readers that stop reading take. Creates its data and database in a temporary folder,
 * runs the service, and deletes the folder. Exits with 1 if a target is missed. See docs/decisions/0046-changes.md.
 */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { quantile, type Figure } from '../harness/figures.ts';
import { sql, type Database } from '../service/src/database/database.ts';
import { directoryEnv, log, makeKey } from './directory-world.ts';
import { residentMib } from './resident-memory.ts';
import { loadCore, moveTo, serverCore, startProcess } from './start-process.ts';
import { makeWorkFolder, openWorkDatabase, runIn } from './work-folder.ts';

const { values: options } = parseArgs({
  options: {
    orgs: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '3' },
  },
});
const root = join(import.meta.dirname, '..');
/** The process has loaded its indexes and collected its garbage by then. */
const idleMs = 20_000;
const slowReaders = 50;
/** Longer than the sockets of slow readers need to fill up. */
const slowMs = 5_000;
const sampleMs = 50;
/** Organisations per statement: more would take longer than one may. */
const batchSize = 5_000;
/** Downloads that are held take at most this (`directory/downloads.ts`). */
const heldMibMax = 256;

const folder = await makeWorkFolder();
// Otherwise an app may download six times per minute.
const env = { ...directoryEnv(folder), RATE_LIMIT_PER_MINUTE: '0' };
await runIn(folder, async (): Promise<Figure[]> => {
  moveTo(loadCore);
  const opened = await openWorkDatabase(env.DATA_DIR);
  try {
    log('seeding');
    await seed(opened.database);
    const key = await makeKey(opened.database);
    const rounds: Round[] = [];
    while (rounds.length < Number(options.rounds)) rounds.push(await measureRound(key));
    return toFigures(rounds);
  } finally {
    await opened.close();
  }
});

/** About as many bytes per organisation as real ones have, which compress as little, and ids in the order of time. */
async function seed(database: Database): Promise<void> {
  for (let first = 1; first <= Number(options.orgs); first += batchSize)
    await sql`
      insert into orgs (id, slug, name, name_sort, search_text, description, primary_activity, member_count, links)
      select uuid_v7(), 'org-' || n, name, name, name, 'Holds the address block ' || md5(name), 'technology', n % 500,
        jsonb_build_object('website', 'https://www.example.org/' || md5(n || ''))
      from generate_series(${first}::integer, ${first + batchSize - 1}::integer) n,
        lateral (select left(md5(n::text), 12) || ' ' || n as name) as named
    `.execute(database);
}

type Round = Awaited<ReturnType<typeof measureRound>>;

/** One process, because a process renders a download once. */
async function measureRound(key: string) {
  log('downloading');
  const service = await startProcess(join(root, 'service/bin/orgdir.js'), {
    args: ['serve', '--no-demo'],
    runsItself: true,
    env,
    core: serverCore,
    listens: true,
  });
  const open = (coding: string) => request(service.port ?? 0, key, coding);
  try {
    await wait(idleMs);
    const atRest = (await residentMib(service.pid)) ?? 0;
    const first = await peakMib(service.pid, () => time(() => open('gzip').then(readAll)));
    const again = await time(() => open('gzip').then(readAll));
    const slow = await peakMib(service.pid, () => holdOpen(open));
    return { atRest, ...first, again, slowMib: slow.mib - atRest, firstMib: first.mib - atRest };
  } finally {
    await service.stop();
  }
}

async function request(port: number, key: string, coding: string): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${key}`, 'accept-encoding': coding };
  const sent = get({ port, path: '/api/v1/orgs.ndjson', headers, agent: false });
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`the response is ${response.statusCode}`);
  return response;
}

async function readAll(response: IncomingMessage): Promise<void> {
  for await (const _ of response);
}

/** Half of them without gzip, for whom the service unpacks. */
async function holdOpen(open: (coding: string) => Promise<IncomingMessage>): Promise<number> {
  const readers = await Promise.all(
    Array.from({ length: slowReaders }, (_, index) => open(index % 2 ? 'gzip' : 'identity')),
  );
  await wait(slowMs);
  for (const reader of readers) reader.destroy();
  return readers.length;
}

async function time(action: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await action();
  return performance.now() - startedAt;
}

/** The most memory that the process has while `action` runs, and its result. */
async function peakMib(pid: number, action: () => Promise<number>) {
  let mib = 0;
  const running = action();
  const ended = running.then(() => true);
  do mib = Math.max(mib, (await residentMib(pid)) ?? 0);
  while (!(await Promise.race([ended, wait(sampleMs)])));
  return { mib, result: await running };
}

function toFigures(rounds: Round[]): Figure[] {
  const median = (of: (round: Round) => number) => quantile(rounds.map(of), 0.5);
  const figure = (name: string, of: (round: Round) => number, unit: string, atMost: number) => ({
    name,
    reached: median(of),
    unit,
    asked: { atMost },
    note: rounds.map((round) => Math.round(of(round))).join(', '),
  });
  return [
    figure('first download', ({ result }) => result, 'ms', 60_000),
    figure('next download', ({ again }) => again, 'ms', 10_000),
    figure('memory at rest, with the index', ({ atRest }) => atRest, 'MiB', 512),
    figure('memory added by the first download', ({ firstMib }) => firstMib, 'MiB', heldMibMax),
    figure('memory added by 50 slow readers', ({ slowMib }) => slowMib, 'MiB', heldMibMax),
  ];
}
