/**
 * npm run bench:portal: weighs the first screen of the portal, and measures whether the last pages of 100,000 deliveries of
 * one webhook are as fast as the first, among as many deliveries of other webhooks. Creates its database in a temporary folder, runs the service, and deletes
 * the folder. Exits with 1 if a target is missed.
 */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createApp } from '../service/src/access/apps.ts';
import { createKey } from '../service/src/access/keys.ts';
import { sql, type Database } from '../service/src/database/database.ts';
import { quantile, type Figure } from '../harness/figures.ts';
import { createClient, type Client } from './http-client.ts';
import { loadCore, moveTo, serverCore, startProcess } from './start-process.ts';
import { makeWorkFolder, openWorkDatabase, runIn } from './work-folder.ts';

const deliveries = 100_000;
const days = 5;
const limit = 100;
const warmups = 5;
const rounds = 41;
const root = join(import.meta.dirname, '..');

/** The lists, each with its share of the seeded deliveries. */
const views = [
  { name: 'all', query: '', share: 1 },
  { name: 'status succeeded', query: '&status=succeeded', share: 0.9 },
  { name: 'status failed', query: '&status=failed', share: 0.08 },
  { name: 'event org.created', query: '&event=org.created', share: 0.5 },
  { name: 'both', query: '&status=succeeded&event=org.created', share: 0.45 },
];

const folder = await makeWorkFolder();
const env = {
  DATA_DIR: join(folder, 'data'),
  PORT: '0',
  INTERNAL_PORT: '0',
  LOG_LEVEL: 'warn',
  RATE_LIMIT_PER_MINUTE: '1000000000',
};
await runIn(folder, measure);

async function measure(): Promise<Figure[]> {
  moveTo(loadCore);
  const opened = await openWorkDatabase(env.DATA_DIR);
  try {
    console.error('… seeding');
    const { key, webhookId } = await seed(opened.database);
    return [
      ...(await weighFirstScreen()),
      ...(await measurePages(key, `/api/v1/webhooks/${webhookId}/deliveries?limit=${limit}`)),
    ];
  } finally {
    await opened.close();
  }
}

/** The script and the style of the overview, as gzip. */
async function weighFirstScreen(): Promise<Figure[]> {
  const built = join(root, 'portal/dist');
  const html = await readFile(join(built, 'index.html'), 'utf8');
  const files = html.match(/assets\/[^"]+\.(js|css)/g) ?? [];
  return Promise.all(
    files.map(async (file) => {
      const { size } = await stat(join(built, `${file}.gz`));
      const isScript = file.endsWith('.js');
      return {
        name: isScript ? 'first script of the portal' : 'style of the portal',
        reached: Math.round(size / 1_000),
        unit: ' kB',
        asked: { atMost: isScript ? 250 : 40 },
      };
    }),
  );
}

async function seed(database: Database): Promise<{ key: string; webhookId: string }> {
  const actor = { kind: 'system', id: null, name: 'bench' } as const;
  const { key, appId } = await database.transaction().execute(async (tx) => {
    const id = await createApp(tx, actor, { name: 'Bench', owner: 'bench@example.org' });
    const made = await createKey(tx, actor, {
      appId: id,
      name: 'bench',
      scopes: ['write:webhooks'],
      expiresAt: null,
    });
    return { key: made.key, appId: id };
  });
  await sql`select ensure_partitions(current_date - ${days}::int, current_date)`.execute(database);
  const { rows } = await sql<{ id: string }>`
    insert into webhooks (id, app_id, url, secret, active, deactivated_at, deactivated_reason)
    select uuid_v7(now()), ${appId}, 'https://example.org/' || n, '', false, now(), 'owner' from generate_series(1, 2) n
    returning id
  `.execute(database);
  const ids = rows.map(({ id }) => id);
  await sql`
    insert into deliveries (id, event_id, event, webhook_id, status, cancelled_by, attempt_count, created_at, completed_at)
    select uuid_v7(at), uuid_v7(at), (array['org.created', 'alliance.created', 'chat.sync.completed', 'org.created'])[n / 2 % 4 + 1],
      (${ids}::uuid[])[n % 2 + 1], status, case when status = 'cancelled' then 'deactivation' end, 1, at, at
    from (
      select n, now() - n * ${days - 1} * interval '1 day' / ${2 * deliveries}::int as at,
        case when n / 2 % 50 < 45 then 'succeeded' when n / 2 % 50 < 49 then 'failed' else 'cancelled' end as status
      from generate_series(${2 * deliveries}::int, 1, -1) n
    ) t
  `.execute(database);
  // Autovacuum would do this eventually.
  await sql`vacuum analyze deliveries`.execute(database);
  return { key, webhookId: ids[0] ?? '' };
}

async function measurePages(key: string, path: string): Promise<Figure[]> {
  const service = await startProcess(join(root, 'service/bin/orgdir.js'), {
    args: ['serve', '--no-demo'],
    runsItself: true,
    env,
    core: serverCore,
    listens: true,
  });
  const client = createClient(service.port ?? 0, key);
  try {
    const figures: Figure[] = [];
    for (const view of views) {
      console.error(`… ${view.name}`);
      figures.push(...(await comparePages(client, `${path}${view.query}`, view)));
    }
    return figures;
  } finally {
    client.close();
    await service.stop();
  }
}

/** Alternates, so that other load on the machine affects all alike. */
async function comparePages(
  client: Client,
  path: string,
  { name, share }: (typeof views)[number],
): Promise<Figure[]> {
  const last = Math.round((deliveries * share) / limit);
  const pages = [1, Math.ceil(last / 2), last];
  const times = new Map(pages.map((page) => [page, [] as number[]]));
  for (let round = -warmups; round < rounds; round += 1)
    for (const page of pages) {
      const startedAt = performance.now();
      const { status, body } = await client.get(`${path}&page=${page}`);
      const ms = performance.now() - startedAt;
      const { data, pagination } = JSON.parse(body) as {
        data: unknown[];
        pagination: { totalPages: number };
      };
      if (status !== 200 || data.length !== limit || pagination.totalPages !== last)
        throw new Error(
          `page ${page} of ${name}: ${status}, ${data.length}, ${JSON.stringify(pagination)}`,
        );
      if (round >= 0) times.get(page)?.push(ms);
    }
  const medianOf = (page: number) => quantile(times.get(page) ?? [], 0.5);
  const first = medianOf(1);
  return pages.slice(1).map((page) => ({
    name: `page ${page.toLocaleString('en')} of ${name}, times page 1`,
    reached: Math.max(medianOf(page) / first, first / medianOf(page)),
    unit: '',
    asked: { atMost: 2 },
    note: `${medianOf(page).toFixed(1)} ms, page 1 ${first.toFixed(1)} ms`,
  }));
}
