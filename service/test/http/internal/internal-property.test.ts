import { sql } from '../../../src/database/database.ts';
import { blueprint, put } from '../../support/directory.ts';
import { testHostileRequests, type Target } from '../../support/hostile-requests.ts';
import { startInternalApi } from '../../support/internal-api.ts';
import { checkInternalAnswer, internalOpenApi } from '../../support/openapi-check.ts';
import type { RawAnswer } from '../../support/raw-request.ts';
import { startTestService } from '../../support/service.ts';

const service = await startTestService();
const internal = await startInternalApi(service);
const { database } = service;
await put(database, 'alliances', [{ slug: 'northern-league', name: 'Northern League' }]);
await put(database, 'orgs', [{ slug: 'acme-corporation', name: 'Acme' }]);
await put(database, 'blueprints', [blueprint({ slug: 'granite', key: 'granite' })]);

function valid({ path, method }: Target): string {
  if (method === 'delete') return 'nobody';
  if (path.includes('usage')) return service.appId;
  if (path.includes('orgs')) return 'acme-corporation';
  return path.includes('alliances') ? 'northern-league' : 'granite';
}

async function changes(): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select sum(revision)::int8 + (select count(*) from events) + (select count(*) from outbox) as count
    from revisions where scope <> 'system'
  `.execute(database);
  return rows[0]?.count ?? 0;
}

const renamed = new Map([
  ['orgs', 'acme-corporation'],
  ['alliances', 'northern-league'],
]);
const ids = new Map<string, string>();
for (const [kind, slug] of renamed)
  ids.set((await internal.call(`/${kind}/${slug}`)).body.data.id, `/${kind}/`);

/** Back to its slug: the requests that follow are for it. */
async function restore({ text }: RawAnswer): Promise<void> {
  const { id, slug } =
    (JSON.parse(text || '{}') as { data?: { id?: string; slug?: string } }).data ?? {};
  const path = ids.get(id ?? '');
  const own = renamed.get(path?.slice(1, -1) ?? '');
  if (own === undefined || slug === own) return;
  await internal.call(`${path}${slug}`, { method: 'PATCH', json: { slug: own } });
}

testHostileRequests({
  url: internal.url,
  credentials: { authorization: `Bearer ${internal.key}` },
  document: internalOpenApi,
  check: checkInternalAnswer,
  valid,
  body: (example) => example,
  oneIn: 10,
  changes,
  restore,
});
