/** A directory for hostile requests: an entry of each kind, and what puts a renamed one back. */
import type { Database } from '../../src/database/database.ts';
import { blueprint, put } from './directory.ts';
import type { Target } from './hostile-requests.ts';
import type { RawAnswer } from './raw-request.ts';
import type { Answer, CallOptions } from './service.ts';

type Call = (path: string, options?: CallOptions) => Promise<Answer>;

const renamed = new Map([
  ['orgs', 'acme-corporation'],
  ['alliances', 'northern-league'],
]);

/** `call`: at the path below which the operations are. */
export async function fillDirectory(database: Database, call: Call) {
  await put(database, 'alliances', [{ slug: 'northern-league', name: 'Northern League' }]);
  await put(database, 'orgs', [{ slug: 'acme-corporation', name: 'Acme' }]);
  await put(database, 'blueprints', [blueprint({ slug: 'granite', key: 'granite' })]);
  const ids = new Map<string, string>();
  for (const [kind, slug] of renamed)
    ids.set((await call(`/${kind}/${slug}`)).body.data.id, `/${kind}/`);
  return {
    /** The slug or key of an entry. What is deleted is nobody, because the requests that follow are for the others. */
    entryOf({ path, method }: Target): string {
      if (method === 'delete') return 'nobody';
      if (path.includes('orgs')) return 'acme-corporation';
      return path.includes('alliances') ? 'northern-league' : 'granite';
    },
    /** Back to its slug: the requests that follow are for it. */
    async restore({ text }: RawAnswer): Promise<void> {
      const { id, slug } =
        (JSON.parse(text || '{}') as { data?: { id?: string; slug?: string } }).data ?? {};
      const path = ids.get(id ?? '');
      const own = renamed.get(path?.slice(1, -1) ?? '');
      if (own === undefined || slug === own) return;
      await call(`${path}${slug}`, { method: 'PATCH', json: { slug: own } });
    },
  };
}
